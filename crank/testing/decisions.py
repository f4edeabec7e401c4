"""Checks of what a learner decides: on easy nodes rightly, on hard nodes at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from crank.errors import CrankError
from crank.growing.splitter import Splitter
from crank.plugins.base import SplitLearner, TrainingMatrix
from crank.testing.apart import try_apart
from crank.testing.check import (
    COPY,
    DECISION,
    Kit,
    NotApplicable,
    a_rule,
    agreement,
    ask,
    demand,
    demand_of_kit,
    form,
    require,
    values,
)
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


@demand("decides", DECISION)
def decides(learner: SplitLearner) -> None:
    """Try batches of every shape and layout that crank sends."""
    data = noisy()
    rule = a_rule(learner, data)
    frozen = data.X.copy()
    frozen.setflags(write=False)
    whole = values(rule, frozen, f"{len(data.X)} rows")
    values(rule, data.X[:0], "0 rows")
    one = np.concatenate([values(rule, data.X[i : i + 1], "1 row") for i in range(5)])
    require(agreement(one, whole[:5]) == 1.0, "a row alone goes another way than among others.")
    column_major = values(rule, np.asfortranarray(data.X), "rows in Fortran order")
    require(agreement(column_major, whole) == 1.0, "the memory layout of X changes decisions.")
    values(rule, data.X.astype(np.float32), "float32 rows")
    rows = np.array([7, 3, 3, 50], dtype=np.intp)
    at = np.asarray(rule.decision_at(data.X, rows))
    require(
        at.shape == (4,) and agreement(at, whole[rows]) == 1.0,
        "decision_at(X, rows) does not agree with decision(X)[rows].",
    )
    test = rule.column_test()
    require(
        test is None or np.array_equal(test.passes(data.X), whole > 0.0),
        f"column_test gives {test}, which sends rows elsewhere than decision does.",
        *("column_test", "column_test is for rules that are a test on one column; else None."),
    )


@demand("leaves data alone", COPY)
def leaves_data_alone(learner: SplitLearner) -> None:
    """Compare the arrays before and after."""
    data = noisy()
    given = data.copy()
    rule = ask(learner, given, copy=False)
    for name in ("X", "label", "weight"):
        before, after = getattr(data, name), getattr(given, name)
        same = np.array_equal(before, after, equal_nan=True)
        require(same, f"fit changed {name}.", "in place", COPY)
    if rule is not None:
        values(rule, given.X, given.name)
        same = np.array_equal(data.X, given.X, equal_nan=True)
        require(same, "decision changed X.", "in place", COPY)


@demand("prepares", "prepare returns the learner, a prepared copy of it, or a Splitter.")
def prepares(learner: SplitLearner) -> None:
    """Look at what prepare gives."""
    data = noisy()
    X = data.X.copy()
    X.flags.writeable = False
    ready = learner.prepare(TrainingMatrix(X, data.levels))
    require(isinstance(ready, (SplitLearner, Splitter)), f"prepare gave {form(ready)}.")
    if isinstance(ready, SplitLearner):
        a_rule(ready, data)


@demand("separates", "Above 0 means label +1; a column that tells the labels apart must be found.")
def separates(learner: SplitLearner) -> None:
    """Try labels that one column tells apart."""
    for data in (separable(), separable(200, 2, seed=5)):
        rule = a_rule(learner, data)
        for fresh in (data, separable(200, data.X.shape[1], seed=9)):
            right = agreement(values(rule, fresh.X, fresh.name), fresh.label)
            require(right >= 0.9, f"only {right:.0%} of {data.name} go to their label's side.")


@demand_of_kit(
    "survives", "fit returns a rule with finite decisions, or None if nothing can be learned."
)
def survives(learner: SplitLearner, kit: Kit) -> None:
    """Try small, flat, wide and badly scaled nodes, where possible in a process of their own."""
    if try_apart(learner, kit):
        return
    for data in hard_nodes():
        finite_or_none(learner, data)


@demand("takes missing values", "takes_missing = True promises it; drop the promise or keep it.")
def takes_missing(learner: SplitLearner) -> None:
    """Try NaN in training, and NaN that comes only later."""
    if not learner.takes_missing:
        raise NotApplicable("takes_missing is False.")
    for data in missing_nodes():
        finite_or_none(learner, data)
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
        finite_or_none(learner, data)
    data = category_nodes()[0]
    right = agreement(values(a_rule(learner, data), data.X, data.name), data.label)
    require(right >= 0.9, f"only {right:.0%} of the rows with {data.name} go to the right side.")


@demand(
    "follows weights",
    "Weight is how much a row matters: pass it on, or resample by it.",
    needs=("separates",),
)
def follows_weights(learner: SplitLearner) -> None:
    """Let the weight decide between two halves that contradict each other, in both directions.

    A learner that ignores weights makes the same rule in both directions: what agrees with one
    half contradicts the other, so that exactly half of all decisions are right, whatever the rule.
    Learners that go row by row follow weights roughly: unless the first seed is clear, several
    count.
    """
    base = separable(120, 2)
    clash = np.vstack([base.X, base.X])
    label = np.concatenate([base.label, -base.label])

    def right(seed: int) -> float:
        shares = []
        for heavy in (1.0, -1.0):
            weight = np.where(np.arange(240) < 120, 10.0**heavy, 1.0)
            rule = a_rule(learner, node("contradicting halves", clash, label, weight), seed)
            shares.append(
                agreement(values(rule, base.X, "contradicting halves"), heavy * base.label)
            )
        return float(np.mean(shares))

    share = right(0)
    if share < 0.75:
        share = float(np.mean([share, *(right(seed) for seed in range(1, 5))]))
    require(
        share >= 0.75,
        f"{share:.0%} of the decisions follow the half with ten times the weight; a learner that "
        "ignores weights has 50%.",
    )
    light = np.where(np.arange(240) < 120, 1.0, 1e-9)
    X = np.vstack([base.X, base.X[:, ::-1]])
    with_light = a_rule(learner, node("rows of hardly any weight", X, label, light))
    without = a_rule(learner, node("the same without them", base.X, base.label))
    same = agreement(
        values(with_light, base.X, "half light rows"), values(without, base.X, "half of the rows")
    )
    require(same >= 0.9, f"rows of weight 1e-9 change {1 - same:.0%} of the decisions.")


@demand(
    "weighs like copies",
    "Weight 2 must count like two equal rows.",
    needs=("separates", "follows weights"),
)
def weighs_like_copies(learner: SplitLearner) -> None:
    """Compare doubled weights with doubled rows."""
    data = noisy(200)
    ready = prepared(learner, data)
    twice = data.label > 0.0
    by_weight = node(data.name, data.X, data.label, np.where(twice, 2.0, 1.0))
    rows = np.concatenate([np.arange(200), np.flatnonzero(twice)])
    by_copies = node(data.name, data.X[rows], data.label[rows])
    # over several seeds: a learner that shuffles rows differs from itself, too
    high = [
        np.mean([values(a_rule(ready, part, k), data.X, data.name) > 0.0 for k in range(5)], axis=0)
        for part in (by_weight, by_copies)
    ]
    apart = float(np.abs(high[0] - high[1]).mean())
    require(apart <= 0.3, f"{apart:.0%} of the decisions differ between the two.")


CHECKS = (
    decides,
    leaves_data_alone,
    prepares,
    separates,
    survives,
    takes_missing,
    keeps_directions,
    takes_categories,
    follows_weights,
    weighs_like_copies,
)


def finite_or_none(learner: SplitLearner, data: NodeData) -> None:
    """Fit a node that may be too hard: what comes must be finite, if anything comes."""
    for kind in (learner, prepared(learner, data)):
        try:
            rule = ask(kind, data)
        except CrankError:
            continue  # a node may be refused, in words that a user understands
        if rule is not None:
            values(rule, data.X, data.name)
            values(rule, data.X[::-1] * 3.0 + 1.0, f"new rows after {data.name}")
