"""The fitted model: a frozen record whose short methods call the functions that do the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec
from crank.design.table import Table
from crank.errors import DataError, OptionError
from crank.options import TreeOptions, one_of, whole
from crank.plugins.base import FloatArray
from crank.provenance import LearnerInfo, TrainingInfo
from crank.prune import PruningPath
from crank.tree import Metric, Tree
from crank.validate import Validation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from crank.diagnose import Diagnosis
    from crank.report.summary import Summary

PREDICTIONS = ("score", "leaf", "quantile", "median")


@dataclass(frozen=True, repr=False)
class RankingModel:
    """An oriented ranking tree with its formula; made by `crank.fit`, never changed afterwards.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    tree : Tree
    pruning : PruningPath
        Of the tree as grown.
    options : TreeOptions
    learner : LearnerInfo
    training : TrainingInfo
    validation : Validation or None
        What cross-validation said; None if none was run.
    pruned_by : str
        How the tree came to its size, in words.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> print(m.rules())
    leaf 0: score 4, n = 15: x > 0.507435
    leaf 1: score 3, n = 32: x > 0.46398 & x <= 0.507435
    leaf 2: score 2, n = 38: x <= 0.46398 & x > 0.419192
    leaf 3: score 1, n = 15: x <= 0.419192
    >>> m.predict({"x": [0.2, 0.9]}).tolist()
    [1.0, 4.0]
    >>> m.prune(n_leaves=2).tree.n_leaves
    2
    """

    formula: str
    response: ResponseSpec
    design: DesignSpec
    tree: Tree
    pruning: PruningPath
    options: TreeOptions
    learner: LearnerInfo
    training: TrainingInfo
    validation: Validation | None = None
    pruned_by: str = field(default="none")

    def design_matrix(
        self, data: Any, *, unknown: Literal["error", "missing"] = "error"
    ) -> FloatArray:
        """Build the design of new data, as it was built in training."""
        one_of("unknown", unknown, ("error", "missing"))
        X = self.design.matrix(Table.read(data), unknown=unknown)
        if not self.learner.takes_missing:
            refuse_missing(X, self.design, self.learner.name)
        return X

    def predict(
        self,
        data: Any,
        type: str = "score",
        *,
        unknown: Literal["error", "missing"] = "error",
    ) -> NDArray[Any]:
        """Rank new data.

        Parameters
        ----------
        data : data frame
            With the raw columns of the formula's right side.
        type : {"score", "leaf", "quantile", "median"}
            The ranking score (higher is better); the leaf, 0 for the best; the mean position of
            the leaf's training responses in their distribution, 0 to 1; their median.
        unknown : {"error", "missing"}
            What to do with a category level that training did not have.

        Returns
        -------
        ndarray of shape (n,)
        """
        one_of("type", type, PREDICTIONS)
        X = self.design_matrix(data, unknown=unknown)
        leaf = self.tree.apply(X, self.options.n_jobs)
        if type == "leaf":
            return leaf
        return self.leaf_values(type)[leaf]

    def leaf_values(self, type: str = "score") -> NDArray[np.float64]:
        """Return what `predict` gives for each leaf, best first."""
        if type == "score":
            return self.tree.scores
        name = {"quantile": "quantile", "median": "y_median"}[type]
        return np.array([getattr(self.tree.nodes[i], name) for i in self.tree.leaves])

    def prune(self, *, alpha: float | None = None, n_leaves: int | None = None) -> RankingModel:
        """Return a smaller model without refitting.

        Parameters
        ----------
        alpha : float
            Price of a leaf in units of the figure: the best subtree at that price.
        n_leaves : int
            The largest subtree of the pruning path with at most so many leaves.
        """
        if (alpha is None) == (n_leaves is None):
            raise OptionError("prune takes either alpha or n_leaves. Give exactly one of them.")
        if n_leaves is not None:
            whole("n_leaves", n_leaves, 1)
            step = self.pruning.step_with_leaves(n_leaves)
            how = f"by hand to n_leaves = {n_leaves}"
        else:
            assert alpha is not None
            if not isinstance(alpha, Real) or not alpha >= 0.0:
                raise OptionError(f"alpha={alpha!r} is not allowed. Allowed: a number from 0 up.")
            step = self.pruning.step_at_alpha(alpha)
            how = f"by hand at alpha = {alpha:g}"
        tree = replace(self.pruning.subtree(step), leaf_order=self.tree.leaf_order)
        # figures of another tree are not figures of this one; the path's are exact
        training = replace(self.training, figures={}, crossvalidated={})
        return replace(self, tree=tree, training=training, pruned_by=how)

    def pruning_path(self) -> pd.DataFrame:
        """Return the pruning table: a row for each subtree, from the largest to the root.

        Columns: alpha (price of a leaf in units of the figure), n_leaves, training, and after
        cross-validation heldout, se and chosen ("cv" for the best, "1se" for the smallest tree
        within one standard error of it).
        """
        from crank.report.tables import pruning_table

        return pruning_table(self.pruning, self.validation)

    def tidy(self) -> pd.DataFrame:
        """Return a row for each leaf, best first.

        Columns: leaf, score, n, share (of the case weight), quantile, y_lower, y_median, y_upper
        (quartiles of y), rule.
        """
        from crank.report.tables import leaf_table

        return leaf_table(self)

    def nodes(self) -> pd.DataFrame:
        """Return a row for each node, in the order in which the tree is printed.

        Columns: node (1 for the root, 2k and 2k + 1 for the children of k), depth, condition (that
        leads from the parent), n, weight, quantile, y_lower, y_median, y_upper, gain_kendall and
        gain_iauc (what the node's split adds to τ and to 2 IAUC − 1), is_leaf, leaf and score
        (missing for inner nodes).
        """
        from crank.report.tables import node_table

        return node_table(self)

    def glance(self) -> pd.DataFrame:
        """Return one row that describes the whole model.

        Columns: formula, n, n_dropped, criterion, learner, depth, n_leaves, leaf_order, pruned;
        iauc, kendall (training) and cv_iauc, cv_kendall (cross-validated), each followed by its
        standard error (…_se); missing where they were not computed.
        """
        from crank.report.tables import glance_table

        return glance_table(self)

    def importance(self, metric: Metric | None = None) -> pd.DataFrame:
        """Return each term's share of what the tree achieves on its training data.

        Columns: term, importance (sums to Kendall's τ of the tree, or to 2 IAUC − 1: theory §5),
        share. Where the leaves are ordered by rank, what that adds to the order from left to right
        has a row of its own.
        """
        from crank.report.tables import importance_table

        return importance_table(self, metric or self.pruning.metric)

    def coefficients(self) -> pd.DataFrame:
        """Return the coefficients of nodes split by a linear learner, with standard errors.

        Columns: node, term, estimate (standardised), std_error, z, pvalue. The errors are robust
        ones within the node and ignore how the tree came to split there.
        """
        from crank.report.tables import coefficient_table

        return coefficient_table(self)

    def rules(self) -> str:
        """Return one line for each leaf, best first."""
        from crank.report.text import rules_text

        return rules_text(self)

    def path(self, row: Any, *, unknown: Literal["error", "missing"] = "error") -> pd.DataFrame:
        """Explain the score of one row, turn by turn.

        Columns: node, condition (that the row meets), turn ("high" or "low"), n, y_median and
        quantile of the node that it enters, best and worst (the scores still possible there).

        Parameters
        ----------
        row : data frame of one row, or a mapping of column names to values
        """
        from crank.report.text import path_table

        if isinstance(row, Mapping):
            row = {name: [value] for name, value in row.items()}
        X = self.design_matrix(row, unknown=unknown)
        if len(X) != 1:
            raise DataError(f"path explains one row; got {len(X)}. Select one, as in df.iloc[[0]].")
        return path_table(self, X)

    def augment(self, data: Any, *, unknown: Literal["error", "missing"] = "error") -> Any:
        """Return the data with columns .score, .leaf, .quantile and .median added.

        A frame of the kind that came in goes out.
        """
        from crank.report.tables import augmented

        return augmented(self, data, unknown)

    def summary(self) -> Summary:
        """Describe the model as R would; print it."""
        from crank.report.summary import summarise

        return summarise(self)

    def evaluate(
        self, data: Any, *, weights: Any = None, alpha: float = 0.05, unknown: Any = "error"
    ) -> pd.DataFrame:
        """Judge the model on data that it has not seen.

        Returns
        -------
        DataFrame
            A row for each of kendall, iauc and iauc_uniform: estimate, se, ci_low, ci_high, n.
        """
        from crank.evaluate import evaluate

        return evaluate(self, data, weights=weights, alpha=alpha, unknown=unknown)

    def diagnose(self, data: Any, **options: Any) -> Diagnosis:
        """Ask whether one order serves all thresholds; see `crank.diagnose.diagnose`."""
        from crank.diagnose import diagnose

        return diagnose(self, data, **options)

    def permutation_importance(self, data: Any, **options: Any) -> pd.DataFrame:
        """Shuffle each column in turn; see `crank.permutation.permutation_importance`."""
        from crank.permutation import permutation_importance

        return permutation_importance(self, data, **options)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree; see `crank.report.plots.plot_tree`."""
        from crank.report.plots import plot_tree

        return plot_tree(self, ax=ax)

    def plot_iroc(self, data: Any, **options: Any) -> Axes:
        """Draw the IROC curve on new data; see `crank.report.plots.plot_iroc`."""
        from crank.report.plots import plot_iroc

        return plot_iroc(self, data, **options)

    def plot_profile(self, data: Any, **options: Any) -> Axes:
        """Draw the AUC at each threshold of y; see `crank.report.plots.plot_profile`."""
        from crank.report.plots import plot_profile

        return plot_profile(self, data, **options)

    def plot_pruning(self, ax: Axes | None = None) -> Axes:
        """Draw the pruning path; see `crank.report.plots.plot_pruning`."""
        from crank.report.plots import plot_pruning

        return plot_pruning(self, ax=ax)

    def plot_leaves(self, data: Any, **options: Any) -> Axes:
        """Draw a boxplot of y for each leaf; see `crank.report.plots.plot_leaves`."""
        from crank.report.plots import plot_leaves

        return plot_leaves(self, data, **options)

    def plot_importance(self, **options: Any) -> Axes:
        """Draw the terms' shares; see `crank.report.plots.plot_importance`."""
        from crank.report.plots import plot_importance

        return plot_importance(self, **options)

    def plot_score(self, feature: str, data: Any, **options: Any) -> Axes:
        """Draw the score over one feature; see `crank.report.plots.plot_score`."""
        from crank.report.plots import plot_score

        return plot_score(self, feature, data, **options)

    def plot_calibration(self, data: Any, **options: Any) -> Axes:
        """Draw the leaves' order on new data; see `crank.report.plots.plot_calibration`."""
        from crank.report.plots import plot_calibration

        return plot_calibration(self, data, **options)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write the model as JSON into a file, or return the text (see `crank.load`)."""
        from crank.export.json import to_json

        return to_json(self, path)

    @classmethod
    def from_json(cls, text: str | bytes) -> RankingModel:
        """Read a model from the text that `to_json` returned."""
        from crank.export.json import from_json

        return from_json(text)

    def to_onnx(self, path: str | Path | None = None, **options: Any) -> bytes | None:
        """Write the model as ONNX into a file, or return its content; see `crank.export.onnx`."""
        from crank.export.onnx import to_onnx

        return to_onnx(self, path, **options)

    def to_sql(self, dialect: str = "duckdb", **options: Any) -> str:
        """Write a stump tree on plain columns as SQL; see `crank.export.sql.to_sql`."""
        from crank.export.sql import to_sql

        return to_sql(self, dialect, **options)

    def __str__(self) -> str:
        from crank.report.text import tree_text

        return tree_text(self)

    def __repr__(self) -> str:
        leaves, kind = self.tree.n_leaves, f"{self.options.criterion} × {self.learner.name}"
        return f"<RankingModel {self.formula!r}: {leaves} leaves, {kind}, n = {self.training.n}>"


def refuse_missing(X: FloatArray, design: DesignSpec, learner: str) -> None:
    """Raise if a learner that takes no missing values would meet some."""
    missing = np.isnan(X)
    if missing.any():
        column = int(np.flatnonzero(missing.any(axis=0))[0])
        raise DataError(
            f"column {design.names[column]!r} is missing in {int(missing[:, column].sum())} of "
            f"{len(X)} rows, and learner {learner!r} takes no missing values. Drop those rows, "
            "fill them, or use a learner that takes them (see crank.learners())."
        )
