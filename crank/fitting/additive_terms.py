"""From the terms of a formula to an additive ranker: which pairs are added, honest figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crank.design.expressions import columns_of
from crank.design.factors import Dummies, Number, Smooth
from crank.design.penalties import column_penalties
from crank.design.rugs import rugs_of
from crank.design.slopes import slopes
from crank.design.spec import DesignSpec
from crank.fitting.additive import (
    Sample,
    few_of,
    fit_additive,
    has_few_rows,
    prepared,
    subsample,
)
from crank.fitting.columns import check_columns, check_spreads, extremes
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.linear import Groups
from crank.fitting.pair_terms import COUNTS, Candidates, Side
from crank.fitting.pairs import Floats
from crank.formula import ParsedFormula, learn_design, pair_sides, with_pairs
from crank.frames.table import Table
from crank.growing.matrix import FloatArray
from crank.kernels.links import LINKS
from crank.metrics.figures import KENDALL, figures
from crank.rankers.additive import AdditiveOptions, AdditiveRanker
from crank.rankers.directions import signs_of
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

ROWS = 4_000
"""Folds are fitted, and pairs are chosen, on no more rows than this."""
MOST_LEVELS = 12
"""A category with more levels is no side of a pair."""


@dataclass(frozen=True)
class Fitted:
    """An additive ranker with its design.

    Attributes
    ----------
    design : DesignSpec
        Pairs that were chosen stand last.
    X : ndarray of shape (n, p)
        The design of the training rows.
    ranker : AdditiveRanker
    crossvalidated : dict of Estimate
        Held-out figures; each fold has as many pairs as the other folds ask for. Empty if
        there are none.
    n_judged : int or None
        Rows that were dealt out to folds, if not all were.
    """

    design: DesignSpec
    X: FloatArray
    ranker: AdditiveRanker
    crossvalidated: dict[str, Estimate]
    n_judged: int | None = None


def fit_terms(
    parsed: ParsedFormula,
    table: Table,
    design: DesignSpec,
    X: FloatArray,
    ranks: Ranks,
    *,
    options: AdditiveOptions,
    weights: Floats | None = None,
    groups: Groups | None = None,
    folds: NDArray[np.intp] | None = None,
) -> Fitted:
    """Choose pairs, judge, and fit.

    Parameters
    ----------
    parsed : ParsedFormula
        Its terms.
    table : Table
    design : DesignSpec
        Learned from both.
    X : ndarray of shape (n, p)
        The design of the table, without missing values.
    ranks : Ranks
    options : AdditiveOptions
    weights : ndarray of shape (n,), optional
    groups : ndarray of int, shape (n,), optional
        Number of each row's group; folds keep groups whole, and only groups are independent.
    folds : ndarray of int, shape (n,), optional
        Fold in which each row is held out, -1 for none; drawn by default.
    """
    crossvalidated: dict[str, Estimate] = {}
    chosen: Sequence[tuple[str, str]] = ()
    n_judged, wanted = None, signs_of(options.monotone)
    if isinstance(options.pairs, tuple):
        parsed = with_pairs(parsed, options.pairs)
        design = learn_design(parsed, table, native=False, smooth=True, weights=weights)
        X = design.matrix(table)
    check_columns(X.shape[1])
    check_spreads(*extremes(X), design.names)
    if options.smoothing is None and not has_few_rows(X, ranks):
        sample = prepared(
            X,
            ranks,
            column_penalties(design, straight=options.straight),
            options,
            groups,
            slopes(design, wanted),
        )
        keep = few_of(sample, options.random_state, ROWS)
        sides: tuple[Side, ...] = ()
        if options.pairs == "auto" or (isinstance(options.pairs, int) and options.pairs):
            sides = sides_of(parsed, table, weights, design, sample, keep, wanted)
        part = subsample(sample, keep)
        candidates = Candidates(
            part.columns.Z,
            part.ranks,
            LINKS[options.link],
            part.penalty,
            sides,
            part.groups,
            part.bounds,
        )
        fold = None if folds is None else folds[ranks.row][keep]
        study = studied(candidates, options, fold)
        crossvalidated = study.figures()
        n_judged = None if keep.all() or not crossvalidated else int(keep.sum())
        chosen = candidates.kept(study.count) if study.count else ()
    if chosen:
        parsed = with_pairs(parsed, chosen)
        design = learn_design(parsed, table, native=False, smooth=True, weights=weights)
        X = design.matrix(table)
    ranker = fit_additive(
        X,
        ranks,
        column_penalties(design, straight=options.straight),
        options=options,
        groups=groups,
        names=design.names,
        rugs=rugs_of(design, table),
        slopes=slopes(design, wanted),
    )
    return Fitted(design, X, ranker, crossvalidated, n_judged)


def sides_of(
    parsed: ParsedFormula,
    table: Table,
    weights: Floats | None,
    design: DesignSpec,
    sample: Sample,
    keep: NDArray[np.bool_],
    monotone: Collection[str] = (),
) -> tuple[Side, ...]:
    """Find the terms that may be sides of pairs, with their few columns in the order of y.

    Monotone terms are none: a product could turn them.
    """
    held = {
        name
        for name, term in pair_sides(parsed).items()
        if name in monotone or not set(monotone).isdisjoint(columns_of(term.factors[0].steps))
    }
    terms = {name: term for name, term in pair_sides(parsed).items() if name not in held}
    if len(terms) < 2:
        return ()
    small = learn_design(
        replace(parsed, terms=tuple(terms.values())),
        table,
        native=False,
        smooth=True,
        weights=weights,
    )
    X = small.matrix(table)[sample.ranks.row][keep]
    whole, few = np.array(design.terms)[sample.columns.kept], np.array(small.terms)
    factor = {block.term: small.factors[block.factors[0]] for block in small.blocks}
    found = []
    for name, term in terms.items():
        columns, own = np.flatnonzero(whole == name), factor.get(term.name)
        curve = isinstance(own, Smooth)
        if isinstance(own, Dummies) and len(own.levels) > MOST_LEVELS:
            continue
        if len(columns) and isinstance(own, Smooth | Dummies | Number):
            here = np.flatnonzero(few == term.name)
            bending = np.array(own.penalty) if isinstance(own, Smooth) else np.zeros(len(here))
            found.append(Side(name, columns, X[:, here], bending, curve))
    return tuple(found) if any(side.smooth for side in found) else ()


@dataclass(frozen=True)
class Study:
    """What held-out rows say of how many pairs.

    Attributes
    ----------
    counts : tuple of int
        Numbers of pairs that were tried.
    judged : tuple of tuple of Judged
        A fold's scores of the rows that it held out, for each of them.
    n : int
        Rows of the whole sample.
    groups : ndarray of int or None
        Group of each of them.
    """

    counts: tuple[int, ...]
    judged: tuple[tuple[Judged, ...], ...]
    n: int
    groups: Groups | None

    @property
    def count(self) -> int:
        """How many pairs are taken."""
        return self.counts[self._best(range(len(self.judged)))]

    def figures(self) -> dict[str, Estimate]:
        """Pool the figures of the folds, each with as many pairs as the others ask for."""
        found: dict[str, Estimate] = {}
        folds = range(len(self.judged))
        chosen = [
            scored[self._best([other for other in folds if other != k])]
            for k, scored in enumerate(self.judged)
        ]
        for figure in figures(of_trees=True):
            each = pooled_estimate([chosen], self.n, figure, self.groups) if chosen else None
            if each is not None:
                found[figure.name] = each
        return found

    def _best(self, folds: Sequence[int]) -> int:
        """Find the number of pairs that some folds ask for."""
        return best_of(self.concordances[list(folds)])

    @cached_property
    def concordances(self) -> Floats:
        """Of the rows held out, shape (folds, counts); NaN where their responses are all equal."""
        rows = [[_concordance(one) for one in scored] for scored in self.judged]
        return np.array(rows).reshape(len(rows), len(self.counts))


def _concordance(judged: Judged) -> float:
    rows = judged.test
    if not rows.pairs:
        return float("nan")
    return KENDALL.estimate(rows.y, judged.score, None if rows.unweighted else rows.weight)


def best_of(heldout: Floats) -> int:
    """Find the column with the largest mean over the folds that have a figure.

    Of equal ones it is the first, and one fold alone asks for nothing: what makes a model harder
    to read has to earn it.

    Examples
    --------
    >>> best_of(np.array([[0.6, 0.7, 0.8], [0.5, 0.6, 0.6], [0.6, np.nan, np.nan]]))
    2
    >>> best_of(np.array([[0.6, 0.7], [0.6, 0.49]]))
    0
    """
    known = heldout[~np.isnan(heldout).any(axis=1)]
    return int(np.argmax(known.mean(axis=0))) if len(known) > 1 else 0


def studied(
    candidates: Candidates, options: AdditiveOptions, given: NDArray[np.intp] | None
) -> Study:
    """Hold out folds, and score them with more and more pairs.

    Parameters
    ----------
    candidates : Candidates
    options : AdditiveOptions
    given : ndarray of int, optional
        Fold in which each row is held out, by position.
    """
    ranks = candidates.ranks
    counts: tuple[int, ...] = (0,)
    if candidates.sides:
        counts = (options.pairs,) if isinstance(options.pairs, int) else COUNTS
    judged: list[tuple[Judged, ...]] = []
    if given is not None or options.cv is not None:
        fold = dealt(candidates, options) if given is None else given
        for k in range(int(fold.max()) + 1):
            held = fold == k
            if ranks.subset(~held).n_distinct > 1:
                test = ranks.subset(held)
                judged.append(tuple(Judged(s, test) for s in candidates.path(held, counts)))
    labels, n = None, len(ranks.row)
    if candidates.groups is not None:
        labels = np.zeros(n, dtype=np.intp)
        labels[ranks.row] = candidates.groups
    return Study(counts, tuple(judged), n, labels)


def dealt(candidates: Candidates, options: AdditiveOptions) -> NDArray[np.intp]:
    """Deal the rows out to folds."""
    assert options.cv is not None
    ranks, rng = candidates.ranks, np.random.default_rng(options.random_state)
    if candidates.groups is None:
        return stratified_folds(ranks, fold_count(ranks, options.cv), rng)
    count = fold_count(ranks, options.cv, candidates.groups)
    return grouped_folds(ranks, candidates.groups, count, rng)
