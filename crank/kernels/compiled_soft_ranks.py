"""Compiled: rows spread over a grid and read back from it (see `crank.kernels.soft_ranks`)."""

from __future__ import annotations

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray

SIXTH = 1.0 / 6.0


@kernel
def spread(
    score: FloatArray, weight: FloatArray, low: float, per_unit: float, mass: FloatArray
) -> None:
    """Add the weight of each row to four neighbouring points, by cubic interpolation."""
    last = len(mass) - 3
    for i in range(len(score)):
        place = 1.0 + (score[i] - low) * per_unit
        first = min(int(place), last)
        f, w = place - first, weight[i]
        a, b, c = f + 1.0, f - 1.0, f - 2.0
        af, bc = w * a * f, w * b * c
        mass[first - 1] -= SIXTH * f * bc
        mass[first] += 0.5 * a * bc
        mass[first + 1] -= 0.5 * af * c
        mass[first + 2] += SIXTH * af * b


@kernel
def gather(
    score: FloatArray,
    low: float,
    per_unit: float,
    above: FloatArray,
    slope: FloatArray,
    ranks: FloatArray,
    slopes: FloatArray,
) -> None:
    """Read two sums at each row from four neighbouring points, by the same interpolation."""
    last = len(above) - 3
    for i in range(len(score)):
        place = 1.0 + (score[i] - low) * per_unit
        first = min(int(place), last)
        f = place - first
        a, b, c = f + 1.0, f - 1.0, f - 2.0
        af, bc = a * f, b * c
        w0, w1, w2, w3 = -SIXTH * f * bc, 0.5 * a * bc, -0.5 * af * c, SIXTH * af * b
        k = first - 1
        ranks[i] = w0 * above[k] + w1 * above[k + 1] + w2 * above[k + 2] + w3 * above[k + 3]
        slopes[i] = w0 * slope[k] + w1 * slope[k + 1] + w2 * slope[k + 2] + w3 * slope[k + 3]
