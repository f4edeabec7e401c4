"""Coverage of the linear ranker's 95% intervals, and of the region of the F test of all of them.

Run it alone: ``python -m benchmarks.linear_coverage``. Differences of Gumbel noise are logistic, so
the coefficients that made y are the truth; where y is rounded, those of 300,000 rows are.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from crank.fitting.linear import fit_linear
from crank.metrics.student import quantile
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.ranks import rank
from crank.report.coefficients import hotelling

EFFECT = np.array([1.0, 0.3, 0.0])
SIZES = (50, 200, 1000)
ALLOWED = (0.93, 0.965)
Floats = NDArray[np.float64]


def drawn(rng: np.random.Generator, n: int, *, ties: bool) -> tuple[Floats, Floats]:
    """Draw a normal, a skewed and a binary column, and a response; rounded, it has ties."""
    X = np.column_stack(
        [rng.normal(size=n), rng.exponential(size=n), (rng.random(n) < 0.4).astype(float)]
    )
    y = X @ EFFECT + rng.gumbel(size=n)
    return X, np.round(y) if ties else y


def fitted(X: Floats, y: Floats, w: Floats | None) -> LinearRanker:
    """Fit without a penalty."""
    return fit_linear(X, rank(y, w), options=LinearOptions())


def coverage(n: int, samples: int, *, ties: bool, weighted: bool, truth: Floats) -> Floats:
    """Share of samples whose interval holds the truth, for each coefficient.

    The last is the share of samples in which the F test at level .05 does not reject the truth of
    all coefficients together.
    """
    rng = np.random.default_rng((n, ties, weighted))
    hits = np.zeros(len(truth) + 1)
    for _ in range(samples):
        X, y = drawn(rng, n, ties=ties)
        w = rng.uniform(0.5, 2.0, n) if weighted else None
        found = fitted(X, y, w)
        left = n - len(truth) - 1  # as in LinearRecord.vcov_corrected and error_df
        off, times = found.coef - truth, n / left
        hits[:-1] += np.abs(off) <= quantile(0.975, left) * times * found.std_error
        distance = float(off @ np.linalg.solve(times**2 * found.vcov, off))
        hits[-1] += hotelling(distance, len(truth), left)[2] >= 0.05
    return hits / samples


def main(samples: int = 2000) -> None:
    """Print a table; a row that misses what is allowed is marked."""
    rounded = fitted(*drawn(np.random.default_rng(0), 300_000, ties=True), None).coef
    print(
        f"{samples} samples; allowed: {ALLOWED[0]} to {ALLOWED[1]}; the last rate is the F test's"
    )
    for n in SIZES:
        for ties, weighted in ((False, False), (True, False), (False, True), (True, True)):
            truth = rounded if ties else EFFECT
            found = coverage(n, samples, ties=ties, weighted=weighted, truth=truth)
            missed = "" if ALLOWED[0] <= found.min() and found.max() <= ALLOWED[1] else "  missed"
            what = f"{'ties' if ties else 'no ties':8}{'weights' if weighted else '':8}"
            print(f"n = {n:5} {what}", *(f"{rate:.3f}" for rate in found), missed, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
