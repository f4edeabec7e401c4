"""Compiled: what rows hold, as hashes of their content and as the ends of bins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel
from crank.kernels.random_stream import MIX_1, MIX_2, STEP

TILE = 1024
"""Rows whose hashes stay in the first cache."""

_STEP, _MIX_1, _MIX_2, _3 = np.uint64(STEP), np.uint64(MIX_1), np.uint64(MIX_2), np.uint64(3)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_TOP, _ZERO = np.uint64(1 << 63), np.uint64(0)
_INFINITE, _NAN = np.uint64(0x7FF << 52), np.uint64(0x7FF8 << 48)


@kernel
def hash_rows(bits: NDArray[np.uint64], key: NDArray[np.uint64]) -> Any:
    """Mix the columns of rows, doubles seen as whole numbers, into their hashes.

    −0.0 is 0.0, and any NaN is any other; see `crank.cluster.content.row_keys`.
    """
    for first in range(0, len(key), TILE):
        last = min(first + TILE, len(key))
        for j in range(len(bits)):
            column = bits[j]
            for r in range(first, last):
                b = column[r]
                if b & ~_TOP > _INFINITE:
                    b = _NAN
                elif b == _TOP:
                    b = _ZERO
                b = ~b if b & _TOP else b | _TOP
                k = key[r] * _3 + b + _STEP
                k = (k ^ (k >> _30)) * _MIX_1
                k = (k ^ (k >> _27)) * _MIX_2
                key[r] = k ^ (k >> _31)


@kernel
def bin_ends(
    bins: NDArray[np.uint8],
    values: NDArray[np.float64],
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> Any:
    """Lower ``low`` and raise ``high`` of each bin to the values, column by row, that are in it."""
    for c in range(len(columns)):
        j = columns[c]
        code, x, least, most = bins[j], values[j], low[j], high[j]
        for r in range(len(code)):
            b, v = np.uint64(code[r]), x[r]
            if v < least[b]:
                least[b] = v
            if v > most[b]:
                most[b] = v
