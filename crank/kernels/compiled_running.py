"""Compiled: running sums of whole numbers, eight at a time.

A running sum waits for the one before, so compilers do not take several at a time. Eight numbers
are summed up by three additions instead, each of a copy that was shifted by 1, 2 and 4 places: of
whole numbers, so the sums are the same. Processors with narrower registers take fewer in one go.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

EIGHT = 8
BYTES_32, BYTES_64 = 4, 8
"""Alignment that is promised: that of one number."""


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def sum_eight(context: Any, source: Any, at: Any, target: Any, to: Any, before: Any) -> Any:
    """Write the running sums of eight numbers that begin at a place, from ``before``.

    Both arrays are contiguous and of 64-bit whole numbers. Return the last sum.
    """
    del context

    def build(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        read, at, written, to, before = arguments
        kinds = signature.args
        numbers = builder.load(_place(compiler, builder, kinds[0], read, at), align=BYTES_64)
        sums = _running(builder, numbers)
        place = _place(compiler, builder, kinds[2], written, to)
        builder.store(builder.add(sums, _eight_of(builder, before)), place, align=BYTES_64)
        return builder.add(before, _last(builder, sums))

    return types.uint64(source, at, target, to, before), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def count_left(context: Any, signed: Any, n: Any, counts: Any) -> Any:
    """Add rows of a node to its five counts; see `crank.kernels.compiled_forest_partition`.

    ``signed`` has the draws of each row, negative on the right side, and zeros up to the next
    multiple of eight. ``counts``: draws, their squares; over draws on the left, the draws up to
    them, these times their own and the squares before, and their own.
    """
    del context

    def build(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        read, n, counted = arguments
        wide = ir.VectorType(ir.IntType(64), EIGHT)
        none = ir.Constant(wide, [0] * EIGHT)
        number = ir.IntType(64)
        counts = compiler.make_array(signature.args[2])(compiler, builder, counted).data
        places = [builder.gep(counts, [ir.Constant(number, i)]) for i in range(5)]
        upto, under = (cgutils.alloca_once_value(builder, builder.load(p)) for p in places[:2])
        lanes = [cgutils.alloca_once_value(builder, none) for _ in places[2:]]
        step = ir.Constant(number, EIGHT)
        with cgutils.for_range_slice(builder, ir.Constant(number, 0), n, step) as (at, _):
            place = _place(compiler, builder, signature.args[0], read, at, ir.IntType(32))
            draws = builder.load(place, align=BYTES_32)
            zeros = ir.Constant(draws.type, [0] * EIGHT)
            left = builder.icmp_signed(">", draws, zeros)
            own = builder.zext(builder.select(left, draws, builder.sub(zeros, draws)), wide)
            square = builder.mul(own, own)
            draws_upto, squares_upto = _running(builder, own), _running(builder, square)
            up = builder.add(draws_upto, _eight_of(builder, builder.load(upto)))
            times = builder.mul(own, up)
            before = builder.sub(squares_upto, square)
            before = builder.add(before, _eight_of(builder, builder.load(under)))
            often = builder.mul(own, builder.add(times, before))
            for lane, found in zip(lanes, (times, often, square), strict=True):
                kept = builder.select(left, found, none)
                builder.store(builder.add(builder.load(lane), kept), lane)
            for carried, sums in ((upto, draws_upto), (under, squares_upto)):
                builder.store(builder.add(builder.load(carried), _last(builder, sums)), carried)
        for carried, place in zip((upto, under), places, strict=False):
            builder.store(builder.load(carried), place)
        for lane, place in zip(lanes, places[2:], strict=True):
            sums = _last(builder, _running(builder, builder.load(lane)))
            builder.store(builder.add(builder.load(place), sums), place)
        return compiler.get_dummy_value()

    return types.void(signed, n, counts), build


def _place(compiler: Any, builder: Any, kind: Any, array: Any, at: Any, number: Any = None) -> Any:
    """Point at eight numbers of an array."""
    data = compiler.make_array(kind)(compiler, builder, array).data
    vector = ir.VectorType(number or ir.IntType(64), EIGHT)
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _running(builder: Any, numbers: Any) -> Any:
    """Sum eight numbers up, each with those before it."""
    zeros = ir.Constant(numbers.type, [0] * EIGHT)
    for places in (1, 2, 4):
        shift = [EIGHT - places + i for i in range(EIGHT)]  # zeros first, then the numbers
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), shift)
        numbers = builder.add(numbers, builder.shuffle_vector(zeros, numbers, chosen))
    return numbers


def _eight_of(builder: Any, number: Any) -> Any:
    """Repeat a number eight times."""
    vector = ir.Constant(ir.VectorType(number.type, EIGHT), ir.Undefined)
    first = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), 0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT)
    return builder.shuffle_vector(first, vector, same)


def _last(builder: Any, numbers: Any) -> Any:
    return builder.extract_element(numbers, ir.Constant(ir.IntType(32), EIGHT - 1))
