"""The stump learner: one threshold on one column, or the best subset of one factor's levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crank.checks import flag
from crank.growing.conditions import HOLDS, MIRRORED, AnyOf, Comparison, Values
from crank.growing.passes import Passes
from crank.growing.rule import Split
from crank.growing.splitter import LayerSplits, LayerTask, Splitter
from crank.growing.wording import WORDS, condition_text, named_columns
from crank.kernels.column_tests import ColumnTest
from crank.kernels.compiler import numba_works
from crank.kernels.cuts import Cut, Layer, ScoredLayer, between
from crank.kernels.stumps import ExactStumps, StumpKernel
from crank.kernels.threads import Threads
from crank.plugins.base import FloatArray, SplitLearner, SplitRule, TrainingMatrix
from crank.ranks import Ranks

if TYPE_CHECKING:
    from crank.graphs.graph import Graph


@dataclass(frozen=True)
class StumpRule(SplitRule):
    """A test on one column.

    Attributes
    ----------
    column : int
    threshold : float or None
        Numbers on one side of it go left. None if the test is whether the value is missing, or
        if the column holds categories.
    above : bool
        Whether the numbers above the threshold (or, without one, those not missing) go left.
    levels : tuple of (int, ...) or None
        For categories: the codes that go left, and those that go right. A code in neither was
        not there in training and follows the missing values.
    missing_left : bool
        Side of a missing value.

    Examples
    --------
    >>> rule = StumpRule(0, threshold=2.5, missing_left=True)
    >>> rule.describe(["age"]), rule.decision(np.array([[3.0], [np.nan]])).tolist()
    ('age > 2.5 or missing', [0.5, 1.0])
    """

    column: int
    threshold: float | None = None
    above: bool = True
    levels: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    missing_left: bool = False

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Return a signed distance to the threshold, or ±1 for categories."""
        return self._decide(X[:, self.column])

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Read one column of some rows."""
        return self._decide(X[rows, self.column])

    def _decide(self, x: FloatArray) -> NDArray[np.float64]:
        x = np.asarray(x, dtype=np.float64)
        absent = 1.0 if self.missing_left else -1.0
        if self.levels is not None:
            value = np.full(len(x), absent)
            for codes, side in zip(self.levels, (1.0, -1.0), strict=True):
                value[np.isin(x, codes)] = side
            return value
        if self.threshold is None:
            return np.where(np.isnan(x), absent, 1.0 if self.above else -1.0)
        # the difference of two doubles is 0 only if they are equal: the sign is exact
        with np.errstate(over="ignore"):
            value = x - self.threshold if self.above else self.threshold - x
        return np.where(np.isnan(x), absent, np.clip(value, -_LARGEST, _LARGEST))

    def goes_left(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell which values of the one column take the high side."""
        return self._decide(x) > 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return {
            "column": self.column,
            "threshold": self.threshold,
            "above": self.above,
            "levels": None if self.levels is None else [list(codes) for codes in self.levels],
            "missing_left": self.missing_left,
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild a rule."""
        levels = d["levels"]
        return cls(
            column=int(d["column"]),
            threshold=None if d["threshold"] is None else float(d["threshold"]),
            above=bool(d["above"]),
            levels=None if levels is None else (tuple(levels[0]), tuple(levels[1])),
            missing_left=bool(d["missing_left"]),
        )

    def describe(
        self, names: Sequence[str], levels: Sequence[Sequence[str] | None] | None = None
    ) -> str:
        """Say which rows go left; with the level names if they are given."""
        return condition_text(self.condition(">"), named_columns(names, levels), WORDS)

    def describe_right(
        self, names: Sequence[str], levels: Sequence[Sequence[str] | None] | None = None
    ) -> str:
        """Say which rows go right."""
        return condition_text(self.condition("<="), named_columns(names, levels), WORDS)

    def condition(self, comparison: Comparison, cut: float = 0.0) -> AnyOf:
        """Return the values of the one column whose decision value compares so with a cut."""
        holds = HOLDS[comparison]
        missing = holds(1.0 if self.missing_left else -1.0, cut)
        if self.levels is not None:
            values = self._levels_that(holds(1.0, cut), holds(-1.0, cut), missing)
        elif self.threshold is None:
            some = holds(1.0 if self.above else -1.0, cut)
            values = Values(missing=missing) if some else Values.nothing(missing=missing)
        elif self.above:
            values = Values.number(comparison, self.threshold + cut, missing=missing)
        else:
            values = Values.number(MIRRORED[comparison], self.threshold - cut, missing=missing)
        return AnyOf(({self.column: values},))

    def _levels_that(self, left: bool, right: bool, missing: bool) -> Values:
        """Allow the levels of one side or both; those of neither go with the missing values."""
        assert self.levels is not None
        sides = zip(self.levels, (left, right), strict=True)
        named = [code for codes, wanted in sides if wanted != missing for code in codes]
        return Values(levels=frozenset(named), all_but=missing, missing=missing)

    def column_test(self) -> ColumnTest:
        """Return the test as plain data, from which trees of stumps make one table."""
        return ColumnTest(self.column, self.threshold, self.above, self.levels, self.missing_left)

    def credit(self) -> dict[int, float]:
        """Give the whole gain to the one column."""
        return {self.column: 1.0}

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.plugins.onnx_rules import stump

        return stump(graph, self)


_LARGEST = float(np.finfo(np.float64).max)

COMPILED_FROM = 1_000_000
"""Values of X (rows times columns) from which the compiled kernel is worth loading."""


class Stump(SplitLearner):
    """Split on one column: the exact best threshold, or the exact best subset of levels.

    Missing values go to the side where they do more good.

    Parameters
    ----------
    discount_levels : bool
        Whether the gain of a factor is reduced, before columns are compared, by what so many
        levels gain by chance; else a factor of many levels is chosen even if it means nothing.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> label = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> rule = Stump().fit(X, label, np.ones(4), rng=np.random.default_rng(0))
    >>> rule.describe(["x"])
    'x > 2.5'
    """

    description: ClassVar[str] = "one threshold on one column, or the best subset of levels"
    rule: ClassVar[type[SplitRule]] = StumpRule
    takes_missing: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True
    takes_monotone = True
    exports_onnx: ClassVar[bool] = True
    discount_levels: bool = True

    def __init__(self, discount_levels: bool = True) -> None:
        self.discount_levels = flag("discount_levels", discount_levels, of=self)

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
        levels: Sequence[int] | None = None,
        monotone: Sequence[int] = (),
    ) -> StumpRule | None:
        """Find the stump with the smallest weighted error."""
        n, p = X.shape
        kinds = tuple(levels) if levels is not None else (0,) * p
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        kernel = ExactStumps(columns, kinds, monotone, self.discount_levels)
        whole = Layer(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
        found = kernel.search(ScoredLayer.of(whole, label * weight, weight, "sum", 1))
        cut = found.cut[0]
        return None if cut is None else rule_of(cut, int(found.column[0]), n)

    def prepare(self, data: TrainingMatrix) -> StumpSplitter:
        """Sort or bin the columns once for the whole tree."""
        large = data.X.size >= COMPILED_FROM and numba_works()
        kind = HistogramSplitter if large else StumpSplitter
        return kind(data, self.discount_levels)


def rule_of(cut: Cut, column: int, n: int) -> StumpRule:
    """Make a rule of the best cut of a node of n rows.

    Missing values go where the cut sends them; if the node had none, they go with the majority.
    """
    missing_left = 2 * cut.n_left > n if cut.missing_left is None else cut.missing_left
    if cut.levels is not None:
        return StumpRule(column, levels=cut.levels, missing_left=missing_left)
    if math.isnan(cut.high):
        return StumpRule(column, None, above=cut.low_is_left, missing_left=missing_left)
    threshold = between(cut.low, cut.high, cut.low_is_left)
    return StumpRule(column, threshold, above=not cut.low_is_left, missing_left=missing_left)


class StumpSplitter(Splitter):
    """Stumps for all nodes of a layer in one pass over the columns: exact, in NumPy."""

    def __init__(self, data: TrainingMatrix, discount_levels: bool = True) -> None:
        self.data, self.discount_levels = data, discount_levels
        self.kernel: StumpKernel | None = None

    def prepare_kernel(self, ranks: Ranks) -> StumpKernel:
        """Sort the columns."""
        columns = np.ascontiguousarray(self.data.X[ranks.row].T, dtype=np.float64)
        return ExactStumps(columns, self.data.levels, self.data.monotone, self.discount_levels)

    def split(self, task: LayerTask) -> LayerSplits:
        """Search every column once for the whole layer."""
        ranks, layer = task.ranks, task.layer
        if self.kernel is None:
            self.kernel = self.prepare_kernel(ranks)
        found = self.kernel.search(
            ScoredLayer.of(
                layer,
                task.score,
                None if ranks.unweighted else ranks.weight[layer.position],
                task.objective,
                task.min_leaf,
            )
        )
        sizes = layer.sizes.tolist()
        splits = [
            None if cut is None else Split(rule_of(cut, column, n))
            for cut, column, n in zip(found.cut, found.column.tolist(), sizes, strict=True)
        ]
        return LayerSplits(splits, found.left)


class HistogramSplitter(StumpSplitter):
    """Stumps for all nodes of a layer from histograms of binned columns: compiled, threaded."""

    def __init__(self, data: TrainingMatrix, discount_levels: bool = True) -> None:
        super().__init__(data, discount_levels)
        self.threads = Threads(data.n_jobs)

    def prepare_kernel(self, ranks: Ranks) -> StumpKernel:
        """Bin the columns, or take them as another fit on the same matrix has binned them."""
        from crank.kernels.binning import bin_matrix
        from crank.kernels.histogram import HistogramStumps

        X, levels, shared = self.data.X, self.data.levels, self.data.shared
        if "stump: binned" not in shared:
            shared["stump: binned"] = bin_matrix(X, levels, ranks.row, self.threads)
        return HistogramStumps(
            X,
            shared["stump: binned"],
            levels,
            ranks.row,
            self.threads,
            self.data.monotone,
            self.discount_levels,
        )

    def passes(self, ranks: Ranks) -> Passes:
        """Compile the grower's own work as well."""
        from crank.growing.compiled_passes import CompiledPasses

        return CompiledPasses(ranks, self.threads)

    def close(self) -> None:
        """End the threads."""
        self.threads.close()
