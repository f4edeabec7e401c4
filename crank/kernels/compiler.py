"""Access to numba: loaded only for large data, and done without, with one warning, if broken."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a serial function that runs without the interpreter's lock.

    There is no ``parallel=True`` on purpose: its thread layers abort under threads or die after
    a fork. Threads come from outside (`crank.kernels.threads`).
    """
    return _compiled(function, None)


def kernel_for(signature: Any, function: F) -> F:
    """Compile a function at once and for one signature only.

    For arrays that users own: one signature with any strides, read-only, serves every layout,
    where compilation on demand would make a variant for each.
    """
    return _compiled(function, signature)


def _compiled(function: F, signature: Any) -> F:
    from numba import njit

    options = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: F = njit(signature, cache=True, **options)(function)
    except RuntimeError:  # no folder to keep a cache in
        compiled = njit(signature, **options)(function)
    return compiled


@cache
def numba_works() -> bool:
    """Tell whether kernels can be compiled; the first time that they cannot, warn."""
    try:
        import numba

        if not numba.config.DISABLE_JIT:
            return True
        reason = "NUMBA_DISABLE_JIT is set"
    except Exception as error:  # a broken installation may raise anything
        reason = f"{type(error).__name__}: {error}"
    warnings.warn(
        f"numba cannot be used ({reason}). Large data is fitted and scored in NumPy instead: the "
        "same trees or finer ones, more slowly. Reinstall it with: pip install --upgrade numba",
        RuntimeWarning,
        stacklevel=2,
    )
    return False
