"""When and by what a model is made."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata

from crank._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm")


def now() -> str:
    """Return the time in UTC to the second, or what SOURCE_DATE_EPOCH says it is.

    That variable is how builds are made repeatable: with it, the same data give the same file.

    Examples
    --------
    >>> len(now())
    20
    """
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(stated), UTC) if stated.isdecimal() else datetime.now(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def _installed() -> dict[str, str]:
    found = {"crank": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def versions() -> dict[str, str]:
    """Return the versions of crank, Python and the packages that make models.

    Examples
    --------
    >>> {"crank", "numpy", "python"} <= set(versions())
    True
    """
    return dict(_installed())
