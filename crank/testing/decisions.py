"""Checks of what a learner decides: on easy nodes rightly, on hard nodes at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.criteria import get_criterion
from crank.fitting.grow import grow
from crank.plugins.base import SplitLearner, SplitRule, TrainingMatrix
from crank.ranks import rank
from crank.testing.check import NotApplicable, a_rule, agreement, ask, demand, require, values
from crank.testing.nodes import (
    NodeData,
    category_nodes,
    hard_nodes,
    missing_nodes,
    node,
    noisy,
    prepared,
    separable,
)


@demand("decides", "decision returns one finite float64 a row, for any number of rows.")
def decides(learner: SplitLearner) -> None:
    """Try batches of every shape and layout that crank sends."""
    data = noisy()
    rule = a_rule(learner, data)
    whole = values(rule, data.X, f"{len(data.X)} rows")
    values(rule, data.X[:0], "0 rows")
    one = np.concatenate([values(rule, data.X[i : i + 1], "1 row") for i in range(5)])
    require(agreement(one, whole[:5]) == 1.0, "a row alone goes another way than among others.")
    column_major = values(rule, np.asfortranarray(data.X), "rows in Fortran order")
    require(agreement(column_major, whole) == 1.0, "the memory layout of X changes decisions.")
    values(rule, data.X.astype(np.float32), "float32 rows")
    frozen = data.X.copy()
    frozen.setflags(write=False)
    values(rule, frozen, "read-only rows")
    rows = np.array([7, 3, 3, 50], dtype=np.intp)
    at = np.asarray(rule.decision_at(data.X, rows))
    require(
        at.shape == (4,) and agreement(at, whole[rows]) == 1.0,
        "decision_at(X, rows) does not agree with decision(X)[rows].",
    )


@demand("separates", "Above 0 means label +1; a column that tells the labels apart must be found.")
def separates(learner: SplitLearner) -> None:
    """Try labels that one column tells apart."""
    for data in (separable(), separable(200, 2, seed=5)):
        rule = a_rule(learner, data)
        for fresh in (data, separable(200, data.X.shape[1], seed=9)):
            right = agreement(values(rule, fresh.X, fresh.name), fresh.label)
            require(right >= 0.9, f"only {right:.0%} of {data.name} go to their label's side.")


@demand("survives", "fit returns a rule with finite decisions, or None if nothing can be learned.")
def survives(learner: SplitLearner) -> None:
    """Try small, flat, wide and badly scaled nodes."""
    for data in hard_nodes():
        _finite_or_none(learner, data)


@demand("takes missing values", "takes_missing = True promises it; drop the promise or keep it.")
def takes_missing(learner: SplitLearner) -> None:
    """Try NaN in training, and NaN that comes only later."""
    if not learner.takes_missing:
        raise NotApplicable("takes_missing is False.")
    for data in missing_nodes():
        _finite_or_none(learner, data)
    data = noisy()
    values(a_rule(learner, data), np.full((3, 3), np.nan), "NaN where training had none")


@demand(
    "keeps directions",
    "takes_monotone = True promises it: fit gets the keyword monotone, decision values follow it.",
)
def keeps_directions(learner: SplitLearner) -> None:
    """Try directions that the labels contradict, and rows that differ in one column only."""
    if not learner.takes_monotone:
        raise NotApplicable("takes_monotone is False.")
    data = noisy()
    for monotone in ((1, 0, 0), (-1, 0, 0)):
        more: dict[str, Any] = {"levels": data.levels} if learner.takes_categories else {}
        more |= {"monotone": monotone, "rng": np.random.default_rng(0)}
        rule = learner.fit(data.X, data.label, data.weight, **more)
        if rule is None:
            continue
        low, high = data.X.copy(), data.X.copy()
        low[:, 0], high[:, 0] = np.sort([data.X[:, 0], data.X[::-1, 0]], axis=0)
        gap = monotone[0] * (values(rule, high, "rows") - values(rule, low, "rows"))
        require(
            bool((gap >= 0.0).all()),
            f"with monotone={monotone} the decision value of {int((gap < 0.0).sum())} rows of "
            f"{len(gap)} moves against the first column.",
        )


@demand(
    "takes categories",
    "takes_categories = True promises it: fit gets the keyword levels, codes come as floats.",
)
def takes_categories(learner: SplitLearner) -> None:
    """Try codes of categories, also levels that a node lacks."""
    if not learner.takes_categories:
        raise NotApplicable("takes_categories is False.")
    for data in category_nodes():
        _finite_or_none(learner, data)
    data = category_nodes()[0]
    right = agreement(values(a_rule(learner, data), data.X, data.name), data.label)
    require(right >= 0.9, f"only {right:.0%} of the rows with {data.name} go to the right side.")


@demand("hears weights", "Weight is how much a row matters: pass it on, or resample by it.")
def hears_weights(learner: SplitLearner) -> None:
    """Let the weight decide between two halves that contradict each other."""
    base = separable(120, 2)
    X = np.vstack([base.X, base.X[:, ::-1]])
    clash = np.vstack([base.X, base.X])
    label = np.concatenate([base.label, -base.label])
    for heavy in (1.0, -1.0):
        weight = np.where(np.arange(240) < 120, 10.0**heavy, 1.0)
        rule = a_rule(learner, node("contradicting halves", clash, label, weight))
        right = agreement(values(rule, base.X, "contradicting halves"), heavy * base.label)
        require(right >= 0.9, f"only {right:.0%} follow the half with ten times the weight.")
    light = np.where(np.arange(240) < 120, 1.0, 1e-9)
    with_light = a_rule(learner, node("rows of hardly any weight", X, label, light))
    without = a_rule(learner, node("the same without them", base.X, base.label))
    same = agreement(
        values(with_light, base.X, "half light rows"), values(without, base.X, "half of the rows")
    )
    require(same >= 0.9, f"rows of weight 1e-9 change {1 - same:.0%} of the decisions.")


@demand("weighs like copies", "Weight 2 must count like two equal rows.")
def weighs_like_copies(learner: SplitLearner) -> None:
    """Compare doubled weights with doubled rows."""
    data = noisy(200)
    ready = prepared(learner, data)
    twice = data.label > 0.0
    by_weight = node(data.name, data.X, data.label, np.where(twice, 2.0, 1.0))
    rows = np.concatenate([np.arange(200), np.flatnonzero(twice)])
    by_copies = node(data.name, data.X[rows], data.label[rows])
    first, second = (
        values(a_rule(ready, part), data.X, data.name) for part in (by_weight, by_copies)
    )
    same = agreement(first, second)
    require(same >= 0.85, f"{1 - same:.0%} of the decisions differ between the two.")


@demand("grows trees", "The learner must serve crank's grower: see crank.growing.splitter.")
def grows_trees(learner: SplitLearner) -> None:
    """Grow a small tree and score rows that it has not seen."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    train = TrainingMatrix(X[:200], (0, 0, 0))
    tree = grow(
        train,
        rank(y[:200]),
        learner,
        get_criterion("kendall"),
        max_depth=2,
        min_samples_leaf=10,
    )
    concordance = _concordance(y[200:], tree.score(X[200:]))
    require(
        concordance > 0.6,
        f"a tree of depth 2 orders {concordance:.0%} of new pairs rightly; guessing gets 50%.",
    )


CHECKS = (
    decides,
    separates,
    survives,
    takes_missing,
    keeps_directions,
    takes_categories,
    hears_weights,
    weighs_like_copies,
    grows_trees,
)


def _finite_or_none(learner: SplitLearner, data: NodeData) -> None:
    for kind in (learner, prepared(learner, data)):
        rule = ask(kind, data)
        require(
            rule is None or isinstance(rule, SplitRule),
            f"fit gave a {type(rule).__name__} for {data.name}.",
        )
        if rule is not None:
            values(rule, data.X, data.name)
            values(rule, data.X[::-1] * 3.0 + 1.0, f"new rows after {data.name}")


def _concordance(y: NDArray[np.float64], score: NDArray[np.float64]) -> float:
    above = np.sign(y[:, None] - y) * np.sign(score[:, None] - score)
    return float(0.5 + 0.5 * above.sum() / (len(y) * (len(y) - 1)))
