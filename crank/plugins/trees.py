"""The rule of trees: one classification tree or a sum of many, as plain arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.kernels.compiler import numba_works
from crank.kernels.routing import LANES
from crank.plugins import fields
from crank.plugins.base import FloatArray, SplitRule
from crank.plugins.rbf import largest_shares
from crank.plugins.standardise import row_blocks

if TYPE_CHECKING:
    from crank.export.onnx_graph import Graph

Box = dict[int, tuple[float, float]]
"""Bounds by column: above the first, up to the second."""
BLOCK_VALUES = 2**17
COMPILED_STEPS = 2**23
"""Comparisons from which on loading the compiled kernel repays."""
COMPILED_STEPS_LOADED = 2**14
"""The same if numba has been loaded anyway."""


@dataclass(frozen=True, eq=False)
class TreesRule(SplitRule):
    """Sum over trees of the value of the leaf that a row falls into.

    Nodes of all trees are numbered together, children after their parents. A leaf is its own
    child, so that rows can descend in step.

    Attributes
    ----------
    feature, threshold : ndarray of shape (nodes,)
        A row with ``x[feature] <= threshold`` takes the low branch.
    low, high : ndarray of int, shape (nodes,)
    missing_low : ndarray of bool, shape (nodes,)
        Branch of a missing value.
    value : ndarray of shape (nodes,)
        Of the leaves; 0 elsewhere.
    roots : ndarray of int, shape (trees,)
    share : dict
        Credit of each column.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.float64]
    low: NDArray[np.intp]
    high: NDArray[np.intp]
    missing_low: NDArray[np.bool_]
    value: NDArray[np.float64]
    roots: NDArray[np.intp]
    share: dict[int, float]

    @cached_property
    def depths(self) -> NDArray[np.intp]:
        """Comparisons on the longest way from each root to a leaf."""
        low, high = self.low.tolist(), self.high.tolist()
        height = [0] * len(low)
        for node in reversed(range(len(low))):
            if low[node] != node:
                height[node] = 1 + max(height[low[node]], height[high[node]])
        return np.array(height, dtype=np.intp)[self.roots]

    @property
    def depth(self) -> int:
        """Comparisons on the longest way of all."""
        return int(self.depths.max(initial=0))

    @cached_property
    def _narrow(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Columns, and for each node the next if not above, if above, if missing."""
        absent = np.where(self.missing_low, self.low, self.high)
        child = np.column_stack((self.low, self.high, absent)).ravel()
        return self.feature.astype(np.uint32), child.astype(np.uint32)

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Sum the leaf values in the order of the trees."""
        return self._evaluate(X, np.arange(len(X)))

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Read only the values that the trees ask for."""
        return self._evaluate(X, rows)

    def _evaluate(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        steps = len(rows) * len(self.roots) * self.depth
        many = COMPILED_STEPS_LOADED if "numba" in sys.modules else COMPILED_STEPS
        known = X.dtype in (np.float32, np.float64)
        if steps >= many and len(rows) >= LANES and known and numba_works():
            return self.descend_compiled(X, rows)
        return self.descend(X, rows)

    def descend_compiled(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Walk rows, at least `LANES`, down tree by tree; the same sums, bit for bit."""
        from crank.plugins.trees_compiled import descent

        feature, child = self._narrow
        total = np.empty(len(rows))
        descent(X.dtype.name)(
            X,
            rows,
            feature,
            self.threshold,
            child,
            self.value,
            self.roots,
            self.depths,
            total,
        )
        return total

    def descend(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Walk all rows down all trees in step; the oracle of the compiled kernel."""
        total = np.empty(len(rows))
        for block in row_blocks(len(rows), max(1, BLOCK_VALUES // max(1, len(self.roots)))):
            row = rows[block]
            node = np.repeat(self.roots[:, None], len(row), axis=1)
            for _ in range(self.depth):
                x = X[row, self.feature[node]]
                goes_low = np.where(np.isnan(x), self.missing_low[node], x <= self.threshold[node])
                node = np.where(goes_low, self.low[node], self.high[node])
            # cumsum adds in order of the trees for any number of rows; sum would not
            total[block] = np.cumsum(self.value[node], axis=0)[-1]
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as JSON types."""
        return {
            "kind": "trees",
            "feature": self.feature.tolist(),
            "threshold": self.threshold.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "missing_low": self.missing_low.astype(int).tolist(),
            "value": self.value.tolist(),
            "roots": self.roots.tolist(),
            "share": [[j, s] for j, s in sorted(self.share.items())],
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild a rule; arrays that are no trees are refused."""
        feature = fields.indices(d, "feature")
        n = len(feature)
        threshold, value = (fields.numbers(d, name, n) for name in ("threshold", "value"))
        low, high = (fields.indices(d, name, n, n) for name in ("low", "high"))
        missing_low = fields.indices(d, "missing_low", 2, n).astype(bool)
        roots = fields.indices(d, "roots", n)
        own = np.arange(n)
        leaf = low == own
        later = (low > own) & (high > own)
        parents = np.bincount(np.concatenate((low[~leaf], high[~leaf], roots)), minlength=n)
        sound = bool(np.where(leaf, high == own, later).all()) and bool(len(roots))
        if not sound or (parents > 1).any():
            raise DataError(
                "'low' and 'high' of a stored rule form no trees. "
                "Allowed: children after their one parent; a leaf is its own child."
            )
        pairs = fields.table(d, "share", 2)
        share = {int(j): float(s) for j, s in pairs}
        return cls(feature, threshold, low, high, missing_low, value, roots, share)

    def describe(self, names: Sequence[str]) -> str:
        """Write a single tree as a short rule; of many trees name the columns that matter most."""
        return self._side(names, left=True)

    def describe_right(self, names: Sequence[str]) -> str:
        """Write the other side in the same way."""
        return self._side(names, left=False)

    def _side(self, names: Sequence[str], left: bool) -> str:
        if len(self.roots) > 1:
            many = f"{len(self.roots)} trees({largest_shares(self.share, names)})"
            return f"{many} {'>' if left else '≤'} 0"
        boxes = self._boxes(int(self.roots[0]), {}, left)
        shown = [_box_text(box, names) for box in boxes[:3]]
        if len(boxes) > 3:
            shown.append(f"… ({len(boxes) - 3} more)")
        return " or ".join(shown) or "never"

    def _boxes(self, node: int, box: Box, left: bool) -> list[Box]:
        """Collect the boxes of a branch that go to one side."""
        low, high = int(self.low[node]), int(self.high[node])
        if low == node:
            return [box] if (self.value[node] > 0.0) == left else []
        j, t = int(self.feature[node]), float(self.threshold[node])
        floor, ceiling = box.get(j, (-np.inf, np.inf))
        below = {**box, j: (floor, min(t, ceiling))}
        above = {**box, j: (max(t, floor), ceiling)}
        parts = self._boxes(low, below, left), self._boxes(high, above, left)
        if parts == ([below], [above]):  # the cut does not change the side
            return [box]
        return parts[0] + parts[1]

    def credit(self) -> dict[int, float]:
        """Share the gain in proportion to what each column's cuts gained inside the rule."""
        return dict(self.share)

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.export.onnx_rules import trees

        return trees(graph, self)


def _box_text(box: Box, names: Sequence[str]) -> str:
    terms = []
    for j, (floor, ceiling) in box.items():
        if ceiling == np.inf:
            terms.append(f"{names[j]} > {floor:.6g}")
        elif floor == -np.inf:
            terms.append(f"{names[j]} ≤ {ceiling:.6g}")
        else:
            terms.append(f"{floor:.6g} < {names[j]} ≤ {ceiling:.6g}")
    return " & ".join(terms) or "always"


def shares(feature: NDArray[np.intp], gain: NDArray[np.float64]) -> dict[int, float]:
    """Sum the gains of cuts by column and scale them to 1; empty if nothing was gained.

    Examples
    --------
    >>> import numpy as np
    >>> shares(np.array([2, 0, 2]), np.array([1.0, 2.0, 5.0]))
    {0: 0.25, 2: 0.75}
    """
    if not len(feature):
        return {}
    by_column = np.bincount(feature, np.maximum(gain, 0.0))
    total = by_column.sum()
    if not 0.0 < total < np.inf:
        return {}
    return {int(j): float(by_column[j] / total) for j in np.flatnonzero(by_column)}
