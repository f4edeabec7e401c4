"""Greedy blending: members are added, with repetition, while the held-out figure grows.

Caruana, Niculescu-Mizil, Crew & Ksikes (2004), Ensemble selection from libraries of models, ICML.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.validate import measurable
from crank.metrics.figures import Figure
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

STEPS = 16
"""Members that are chosen, repetitions counted."""
MOST_ROWS = 20_000
"""Rows of a fold that choose; of larger ones as many are drawn, the same for all blends."""

Floats = NDArray[np.float64]


@dataclass
class Bench:
    """Held-out scores of several members on common folds, and figures that were worked out.

    Attributes
    ----------
    scores : ndarray of shape (members, n)
        By position; standardised within each fold.
    tests : sequence of Ranks
        The rows of each fold.
    positions : sequence of ndarray
        Where they are among all.
    figure : Figure
    choosing : sequence of (Ranks, ndarray)
        Rows of each fold that choose, and their positions: all, or a sample of a large fold.
    """

    scores: Floats
    tests: Sequence[Ranks]
    positions: Sequence[NDArray[np.intp]]
    figure: Figure
    choosing: Sequence[tuple[Ranks, NDArray[np.intp]]]
    _known: dict[tuple[int, bytes], float] = field(default_factory=dict)

    def blended(self, fold: int, counts: NDArray[np.int64]) -> Floats:
        """Add up the members' scores of a fold."""
        return np.asarray(counts @ self.scores[:, self.positions[fold]])

    def of_fold(self, fold: int, counts: NDArray[np.int64]) -> float:
        """Figure of a blend on the rows of a fold that choose; its multiples are the same blend."""
        key = fold, (counts // np.gcd.reduce(counts)).tobytes()
        if key not in self._known:
            test, at = self.choosing[fold]
            self._known[key] = self._figure(test, counts @ self.scores[:, at])
        return self._known[key]

    def _figure(self, test: Ranks, score: Floats) -> float:
        return self.figure.estimate(test.y, score, None if test.unweighted else test.weight)

    def mean(self, folds: Sequence[int], counts: NDArray[np.int64]) -> float:
        """Mean figure of a blend over some folds, as choosing sees it."""
        return float(np.mean([self.of_fold(fold, counts) for fold in folds]))

    def alone(self, member: int) -> float:
        """Mean figure of one member over all folds, on all rows."""
        each = zip(self.tests, self.positions, strict=True)
        return float(np.mean([self._figure(test, self.scores[member, at]) for test, at in each]))


def bench(
    heldout: Floats, ranks: Ranks, fold: NDArray[np.intp], figure: Figure
) -> tuple[Bench, Floats]:
    """Standardise held-out scores fold by fold; also return each member's mean spread.

    Parameters
    ----------
    heldout : ndarray of shape (members, n)
        By row.
    ranks : Ranks
    fold : ndarray of shape (n,)
        Fold of each position.
    figure : Figure
        Folds that have none are left out.
    """
    by_position = heldout[:, ranks.row].copy()
    spreads, tests, positions = [], [], []
    for k in range(int(fold.max()) + 1):
        at = np.flatnonzero(fold == k)
        part = by_position[:, at]
        spread = part.std(axis=1)
        spreads.append(spread)
        part = part - part.mean(axis=1, keepdims=True)
        by_position[:, at] = part / np.where(spread > 0.0, spread, 1.0)[:, None]
        test = ranks.subset(fold == k)
        if figure.total(test) > 0.0:
            tests.append(test)
            positions.append(at)
    choosing = [_sampled(test, at, figure) for test, at in zip(tests, positions, strict=True)]
    return Bench(by_position, tests, positions, figure, choosing), np.mean(spreads, axis=0)


def _sampled(test: Ranks, at: NDArray[np.intp], figure: Figure) -> tuple[Ranks, NDArray[np.intp]]:
    """Draw the rows of a fold that choose; all, if they are few or have no figure."""
    if len(at) <= MOST_ROWS:
        return test, at
    taken = np.zeros(len(at), dtype=bool)
    taken[np.random.default_rng(0).permutation(len(at))[:MOST_ROWS]] = True
    part = test.subset(taken)
    return (part, at[taken]) if figure.total(part) > 0.0 else (test, at)


def select(found: Bench, folds: Sequence[int], steps: int = STEPS) -> NDArray[np.int64]:
    """Count how often each member is taken: at each step the one that helps most.

    The best blend on the way is returned, so that fewer steps may be kept than were tried.

    Examples
    --------
    >>> from crank.metrics.figures import KENDALL
    >>> from crank.ranks import rank
    >>> ranks = rank(np.arange(6.0))
    >>> good, bad = np.array([1.0, 0, 2, 3, 5, 4]), np.array([5.0, 4, 3, 2, 1, 0])
    >>> found, _ = bench(np.array([bad, good]), ranks, np.array([0, 1] * 3), KENDALL)
    >>> select(found, [0, 1]).tolist()
    [0, 1]
    """
    counts = np.zeros(len(found.scores), dtype=np.int64)
    best, best_mean = counts, -np.inf
    for _ in range(steps):
        trials = [counts + one for one in np.eye(len(counts), dtype=np.int64)]
        means = [found.mean(folds, trial) for trial in trials]
        at = int(np.argmax(means))
        counts = trials[at]
        if means[at] > best_mean + 1e-12:
            best, best_mean = counts, means[at]
    return best


def nested_figures(
    found: Bench, ranks: Ranks, labels: NDArray[np.intp] | None
) -> dict[str, Estimate]:
    """Judge the choosing: each fold by the blend that the other folds choose."""
    folds = range(len(found.tests))
    judged = []
    for k in folds:
        others = [fold for fold in folds if fold != k]
        judged.append(Judged(found.blended(k, select(found, others)), found.tests[k]))
    each = {
        figure.name: pooled_estimate([judged], len(ranks.row), figure, labels)
        for figure in measurable(ranks, found.figure)
    }
    return {name: estimate for name, estimate in each.items() if estimate is not None}
