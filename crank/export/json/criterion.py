"""The criterion of stored trees: its name, and the distribution that provides it."""

from __future__ import annotations

from typing import Any

from crank import entries
from crank.criteria import GROUP, criteria, get_criterion
from crank.errors import ModelFileError, OptionError


def stored_origin(name: str) -> dict[str, str]:
    """Say which distribution an installed criterion comes from; nothing of crank's own.

    Examples
    --------
    >>> stored_origin("kendall")
    {}
    """
    if any(name == own.name for own in criteria()):
        return {}
    entry = entries.look_up(GROUP, name)
    if entry is None or entry.distribution == entries.OWN:
        return {}
    return {"distribution": entry.distribution, "version": entry.version}


def read_criterion(stored: dict[str, Any]) -> str:
    """Return the name of a stored criterion; whoever provides it must be here.

    Examples
    --------
    >>> read_criterion({"name": "kendall"})
    'kendall'
    """
    name, wrote = stored["name"], stored.get("distribution", "")
    known = f"{wrote} {stored.get('version', '')}".strip()
    if wrote:
        entry = entries.look_up(GROUP, name)
        if entry is not None and entries.normal(entry.distribution) != entries.normal(wrote):
            raise ModelFileError(
                f"its trees were grown by the criterion {name!r} of {known}; here that name leads "
                f"to {entry.distribution} {entry.version}. Install {known}."
            )
    try:
        return get_criterion(name).name
    except OptionError as cause:
        raise ModelFileError(f"{cause} Install {known or 'what provides it'}.") from cause
