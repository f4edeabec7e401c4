"""Compiled: ask for memory some time before it is read.

Rows of a small node lie far apart. A processor looks a few dozen instructions ahead, less than the
work on one row, so it waits for the memory of every row unless that was asked for before.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1
"""What LLVM is told: it will be read, more than once, and is data."""


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def prefetch(context: Any, array: Any, at: Any) -> Any:
    """Fetch an element of a contiguous array into the cache, counted as if it had one dimension.

    Nothing waits for it, and nothing happens if it does not exist.
    """
    del context

    def build(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = target.make_array(signature.args[0])(target, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        asked = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], asked)
        where = builder.bitcast(builder.gep(found.data, [arguments[1]]), byte)
        builder.call(ask, [where, *(number(how) for how in (READ, KEEP, DATA))])
        return target.get_dummy_value()

    return types.void(array, at), build
