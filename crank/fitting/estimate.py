"""The cross-validated figure: what each fold says of a choice that it had no part in.

Folds are disjoint samples of rows, so they are pooled: comparisons that agree, over all
comparisons within a fold. The variance has three parts (docs/theory §8): the influence of each
held-out row on the pooled figure; the spread of the figures between folds, which holds what
differs from one fitted ranker to the next; and what folds judged more than once disagree about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.kernels.order import group_sums
from crank.metrics.figures import Figure, figures
from crank.metrics.inference import figure_evidence
from crank.metrics.intervals import (
    Evidence,
    Spread,
    degrees_of_freedom,
    moments,
    rate_interval,
)
from crank.rankers.validation import Estimate
from crank.ranks import Ranks


@dataclass(frozen=True)
class Judged:
    """The rows of a fold, and their scores by a ranker that was fitted and chosen without it.

    Attributes
    ----------
    score : ndarray
        In the order of the positions of `test`.
    test : Ranks
    copies : ndarray, optional
        Rows, of equal weight, that each row stands for.
    """

    score: NDArray[np.float64]
    test: Ranks
    copies: NDArray[np.float64] | None = None


def pooled_estimate(
    repeats: Sequence[Sequence[Judged]],
    n: int,
    figure: Figure,
    labels: NDArray[np.intp] | None = None,
) -> Estimate | None:
    """Pool the held-out figure over the folds of each repeat; None if no fold has one.

    Parameters
    ----------
    repeats : sequence of sequences of Judged
        The folds, for each time that they were drawn.
    n : int
        Rows of all folds together.
    figure : Figure
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0.
    """
    rounds = [found for folds in repeats if (found := _pooled(folds, n, figure, labels))]
    if not rounds:
        return None
    figure_of = np.array([one.estimate for one in rounds])
    estimate = float(figure_of.mean())
    units, rows, fourth = _of_rows(rounds, labels)
    between = float(np.mean([one.between for one in rounds]))
    folds = float(np.mean([one.folds for one in rounds]))
    known = zip(*(one.known for one in rounds), strict=True)
    kish, pairs, sets = (float(np.mean(each)) for each in known)
    # what rounds disagree about, another choice or other folds, makes their mean uncertain too
    apart = float(figure_of.var()) / max(len(rounds) - 1, 1)
    # folds that all choose a constant score have no spread: independent pairs have
    variance = max(rows + between + apart, estimate * (1.0 - estimate) / pairs)
    df = combined_df(
        (rows, degrees_of_freedom(units, rows, fourth)),
        (between, max(folds - 1.0, 1.0)),
    )
    low, high = rate_interval(estimate, Spread(variance, df, kish, pairs, sets), 0.05)
    return Estimate(estimate, float(np.sqrt(variance)), low, high)


def _of_rows(
    rounds: Sequence[_Round], labels: NDArray[np.intp] | None
) -> tuple[float, float, float]:
    """Count independent units, and sum squares and fourth powers of their influences."""
    if rounds[0].copies is not None:  # whose rows they stand for changes with every drawing
        found = [moments(one.influence, one.copies) for one in rounds]
        units, rows, fourth = (float(np.mean(each)) for each in zip(*found, strict=True))
        return units, rows, fourth
    # a row counts once, however often it was held out
    influence = np.mean([one.influence for one in rounds], axis=0)
    if labels is not None:
        influence = group_sums(labels, influence, int(labels.max()) + 1)
    return moments(influence, None)


def combined_df(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of variances, each with its own (Welch and Satterthwaite).

    Examples
    --------
    >>> combined_df((1.0, 10.0), (0.0, 2.0)), combined_df((1.0, 10.0), (1.0, 10.0))
    (10.0, 20.0)
    """
    total = sum(variance for variance, _ in parts)
    if total == 0.0:
        return parts[0][1]
    return total**2 / sum(variance**2 / df for variance, df in parts)


@dataclass(frozen=True)
class _Round:
    estimate: float
    influence: NDArray[np.float64]
    between: float
    folds: int
    known: tuple[float, float, float]
    copies: NDArray[np.float64] | None = None


def _pooled(
    folds: Sequence[Judged], n: int, figure: Figure, labels: NDArray[np.intp] | None
) -> _Round | None:
    """Pool the folds of one repeat that have a figure."""
    judged = [fold for fold in folds if figure.total(fold.test) > 0.0]
    if not judged:
        return None
    total = np.array([figure.total(fold.test) for fold in judged])
    share = total / total.sum()
    own, influences = [], []
    for fold in judged:
        test = fold.test
        weights = None if test.unweighted else test.weight
        found, each = figure.influence(test.y, fold.score, weights)
        own.append(found)
        influences.append(each)
    each_fold = np.array(own)
    # rounding would make 0.9999999999999999 of a perfect figure, which has an interval of its own
    estimate = float(np.clip(share @ each_fold, each_fold.min(), each_fold.max()))
    influence = np.zeros(n)
    for fold, part, off, each in zip(judged, share, each_fold - estimate, influences, strict=True):
        # a fold's influences are taken around its own figure, which a small fold fits too well:
        # put them around the pooled one
        shift = off * figure.members * fold.test.weight / fold.test.total
        influence[fold.test.row] = part * (each + shift)
    k = len(judged)
    between = float((share * (each_fold - estimate)) @ (share * (each_fold - estimate)))
    evidences = [_evidence(fold, figure, labels) for fold in judged]
    copies = [fold.copies for fold in judged if fold.copies is not None]
    if copies:
        influence = np.concatenate([influence[fold.test.row] for fold in judged])
    return _Round(
        estimate,
        influence,
        between * k / max(k - 1, 1),
        k,
        (
            sum(one.units for one in evidences),
            sum(one.pairs for one in evidences),
            sum(one.sets for one in evidences),
        ),
        np.concatenate(copies) if copies else None,
    )


def _evidence(fold: Judged, figure: Figure, labels: NDArray[np.intp] | None) -> Evidence:
    test = fold.test
    weight = test.weight
    if labels is not None:
        group = np.unique(labels[test.row], return_inverse=True)[1]
        weight = group_sums(group, weight, int(group.max()) + 1)
    mass = group_sums(test.group.astype(np.int64), test.weight, test.n_distinct)
    return figure_evidence(figure, weight, mass, fold.copies)


def figures_of(
    score: NDArray[np.float64], ranks: Ranks, labels: NDArray[np.intp] | None = None
) -> dict[str, Estimate]:
    """Figures of scores on their own rows, with standard errors that ignore any fit.

    Parameters
    ----------
    score : ndarray of shape (n,)
        By row.
    ranks : Ranks
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0.
    """
    weights = None if ranks.unweighted else ranks.weight
    groups = None if labels is None else labels[ranks.row]
    found = {}
    for figure in figures(of_trees=True):
        if figure.total(ranks) > 0.0:
            each = figure.concordance(ranks.y, score[ranks.row], weights, groups=groups)
            found[figure.name] = Estimate(each.estimate, each.se, each.ci_low, each.ci_high)
    return found
