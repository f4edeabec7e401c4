"""The page as one file: template, style, code and data put together, so that nothing can leak."""

from __future__ import annotations

import base64
import html
import json
import zlib
from importlib.resources import files
from typing import Any

LARGEST = 2_000_000
"""Bytes that a page may have."""
COMPRESSED_FROM = 300_000
"""Characters from which the data are deflated."""
SCRIPTS = ("design", "rankers", "elements", "charts", "tree", "whatif", "page")
"""The page's code, in the order in which it is put together."""


def page_text(about: dict[str, Any]) -> str:
    """Write a page; what would make it too large is left out, and said.

    Parameters
    ----------
    about : dict
        As `crank.page.content.content` collects it.
    """
    text = _assembled(about)
    if len(text.encode()) > LARGEST:
        for model in about["models"]:
            if model.pop("scores", None) is not None:
                model["notes"].append(
                    "No what-if form: the model is too large to be carried in a page of "
                    f"{LARGEST // 1_000_000} MB. Score rows in Python or with crank score."
                )
        text = _assembled(about)
    return text


def _assembled(about: dict[str, Any]) -> str:
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    parts = {
        "TITLE": html.escape(str(about["title"])),
        "STYLE": asset("page.css"),
        "SCRIPT": f'"use strict";\n(() => {{\n{script}\n}})();',
        "DATA": embedded(about),
    }
    text = asset("page.html")
    head, *rest = text.split("{{")  # one pass: what is put in is never searched again
    for piece in rest:
        name, _, after = piece.partition("}}")
        head += parts[name] + after
    return head


def embedded(about: dict[str, Any]) -> str:
    r"""Write data as JSON that cannot end the element it stands in, deflated if it is long.

    Examples
    --------
    >>> print(embedded({"name": "</script>"}))
    {"name":"\u003c/script>"}
    """
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    if len(text) >= COMPRESSED_FROM:
        squeezed = zlib.compress(text.encode(), 9, wbits=-15)
        return "deflate:" + base64.b64encode(squeezed).decode()
    # no "<" can open or close an element, and JSON reads it back
    return text.replace("<", "\\u003c")


def asset(name: str) -> str:
    """Read a file of the page."""
    return files("crank.page").joinpath("assets", name).read_text(encoding="utf-8")
