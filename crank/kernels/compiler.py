"""Access to numba: loaded only for large data, and done without, with one warning, if broken."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar
from zlib import crc32

from crank.progress import note

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""There is no ``parallel=True`` on purpose: its thread layers abort under threads or die after a
fork. Threads come from outside (`crank.kernels.threads`)."""

COMPILING = "crank: compiling for large data, once on this machine; it takes a few seconds"

_ours: set[Callable[..., Any]] = set()


def kernel(function: F) -> F:
    """Compile a serial function that runs without the interpreter's lock."""
    return _compiled(function, None)


def kernel_part(function: F) -> F:
    """Compile a function that only kernels call.

    It needs no way in from Python and no cache of its own: kernels carry it along in theirs.
    """
    from numba import njit

    compiled: F = njit(no_cpython_wrapper=True, **OPTIONS)(function)
    return compiled


def kernel_for(signature: Any, function: F) -> F:
    """Compile a function at once and for one signature only.

    For arrays that users own: one signature with any strides, read-only, serves every layout,
    where compilation on demand would make a variant for each.
    """
    # numba keeps one index for each function's cache and does not lock it: processes that compile
    # two signatures at the same time can leave one with the other's code. Each gets its own name.
    return _compiled(function, signature, f"_{crc32(str(signature).encode()):08x}")


def _compiled(function: F, signature: Any, suffix: str = "") -> F:
    from numba import njit

    _listen()
    parts = (function.__name__, function.__defaults__, function.__closure__)
    own = FunctionType(function.__code__, function.__globals__, *parts)
    own.__qualname__ = f"{function.__qualname__}{suffix}_{_sources()}"
    _ours.add(own)
    try:
        compiled: F = njit(signature, cache=True, **OPTIONS)(own)
    except RuntimeError:  # no folder to keep a cache in
        compiled = njit(signature, **OPTIONS)(own)
    return compiled


@cache
def _sources() -> str:
    """Return a digest of all kernels' sources, by which compiled code is kept.

    numba looks at the file of a kernel alone: one whose parts changed elsewhere would go on as it
    was, with arrays that are laid out anew.
    """
    digest = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest = crc32(path.read_bytes(), digest)
    return f"{digest:08x}"


@cache
def _listen() -> None:
    """Say so, once, when numba begins to compile a kernel; loading a stored one is quick."""
    from numba.core import event

    class Compiling(event.Listener):  # type: ignore[misc]  # numba is untyped
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said and event.data["dispatcher"].py_func in _ours:
                self.said = True
                note(COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compiling())


@cache
def is_stored(function: str) -> bool:
    """Tell, without loading numba, whether a kernel of this package was compiled here before.

    It looks where numba keeps compiled code by default, or in the folder that the environment
    names.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    kept = Path(named) if named else Path(__file__).parent / "__pycache__"
    return any(kept.glob(f"{'*/' * bool(named)}*.{function}_{_sources()}-*.nbi"))


_work: dict[str, int] = {}


def repays(function: str, work: int, enough: int) -> bool:
    """Tell whether a kernel was compiled here before, or would have repaid compiling by now.

    Parameters
    ----------
    function : str
        As for `is_stored`.
    work : int
        What is asked for now; it is added to what this process has asked for before.
    enough : int
        Work that takes NumPy longer than the kernel by about the time of compiling it. Waiting
        for so much never costs more than twice the best.
    """
    _work[function] = _work.get(function, 0) + work
    return _work[function] >= enough or is_stored(function)


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
