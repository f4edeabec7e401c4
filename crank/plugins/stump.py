"""The stump learner: one threshold on one column, or the best subset of one factor's levels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crank.kernels.compiler import numba_works
from crank.kernels.cuts import Cut, Level, ScoredLevel, between
from crank.kernels.routing import ColumnTest
from crank.kernels.stumps import ExactStumps, StumpKernel
from crank.kernels.threads import Threads
from crank.passes import Passes
from crank.plugins.base import FloatArray, SplitLearner, SplitRule, TrainingMatrix
from crank.ranks import Ranks
from crank.splitter import LevelSplits, LevelTask, Splitter
from crank.tree import Split

if TYPE_CHECKING:
    from crank.export.onnx_graph import Graph


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
        name = names[self.column]
        if self.levels is not None:
            known = None if levels is None else levels[self.column]
            codes = [str(c) if known is None else str(known[c]) for c in self.levels[0]]
            return f"{name} in {{{', '.join(codes)}}}" if codes else f"{name} is missing"
        if self.threshold is None:
            return f"{name} is {'missing' if self.missing_left else 'not missing'}"
        return f"{name} {'>' if self.above else '<'} {self.threshold:.6g}"

    def describe_right(
        self, names: Sequence[str], levels: Sequence[Sequence[str] | None] | None = None
    ) -> str:
        """Say which rows go right."""
        if self.levels is not None:
            other = replace(self, levels=self.levels[::-1], missing_left=not self.missing_left)
            return other.describe(names, levels)
        if self.threshold is None:
            return replace(self, missing_left=not self.missing_left).describe(names)
        return f"{names[self.column]} {'<=' if self.above else '>='} {self.threshold:.6g}"

    def topic(self, *, left: bool) -> Hashable:
        """Tell levels, missing values, lower and upper bounds of a column apart."""
        if self.levels is not None or self.threshold is None:
            return self.column, self.levels is not None
        return self.column, "above" if self.above == left else "below"

    def column_test(self) -> ColumnTest:
        """Return the test as plain data, from which trees of stumps make one table."""
        return ColumnTest(self.column, self.threshold, self.above, self.levels, self.missing_left)

    def credit(self) -> dict[int, float]:
        """Give the whole gain to the one column."""
        return {self.column: 1.0}

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.export.onnx_rules import stump

        return stump(graph, self)


_LARGEST = float(np.finfo(np.float64).max)

COMPILED_FROM = 1_000_000
"""Values of X (rows times columns) from which the compiled kernel is worth loading."""


class Stump(SplitLearner):
    """Split on one column: the exact best threshold, or the exact best subset of levels.

    Missing values go to the side where they do more good.

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
    exports_onnx: ClassVar[bool] = True

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
        levels: Sequence[int] | None = None,
    ) -> StumpRule | None:
        """Find the stump with the smallest weighted error."""
        n, p = X.shape
        kinds = tuple(levels) if levels is not None else (0,) * p
        kernel = ExactStumps(np.ascontiguousarray(X.T, dtype=np.float64), kinds)
        whole = Level(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
        found = kernel.search(ScoredLevel.of(whole, label * weight, weight, "sum", 1))
        cut = found.cut[0]
        return None if cut is None else rule_of(cut, int(found.column[0]), n)

    def prepare(self, data: TrainingMatrix) -> StumpSplitter:
        """Sort or bin the columns once for the whole tree."""
        large = data.X.size >= COMPILED_FROM and numba_works()
        return HistogramSplitter(data) if large else StumpSplitter(data)


def rule_of(cut: Cut, column: int, n: int) -> StumpRule:
    """Turn the best cut of a node of n rows into a rule.

    Missing values go where the cut puts them; if the node had none, they go with the majority.
    """
    missing_left = 2 * cut.n_left > n if cut.missing_left is None else cut.missing_left
    if cut.levels is not None:
        return StumpRule(column, levels=cut.levels, missing_left=missing_left)
    if math.isnan(cut.high):
        return StumpRule(column, None, above=cut.low_is_left, missing_left=missing_left)
    threshold = between(cut.low, cut.high, cut.low_is_left)
    return StumpRule(column, threshold, above=not cut.low_is_left, missing_left=missing_left)


class StumpSplitter(Splitter):
    """Stumps for all nodes of a level in one pass over the columns: exact, in NumPy."""

    def __init__(self, data: TrainingMatrix) -> None:
        self.data = data
        self.kernel: StumpKernel | None = None

    def prepare_kernel(self, ranks: Ranks) -> StumpKernel:
        """Sort the columns."""
        columns = np.ascontiguousarray(self.data.X[ranks.row].T, dtype=np.float64)
        return ExactStumps(columns, self.data.levels)

    def split(self, task: LevelTask) -> LevelSplits:
        """Search every column once for the whole level."""
        ranks, level = task.ranks, task.level
        if self.kernel is None:
            self.kernel = self.prepare_kernel(ranks)
        found = self.kernel.search(
            ScoredLevel.of(
                level,
                task.score,
                None if ranks.unweighted else ranks.weight[level.position],
                task.objective,
                task.min_leaf,
            )
        )
        sizes = level.sizes.tolist()
        splits = [
            None if cut is None else Split(rule_of(cut, column, n))
            for cut, column, n in zip(found.cut, found.column.tolist(), sizes, strict=True)
        ]
        return LevelSplits(splits, found.left)


class HistogramSplitter(StumpSplitter):
    """Stumps for all nodes of a level from histograms of binned columns: compiled, threaded."""

    def __init__(self, data: TrainingMatrix) -> None:
        super().__init__(data)
        self.threads = Threads(data.n_jobs)

    def prepare_kernel(self, ranks: Ranks) -> StumpKernel:
        """Bin the columns, or take them as another fit on the same matrix has binned them."""
        from crank.kernels.binning import bin_matrix
        from crank.kernels.histogram import HistogramStumps

        X, levels, shared = self.data.X, self.data.levels, self.data.shared
        if "stump: binned" not in shared:
            shared["stump: binned"] = bin_matrix(X, levels, ranks.row, self.threads)
        return HistogramStumps(X, shared["stump: binned"], levels, ranks.row, self.threads)

    def passes(self, ranks: Ranks) -> Passes:
        """Compile the grower's own work as well."""
        from crank.compiled_passes import CompiledPasses

        return CompiledPasses(ranks, self.threads)

    def close(self) -> None:
        """End the threads."""
        self.threads.close()
