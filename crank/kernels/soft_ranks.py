"""Soft ranks of scores that change again and again: what boosting asks for in every round.

S_i = Σ_j w_j σ(F_i − F_j) and H_i = Σ_j w_j σ'(F_i − F_j), σ logistic. Each row is spread over
four neighbouring points of a grid, the sums over all pairs are one convolution, and each row reads
its own from four points. The grid's width falls with the fourth root of the number of rows, so that
the error stays below a thousandth of a row's weight (docs/design/booster.md).
"""

from __future__ import annotations

import numpy as np

from crank.kernels.compiler import numba_works
from crank.kernels.links import logistic
from crank.kernels.order import FloatArray

WIDTH = 0.5
"""Distance of the grid's points for one row; it falls with the fourth root of their number."""
REACH = 45.0
"""Scores that are further apart are as good as infinitely far: σ(−45) is 3e−20."""
LONGEST = 2**16
"""Points of one grid; scores that are spread wider are worked on in parts."""
COMPILED_FROM = 20_000
"""Rows from which the compiled passes are worth loading."""


def soft_ranks(score: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum σ and its derivative over all pairs of rows.

    Parameters
    ----------
    score, weight : ndarray of shape (n,)
        Finite scores, positive weights.

    Returns
    -------
    ranks, slopes : ndarray of shape (n,)
        A row meets itself, with a difference of 0.

    Examples
    --------
    >>> ranks, slopes = soft_ranks(np.array([0.0, 0.0, 1e9]), np.ones(3))
    >>> ranks.round(3).tolist(), slopes.round(2).tolist()
    ([1.0, 1.0, 2.5], [0.5, 0.5, 0.25])
    """
    width = WIDTH / max(len(score), 1) ** 0.25
    if score.max() - score.min() <= (LONGEST - 8) * width:
        return _on_grid(score, weight, width)
    return _in_parts(score, weight, width)


def _on_grid(score: FloatArray, weight: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Spread, convolve, read back."""
    low = float(score.min())
    size = int((float(score.max()) - low) / width) + 5
    compiled = len(score) >= COMPILED_FROM and numba_works()
    if compiled:
        from crank.kernels.compiled_soft_ranks import gather

        above, slope = _sums(score, weight, low, size, width)
        ranks, slopes = np.empty(len(score)), np.empty(len(score))
        gather(score, low, 1.0 / width, above, slope, ranks, slopes)
    else:
        place = 1.0 + (score - low) * (1.0 / width)
        first = np.minimum(place.astype(np.intp), size - 3)
        shares = _cubic(place - first)
        mass = np.zeros(size)
        for k, share in enumerate(shares):
            mass += np.bincount(first + (k - 1), weight * share, minlength=size)
        above, slope = _convolved(mass, width)
        ranks, slopes = np.zeros(len(score)), np.zeros(len(score))
        for k, share in enumerate(shares):
            ranks += share * above[first + (k - 1)]
            slopes += share * slope[first + (k - 1)]
    ranks += 0.5 * float(weight.sum())
    return ranks, slopes


def _sums(
    score: FloatArray, weight: FloatArray, low: float, size: int, width: float
) -> tuple[FloatArray, FloatArray]:
    from crank.kernels.compiled_soft_ranks import spread

    mass = np.zeros(size)
    spread(score, weight, low, 1.0 / width, mass)
    return _convolved(mass, width)


def _cubic(f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weights of the four points around a place that lies f beyond the second."""
    a, b, c = f + 1.0, f - 1.0, f - 2.0
    return -f * b * c / 6.0, a * b * c / 2.0, -a * f * c / 2.0, a * f * b / 6.0


def _convolved(mass: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Sum over the grid what each point sees of all others: σ − ½, which is odd, and σ'."""
    size = len(mass)
    length = 1 << (2 * size - 1).bit_length()
    above, slope = logistic(width * np.arange(size, dtype=np.float64))
    kernels = np.zeros((2, length))
    kernels[0, :size], kernels[1, :size] = above - 0.5, slope
    kernels[0, -1:-size:-1], kernels[1, -1:-size:-1] = 0.5 - above[1:], slope[1:]
    seen = np.fft.irfft(np.fft.rfft(kernels) * np.fft.rfft(mass, length), length)
    return np.ascontiguousarray(seen[0, :size]), np.ascontiguousarray(seen[1, :size])


def _in_parts(score: FloatArray, weight: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Work on one stretch of the scores after another, each with what lies within reach of it."""
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    # beyond reach all distances are alike, so the wide gaps are closed
    place = np.concatenate(([0.0], np.cumsum(np.minimum(np.diff(ordered), REACH))))
    w = weight[order]
    below = np.concatenate(([0.0], np.cumsum(w)))
    stretch = (LONGEST - 16) * width - 2.0 * REACH
    ranks, slopes = np.empty(len(score)), np.empty(len(score))
    first = 0
    while first < len(order):
        last = int(np.searchsorted(place, place[first] + stretch, "right"))
        low = int(np.searchsorted(place, place[first] - REACH, "left"))
        high = int(np.searchsorted(place, place[last - 1] + REACH, "right"))
        part = _on_grid(place[low:high], w[low:high], width)
        rows = order[first:last]
        ranks[rows] = part[0][first - low : last - low] + below[low]
        slopes[rows] = part[1][first - low : last - low]
        first = last
    return ranks, slopes
