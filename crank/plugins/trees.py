"""The rule of trees: one classification tree or a sum of many, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.growing.conditions import HOLDS, AnyOf, Box, Comparison, Values
from crank.growing.wording import WORDS, condition_text, named_columns
from crank.kernels.descent import GOES_HIGH, GOES_LOW, NodeTable
from crank.plugins import fields
from crank.plugins.base import FloatArray, Levels, SplitRule
from crank.plugins.level_words import level_words, read_level_words
from crank.plugins.rbf import largest_shares

if TYPE_CHECKING:
    from crank.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class TreesRule(SplitRule):
    """Sum over trees of the value of the leaf that a row falls into.

    Attributes
    ----------
    nodes : NodeTable
        All trees. A node of categories (of a learner with ``takes_categories``) says of each
        level where it goes; levels that it does not know go where missing values go.
    share : dict
        Credit of each column.

    Examples
    --------
    >>> import crank
    >>> data = crank.datasets.regression(60, p=5, random_state=0)
    >>> m = crank.fit(data.frame, "y ~ x1 + x2", learner="tree", max_depth=1, prune=None)
    >>> rule = m.tree.nodes[0].split.rule
    >>> type(rule).__name__, rule.decision(m.design_matrix(data.frame)).shape
    ('TreesRule', (60,))
    """

    nodes: NodeTable
    share: dict[int, float]

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Sum the leaf values in the order of the trees."""
        return self.nodes.sum(X).astype(np.float64, copy=False)

    def decision_at(self, X: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Read only the values that the trees ask for."""
        return self.nodes.sum(X, rows).astype(np.float64, copy=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as JSON types."""
        nodes = self.nodes
        stored = {
            "kind": "trees",
            "feature": nodes.column.tolist(),
            "threshold": nodes.threshold.tolist(),
            "low": nodes.low.tolist(),
            "high": nodes.high.tolist(),
            "missing_low": nodes.missing_low.astype(int).tolist(),
            "value": nodes.value.tolist(),
            "roots": nodes.roots.tolist(),
            "share": [[j, s] for j, s in sorted(self.share.items())],
        }
        levels = {"levels": level_words(nodes)} if len(nodes.level_branch) else {}
        return stored | levels

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """Rebuild a rule; arrays that are no trees are refused."""
        feature = fields.indices(d, "feature")
        n = len(feature)
        threshold, value = (fields.numbers(d, name, n) for name in ("threshold", "value"))
        low, high = (fields.indices(d, name, n, n) for name in ("low", "high"))
        missing_low = fields.indices(d, "missing_low", 2, n).astype(bool)
        roots = fields.indices(d, "roots", n)
        sets = read_level_words(d.get("levels", []), n)
        try:
            nodes = NodeTable(feature, threshold, low, high, missing_low, value, roots, *sets)
        except ValueError as error:
            raise DataError(f"'low', 'high' and 'roots' of a stored rule: {error}") from error
        pairs = fields.table(d, "share", 2)
        share = {int(j): float(s) for j, s in pairs}
        return cls(nodes, share)

    def describe(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Write a single tree as a short rule; of many trees name the columns that matter most."""
        return self._side(names, levels, left=True)

    def describe_right(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Write the other side in the same way."""
        return self._side(names, levels, left=False)

    def _side(self, names: Sequence[str], levels: Levels | None, left: bool) -> str:
        found = self.condition(">" if left else "<=")
        if found is not None:
            return condition_text(found, named_columns(names, levels), WORDS)
        many = f"{len(self.nodes.roots)} trees({largest_shares(self.share, names)})"
        return f"{many} {'>' if left else '<='} 0"

    def condition(self, comparison: Comparison, cut: float = 0.0) -> AnyOf | None:
        """Return the boxes of a single tree whose value compares so with a cut."""
        if len(self.nodes.roots) > 1:
            return None
        holds = HOLDS[comparison]
        wanted = [holds(value, cut) for value in self.nodes.value.tolist()]
        return AnyOf(tuple(self._boxes(int(self.nodes.roots[0]), {}, wanted)))

    def _boxes(self, node: int, box: dict[int, Values], wanted: Sequence[bool]) -> list[Box]:
        """Collect the boxes of a branch whose leaves are wanted."""
        low, high = int(self.nodes.low[node]), int(self.nodes.high[node])
        if low == node:
            empty = any(v.no_number and not v.missing for v in box.values())
            return [box] if wanted[node] and not empty else []
        j, below, above = int(self.nodes.column[node]), *self._cut(node)
        so_far = box.get(j, Values())
        under, over = {**box, j: so_far & below}, {**box, j: so_far & above}
        parts = self._boxes(low, under, wanted), self._boxes(high, over, wanted)
        if parts == ([under], [over]):  # the cut does not change the side
            return [box]
        return parts[0] + parts[1]

    def _cut(self, node: int) -> tuple[Values, Values]:
        """Return what takes the low branch of a node, and what the high one."""
        nodes = self.nodes
        threshold, missing_low = float(nodes.threshold[node]), bool(nodes.missing_low[node])
        branch = nodes.branches_of(node)
        if len(branch):
            # levels that are not known go with the missing values: name the others
            named = frozenset(
                np.flatnonzero(branch == (GOES_HIGH if missing_low else GOES_LOW)).tolist()
            )
            low = Values(levels=named, all_but=missing_low, missing=missing_low)
            return low, replace(low, all_but=not missing_low, missing=not missing_low)
        if abs(threshold) == np.finfo(np.float64).max:  # missing values against all others
            both = Values.nothing(missing=missing_low), Values(missing=not missing_low)
            rest = Values(missing=missing_low), Values.nothing(missing=not missing_low)
            return rest if threshold > 0.0 else both
        return (
            Values.number("<=", threshold, missing=missing_low),
            Values.number(">", threshold, missing=not missing_low),
        )

    def credit(self) -> dict[int, float]:
        """Share the gain in proportion to what each column's cuts gained inside the rule."""
        return dict(self.share)

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the rule to an ONNX graph."""
        from crank.plugins.onnx_rules import trees

        return trees(graph, self)


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
