"""Whose code failed: what plugins raise becomes a `PluginError` that names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from crank.entries import owner
from crank.errors import CrankError, PluginError

ADVICE = "crank.testing.check_learner tells its author more."


def is_foreign(kind: type) -> bool:
    """Tell whether a class is somebody else's.

    Examples
    --------
    >>> is_foreign(PluginError), is_foreign(dict)
    (False, True)
    """
    return not kind.__module__.startswith("crank.")


def named(kind: type) -> str:
    """Name a class with the distribution that it comes from.

    Examples
    --------
    >>> named(dict)
    'dict (of module builtins, not installed as a plugin)'
    """
    entry = owner(kind)
    if entry is None:
        return f"{kind.__name__} (of module {kind.__module__}, not installed as a plugin)"
    return f"{kind.__name__} of {entry.distribution} {entry.version}"


def broken(kind: type, problem: str, remedy: str = ADVICE) -> PluginError:
    """Return the error for plugin code that broke the contract."""
    return PluginError(f"{named(kind)} {problem} {remedy}")


def raised(kind: type, doing: str, cause: BaseException, where: str = "") -> PluginError:
    """Return the error for plugin code that raised."""
    message = " ".join(str(cause).split()).rstrip(".")
    at = f" at {where}" if where else ""
    return broken(kind, f"failed in {doing}{at}: {type(cause).__name__}: {message}.")


@contextmanager
def blamed(kind: type, doing: str, where: str = "") -> Iterator[None]:
    """Turn whatever plugin code raises into a `PluginError`; crank's own errors pass.

    Examples
    --------
    >>> with blamed(dict, "fit", "node 3"):
    ...     raise ValueError("no luck")
    Traceback (most recent call last):
    ...
    crank.errors.PluginError: dict (of module builtins, not installed as a plugin) failed in fit \
at node 3: ValueError: no luck. crank.testing.check_learner tells its author more.
    """
    try:
        yield
    except CrankError:
        raise
    except (Exception, SystemExit) as cause:
        raise raised(kind, doing, cause, where) from cause


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to; the array itself stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
