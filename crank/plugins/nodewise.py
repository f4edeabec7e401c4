"""From a learner to the splits of a whole layer: orientation, minimum leaf size, stopping."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.blame import blamed, broken, is_foreign, named, read_only
from crank.errors import OptionError, PluginError
from crank.growing.matrix import TrainingMatrix
from crank.growing.rule import Split, SplitRule
from crank.growing.splitter import LayerSplits, LayerTask, Splitter
from crank.kernels.cuts import Objective
from crank.kernels.exact import best_cut
from crank.kernels.rows import take_rows
from crank.plugins.base import SplitLearner
from crank.plugins.checked import CheckedSplitter


class NodeWiseSplitter(Splitter):
    """Ask the learner node by node."""

    def __init__(self, learner: SplitLearner, data: TrainingMatrix) -> None:
        self.learner = learner
        self.data = data
        self.foreign = is_foreign(type(learner))

    def split(self, task: LayerTask) -> LayerSplits:
        """Fit the learner in each node, in threads if the fit may use several."""
        nodes = range(len(task.layer.bounds) - 1)
        if self.data.n_jobs > 1 and len(nodes) > 1:
            with ThreadPoolExecutor(self.data.n_jobs) as pool:
                results = list(pool.map(lambda k: self._split_node(task, k), nodes))
        else:
            results = [self._split_node(task, k) for k in nodes]
        return LayerSplits([s for s, _ in results], np.concatenate([left for _, left in results]))

    def _split_node(self, task: LayerTask, k: int) -> tuple[Split | None, NDArray[np.bool_]]:
        here = slice(task.layer.bounds[k], task.layer.bounds[k + 1])
        position = task.layer.position[here]
        rows, by_row = in_order(task.ranks.row[position], len(self.data.X))
        score = task.score[here][by_row]
        left = np.zeros(len(rows), dtype=bool)
        # taken once: gathering rows costs about as much as a fast learner's fit
        X = self.gather(rows)
        if self.foreign:
            X = read_only(X)
        with blamed(type(self.learner), "fit", task.called(k)):
            rule = self._fit(X, score, task.rng(k))
        if rule is None:
            return None, left
        with blamed(type(self.learner), "a rule's decision", task.called(k)):
            value = self.decide(rule, X)
            if self.foreign:
                check_column_test(rule, X, value)
        weight = None if task.ranks.unweighted else task.ranks.weight[position[by_row]]
        # a rule that is monotone stays so as long as its high values remain the high side
        direction = 1 if any(self.data.monotone) else 0
        found = orient(value, score, weight, task.objective, task.min_leaf, direction)
        if found is None:
            return None, left
        cut, sign = found
        left[by_row] = value > cut if sign > 0 else value < cut
        return Split(rule, cut, sign), left

    def _fit(
        self, X: NDArray[np.float64], score: NDArray[np.float64], rng: np.random.Generator
    ) -> SplitRule | None:
        scored = score != 0.0
        if not scored.all():
            X, score = X[scored], score[scored]
        if not len(score) or score.min() > 0.0 or score.max() < 0.0:
            return None
        size = np.abs(score)
        label, weight = np.sign(score), size / size.mean()
        for array in (X, label, weight) if self.foreign else ():
            array.flags.writeable = False
        return self.fit(X, label, weight, rng)

    def gather(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Take rows, given in increasing order, out of the training matrix for `fit`."""
        X = self.data.X
        some: NDArray[Any] = X if len(rows) == len(X) else take_rows(X, rows)
        return some.astype(np.float64, copy=False)

    def fit(
        self,
        X: NDArray[np.float64],
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> SplitRule | None:
        """Ask the learner."""
        more = {"levels": self.data.levels} if self.learner.takes_categories else {}
        if any(self.data.monotone):
            more["monotone"] = self.data.monotone
        return self.learner.fit(X, label, weight, rng=rng, **more)

    def decide(self, rule: SplitRule, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ask a rule for the decision values of gathered rows."""
        return decision_values(rule, self.learner, X)


def in_order(rows: NDArray[np.intp], n: int) -> tuple[NDArray[np.intp], NDArray[np.integer[Any]]]:
    """Sort distinct row numbers below n, and say where each was.

    Memory is read faster from front to back.

    Examples
    --------
    >>> [part.tolist() for part in in_order(np.array([3, 1, 2]), 8)]
    [[1, 2, 3], [1, 2, 0]]
    """
    if 4 * len(rows) >= n:
        place = np.full(n, -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        there = place >= 0
        return np.flatnonzero(there), place.compress(there)
    # number and place in one integer: NumPy sorts those several times as fast as it sorts places
    key = rows.astype(np.int64) << 32
    key |= np.arange(len(rows))
    key.sort()
    return key >> 32, key & 0xFFFFFFFF


def decision_values(
    rule: SplitRule, learner: SplitLearner, X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Ask a rule for its decision values and hold it to the contract."""
    name = named(type(learner))
    if not isinstance(rule, SplitRule):
        raise PluginError(
            f"learner {name} returned {type(rule).__name__} from fit. Allowed: a SplitRule or "
            "None. Run crank.testing.check_learner on it."
        )
    value = np.asarray(rule.decision(X), dtype=np.float64)
    if value.shape != (len(X),) or not np.isfinite(value).all():
        raise PluginError(
            f"learner {name} gave decision values of shape {value.shape}, "
            f"{(~np.isfinite(value)).sum()} of them NaN or infinite, for {len(X)} rows. Allowed: "
            "one finite value a row. Run crank.testing.check_learner on it."
        )
    return value


def check_column_test(rule: SplitRule, X: NDArray[np.float64], value: NDArray[np.float64]) -> None:
    """Raise if a rule says that it is a test on one column which it is not."""
    test = rule.column_test()
    if test is None:
        return
    wrong = int(np.count_nonzero(test.passes(X) != (value > 0.0)))
    if wrong:
        raise broken(
            type(rule),
            f"says that it is {test}, but {wrong} of {len(X)} rows go elsewhere by that. Allowed: "
            "a column_test whose left is where decision is above 0, or None.",
        )


def orient(
    value: NDArray[np.float64],
    score: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    objective: Objective,
    min_leaf: int,
    direction: int = 0,
) -> tuple[float, int] | None:
    """Choose cut and sign for decision values: the learner's own 0 unless a side gets too small.

    With direction 1 the sign is 1: high decision values stay the high side.

    Returns
    -------
    (cut, sign) or None
        None if the best that can be had does not improve on leaving the node whole.
    """
    high = value > 0.0
    n_high = int(np.count_nonzero(high))
    if n_high < min_leaf or len(value) - n_high < min_leaf:
        return best_cut(value, score, weight, objective, min_leaf, direction)
    total = float(score.sum())
    side = float((score * high).sum())
    if not improves(2.0 * side - total, total, float(np.abs(score).sum())):
        return None
    sign = 1 if 2.0 * side > total else -1
    if direction and sign != direction:
        return best_cut(value, score, weight, objective, min_leaf, direction)
    if sign < 0 and (value == 0.0).any():
        # "below 0 goes left" must keep the rows at 0 on the learner's own low side
        return float(np.nextafter(0.0, 1.0)), sign
    return 0.0, sign


def improves(difference: float, total: float, scale: float) -> bool:
    """Tell whether a split's Σ left − Σ right beats the undivided node by more than rounding."""
    return abs(difference) > abs(total) + 1e-12 * scale


def require_monotone(learner: SplitLearner) -> None:
    """Refuse a learner that cannot keep decisions monotone."""
    if not learner.takes_monotone:
        raise OptionError(
            f"monotone= is given, but the learner {type(learner).__name__} cannot keep its "
            "decisions monotone with these settings. Allowed: stump, tree, logistic, svm with "
            "learner_params={'kernel': 'linear'}, and others that declare takes_monotone."
        )


def bind(learner: SplitLearner, data: TrainingMatrix) -> Splitter:
    """Prepare a learner for one training matrix; a plugin gets one that it cannot change."""
    if any(data.monotone):
        require_monotone(learner)
    kind = type(learner)
    if not is_foreign(kind):
        prepared = learner.prepare(data)
        return prepared if isinstance(prepared, Splitter) else NodeWiseSplitter(prepared, data)
    safe = replace(data, X=read_only(data.X))
    with blamed(kind, "prepare"):
        prepared = learner.prepare(safe)
    if isinstance(prepared, Splitter):
        return CheckedSplitter(prepared, kind, safe) if is_foreign(type(prepared)) else prepared
    if not isinstance(prepared, SplitLearner):
        raise broken(
            kind,
            f"gave {prepared!r} from prepare. Allowed: itself, a copy of itself or a Splitter.",
        )
    return NodeWiseSplitter(prepared, safe)
