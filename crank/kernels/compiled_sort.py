"""Compiled: the order of many numbers, by radix; several times as fast as sorting by comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import kernel


def stable_order(y: NDArray[np.float64]) -> NDArray[np.intp]:
    """Sort finite numbers stably; return the rows in increasing order.

    Examples
    --------
    >>> stable_order(np.array([2.0, -1.0, 0.0, -0.0, -3.5])).tolist()
    [4, 1, 2, 3, 0]
    """
    n = len(y)
    keys = np.empty((2, n), dtype=np.uint64)
    rows = np.empty((2, n), dtype=np.uint32)
    bits = np.ascontiguousarray(y + 0.0).view(np.int64)  # the sum makes -0.0 a 0.0
    order: NDArray[np.intp] = rows[_radix(bits, keys, rows)].astype(np.intp)
    return order


@kernel
def _radix(bits: NDArray[np.int64], keys: NDArray[np.uint64], rows: NDArray[np.uint32]) -> int:
    """Sort by one byte after the other, the lowest first; tell which of the two buffers holds it.

    Bytes that all keys share are passed over.
    """
    n = len(bits)
    counts = np.zeros((8, 256), np.int64)
    key, row = keys[0], rows[0]
    for i in range(n):
        b = bits[i]
        # the bits of doubles, read as integers, are in the doubles' order once negatives are turned
        u = np.uint64(~b) if b < 0 else np.uint64(b) | np.uint64(1 << 63)
        key[i] = u
        row[i] = i
        for digit in range(8):
            counts[digit, (u >> np.uint64(8 * digit)) & np.uint64(255)] += 1
    now = 0
    place = np.empty(256, np.uint64)
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if counts[digit, (keys[now, 0] >> shift) & np.uint64(255)] == n:
            continue
        at = 0
        for value in range(256):
            place[value] = at
            at += counts[digit, value]
        key, row, key_out, row_out = keys[now], rows[now], keys[1 - now], rows[1 - now]
        for i in range(n):
            byte = (key[i] >> shift) & np.uint64(255)
            to = place[byte]
            place[byte] = to + np.uint64(1)
            key_out[to] = key[i]
            row_out[to] = row[i]
        now = 1 - now
    return now
