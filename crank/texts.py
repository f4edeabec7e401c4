"""Texts that files can hold: UTF-8 has no form for half of a character (a lone surrogate)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

HALF = "half of a character (a lone surrogate), which no file can hold"
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def is_broken(text: str) -> bool:
    r"""Say whether a text holds half of a character.

    Examples
    --------
    >>> is_broken("a\ud800"), is_broken("𝄞")
    (True, False)
    """
    if text.isascii():  # which Python knows without a look at the text
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def broken(values: Iterable[object]) -> str | None:
    """Return the first text that holds half of a character, if one does."""
    return next((v for v in values if isinstance(v, str) and is_broken(v)), None)


def json_is_broken(text: str, values: Any) -> bool:
    r"""Say whether JSON holds half of a character, as it is or escaped.

    Parameters
    ----------
    text : str
    values : what it means

    Examples
    --------
    >>> json_is_broken(r'["\ud834\udd1e"]', ["𝄞"]), json_is_broken(r'["\ud834"]', ["\ud834"])
    (False, True)
    """
    if _ESCAPED.search(text) is None:
        return is_broken(text)
    return is_broken(json.dumps(values, ensure_ascii=False))
