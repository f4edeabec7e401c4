"""The tree learner: a small classification tree, so that one node is cut several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of, whole
from crank.kernels.descent import NodeTable
from crank.plugins.base import FloatArray, SplitLearner, SplitRule
from crank.plugins.trees import TreesRule, shares

if TYPE_CHECKING:
    from collections.abc import Iterator

TIED = 1e-9
"""A mean label nearer to 0 than this is a tie."""


class ClassificationTree(SplitLearner):
    """Split by a small classification tree: rows go left where its leaf has more high labels.

    scikit-learn grows the tree. It sees the ranks of the values, not the values, because it works
    in single precision: so any scale will do, and thresholds lie midway between neighbouring
    values in double. A missing value takes the branch that scikit-learn learned for it. Directions
    of columns (``monotone=`` of a fit) are scikit-learn's ``monotonic_cst``.

    Parameters
    ----------
    max_depth : int
        Cuts on the longest way through the tree.
    min_samples_leaf : int
        Fewest rows in a leaf of the tree.
    criterion : {"gini", "entropy", "log_loss"}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> label = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    >>> learner = ClassificationTree(max_depth=2)
    >>> learner.fit(X, label, np.ones(8), rng=np.random.default_rng(0)).describe(["x"])
    '1.5 < x <= 4.5 or missing'
    """

    description: ClassVar[str] = "a small classification tree: several cuts in one node"
    rule: ClassVar[type[SplitRule]] = TreesRule
    takes_missing: ClassVar[bool] = True
    takes_monotone = True
    exports_onnx: ClassVar[bool] = True

    def __init__(
        self, max_depth: int = 3, min_samples_leaf: int = 1, criterion: str = "gini"
    ) -> None:
        self.max_depth = whole("max_depth", max_depth, 1, of=self)
        self.min_samples_leaf = whole("min_samples_leaf", min_samples_leaf, 1, of=self)
        allowed = ("gini", "entropy", "log_loss")
        self.criterion = one_of("criterion", criterion, allowed, of=self)

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
        monotone: Sequence[int] = (),
    ) -> TreesRule | None:
        """Grow the tree on the rows of a node."""
        from sklearn.tree import DecisionTreeClassifier

        ranks = value_ranks(X)
        # a fixed seed: it only decides between columns that cut equally well
        grown = DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            criterion=self.criterion,
            random_state=0,
            monotonic_cst=list(monotone) if any(monotone) else None,
        ).fit(ranks, label, sample_weight=weight)
        if grown.tree_.node_count == 1:
            return None
        return tree_rule(grown.tree_, ranks, X, label, weight, monotone=any(monotone))


def value_ranks(X: FloatArray) -> NDArray[np.float32]:
    """Replace the values of each column by their dense ranks; missing values stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> value_ranks(np.array([[1e-30], [np.nan], [5.0], [1e-30]])).ravel().tolist()
    [0.0, nan, 1.0, 0.0]
    """
    ranks = np.empty(X.shape, dtype=np.float32)
    for j in range(X.shape[1]):
        x = X[:, j]
        ranks[:, j] = np.unique(x, return_inverse=True)[1]
        ranks[np.isnan(x), j] = np.nan
    return ranks


def tree_rule(
    tree: Any,
    ranks: NDArray[np.float32],
    X: FloatArray,
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    monotone: bool = False,
) -> TreesRule:
    """Make arrays over values of scikit-learn's tree over ranks.

    In a monotone tree the leaves keep scikit-learn's figures, which it holds within the bounds of
    the cuts above them; others have the mean label of their rows.
    """
    n = tree.node_count
    leaf = tree.children_left < 0
    own = np.arange(n)
    feature = np.where(leaf, 0, tree.feature).astype(np.intp)
    threshold, gain = np.zeros(n), np.zeros(n)
    mean = np.zeros(n)
    for node, parent, rows in _members(tree, ranks):
        here = weight[rows]
        mean[node] = float(here @ label[rows]) / float(here.sum())
        if leaf[node]:
            if monotone:
                # classes are sorted, the first is −1; a tie is the highest of the low side
                mean[node] = 1.0 - 2.0 * float(tree.value[node, 0, 0])
                mean[node] = -TIED if abs(mean[node]) < TIED else mean[node]
            elif abs(mean[node]) < TIED:
                # a tied leaf stays on its parent's side; a tied parent means the low side
                mean[node] = mean[parent] / 2.0 if abs(mean[parent]) >= TIED else -0.5
            continue
        x = X[rows, feature[node]]
        below = ranks[rows, feature[node]] <= tree.threshold[node]
        threshold[node] = _midway(x, below)
        gain[node] = _gain(tree, node)
    nodes = NodeTable(
        feature,
        threshold,
        np.where(leaf, own, tree.children_left),
        np.where(leaf, own, tree.children_right),
        tree.missing_go_to_left.astype(bool) & ~leaf,
        np.where(leaf, mean, 0.0),
        np.zeros(1, dtype=np.intp),
    )
    return TreesRule(nodes, shares(feature[~leaf], gain[~leaf]))


def _members(tree: Any, ranks: NDArray[np.float32]) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
    """Visit the nodes, parents first, each with its parent and its training rows."""
    stack = [(0, 0, np.arange(len(ranks)))]
    while stack:
        node, parent, rows = stack.pop()
        yield node, parent, rows
        if tree.children_left[node] >= 0:
            x = ranks[rows, tree.feature[node]]
            low = np.where(np.isnan(x), tree.missing_go_to_left[node], x <= tree.threshold[node])
            low = low.astype(bool)
            stack.append((int(tree.children_right[node]), node, rows[~low]))
            stack.append((int(tree.children_left[node]), node, rows[low]))


def _midway(x: NDArray[Any], below: NDArray[np.bool_]) -> float:
    """Return the threshold of a cut; without values above it, one that none exceeds."""
    above = ~below & ~np.isnan(x)
    lowest = float(x[above].min()) if above.any() else np.inf
    largest = float(x[below].max()) if below.any() else -np.inf
    if np.isinf(lowest) or np.isinf(largest):  # the cut parts missing values from all others
        return np.finfo(np.float64).max if np.isinf(lowest) else -np.finfo(np.float64).max
    middle = largest / 2.0 + lowest / 2.0
    return middle if middle < lowest else largest


def _gain(tree: Any, node: int) -> float:
    """Return the decrease of impurity at a node, in units of weight."""
    parts = (node, tree.children_left[node], tree.children_right[node])
    whole_, low, high = (tree.weighted_n_node_samples[i] * tree.impurity[i] for i in parts)
    return float(whole_ - low - high)
