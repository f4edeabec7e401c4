"""Choose among candidates by what held-out rows say, and judge the choosing; for any ranker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.fitting.choose import choose_step
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import deal, fold_count
from crank.metrics.figures import KENDALL, figures
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
Candidates = Callable[[Ranks, Ranks], Floats]
"""Fit all candidates to the first rows and score the others: a column of scores for each."""
Judge = Callable[[Floats, Ranks], float]
"""How good scores are for the rows that they belong to; larger is better."""


@dataclass(frozen=True)
class Selection:
    """What the folds say of each candidate, and of choosing among them.

    Attributes
    ----------
    heldout : ndarray of shape (folds, candidates)
        How good each candidate is on the rows of a fold that it has not seen.
    kendall : ndarray of shape (candidates,)
        Mean rate of concordant pairs within folds; NaN if no fold has any to compare.
    step, step_1se : int
        The best candidate, and the last within one standard error of it.
    crossvalidated : mapping of Estimate
        By name, figures of the whole procedure, choosing included.
    """

    heldout: Floats
    kendall: Floats
    step: int
    step_1se: int
    crossvalidated: Mapping[str, Estimate]


def concordance(score: Floats, test: Ranks) -> float:
    """Rate of concordant pairs; NaN if there are none to compare."""
    if not test.pairs:
        return float("nan")
    return KENDALL.estimate(test.y, score, None if test.unweighted else test.weight)


def select(
    candidates: Candidates,
    ranks: Ranks,
    *,
    cv: int,
    rng: np.random.Generator,
    labels: Labels | None = None,
    judge: Judge = concordance,
    one_se: bool = False,
    otherwise: str = "a fixed penalty",
) -> Selection:
    """Hold each fold out in turn, choose the best candidate, and judge the choosing.

    Each fold is judged at the candidate that the others choose.

    Parameters
    ----------
    candidates : callable
        Simpler candidates have later columns: of equals the last is chosen.
    ranks : Ranks
    cv : int
        Folds asked for.
    rng : Generator
        Deals the rows out to folds.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0: folds keep groups whole.
    judge : callable
    one_se : bool
        Whether the procedure takes the last candidate within one standard error of the best.
    otherwise : str
        What to ask for if there are too few rows.
    """
    heldout = list(folds(candidates, ranks, cv=cv, rng=rng, labels=labels, otherwise=otherwise))
    table = np.array([[judge(one, test) for one in score.T] for score, test in heldout])
    ordered = np.array([[concordance(one, test) for one in score.T] for score, test in heldout])
    step, step_1se = choose_step(table)
    judged = []
    for k, (score, test) in enumerate(heldout):
        others = np.delete(table, k, axis=0)
        if not np.isnan(others).all():
            judged.append(Judged(score[:, choose_step(others)[1 if one_se else 0]], test))
    some = ~np.isnan(ordered).all(axis=1)
    nothing = np.full(table.shape[1], np.nan)
    return Selection(
        table,
        np.nanmean(ordered[some], axis=0) if some.any() else nothing,
        step,
        step_1se,
        pooled_figures(judged, ranks, labels),
    )


def folds(
    candidates: Candidates,
    ranks: Ranks,
    *,
    cv: int,
    rng: np.random.Generator,
    labels: Labels | None = None,
    otherwise: str,
) -> Iterator[tuple[Floats, Ranks]]:
    """Score each fold by candidates that were fitted without it."""
    of_position = None if labels is None else labels[ranks.row]
    fold = deal(ranks, of_position, fold_count(ranks, cv, of_position, otherwise=otherwise), rng)
    for k in range(int(fold.max()) + 1):
        test = ranks.subset(fold == k)
        yield candidates(ranks.subset(fold != k), test), test


def pooled_figures(
    judged: list[Judged], ranks: Ranks, labels: Labels | None
) -> dict[str, Estimate]:
    """Pool the figures of held-out scores over the folds; those that no fold has are missing."""
    allowed = (figure for figure in figures(of_trees=True) if figure.total(ranks) > 0.0)
    found = {f.name: pooled_estimate([judged], len(ranks.row), f, labels) for f in allowed}
    return {name: estimate for name, estimate in found.items() if estimate is not None}
