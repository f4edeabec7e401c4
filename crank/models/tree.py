"""The tree model: `crank.fit` makes it; its own verbs read rules, paths and the pruning path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import check_alpha, whole
from crank.errors import DataError, OptionError
from crank.models.designed import DesignedModel
from crank.rankers.tree import TreeRanker
from crank.records.base import Unknown
from crank.records.tree import TreeRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, kw_only=True)
class TreeModel(DesignedModel, TreeRecord):
    """An oriented ranking tree with its formula; made by `crank.fit`, never changed afterwards.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    ranker : TreeRanker
        The tree and its history, which `tree`, `pruning`, `options`, `learner`, `validation` and
        `pruned_by` read.
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> print(m.rules())
    leaf 0: score 4, n = 15: x > 0.507435
    leaf 1: score 3, n = 32: 0.46398 < x <= 0.507435
    leaf 2: score 2, n = 38: 0.419192 < x <= 0.46398
    leaf 3: score 1, n = 15: x <= 0.419192
    >>> m.predict({"x": [0.2, 0.9]}).tolist()
    [1.0, 4.0]
    >>> m.prune(n_leaves=2).tree.n_leaves
    2
    """

    ranker: TreeRanker

    def leaf_values(self, type: str = "score") -> NDArray[np.float64]:
        """Return what `predict` gives for each leaf, best first."""
        return self.ranker.leaf_values(type)

    def prune(self, *, alpha: float | None = None, n_leaves: int | None = None) -> TreeModel:
        """Return a smaller model without refitting.

        Parameters
        ----------
        alpha : float
            Price of a leaf in units of the figure: the best subtree at that price.
        n_leaves : int
            The largest subtree of the pruning path with at most so many leaves.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.prune(n_leaves=2).tree.n_leaves
        2
        """
        if (alpha is None) == (n_leaves is None):
            raise OptionError("prune takes either alpha or n_leaves. Give exactly one of them.")
        if n_leaves is not None:
            whole("n_leaves", n_leaves, 1)
            step = self.pruning.step_with_leaves(n_leaves)
            how, then = f"by hand to n_leaves = {n_leaves}", f".prune(n_leaves={n_leaves})"
        else:
            assert alpha is not None
            if not isinstance(alpha, Real) or not alpha >= 0.0:
                raise OptionError(f"alpha={alpha!r} is not allowed. Allowed: a number from 0 up.")
            step = self.pruning.step_at_alpha(alpha)
            how, then = f"by hand at alpha = {alpha:g}", f".prune(alpha={float(alpha)!r})"
        tree = replace(self.pruning.subtree(step), leaf_order=self.tree.leaf_order)
        # figures of another tree are not figures of this one; the path's are exact
        training = replace(self.training, figures={}, crossvalidated={})
        return replace(
            self,
            training=training,
            call=replace(self.asked, then=then),
            ranker=replace(self.ranker, tree=tree, pruned_by=how),
        )

    def pruning_path(self) -> pd.DataFrame:
        """Return the pruning table: a row for each subtree, from the largest to the root.

        Columns: alpha (price of a leaf in units of the figure), n_leaves, training, and after
        cross-validation heldout, se and chosen ("cv" for the best, "1se" for the smallest tree
        within one standard error of it). A tree that was not pruned and has branches that gain
        nothing comes first; it has no price.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.pruning_path()[["n_leaves", "training"]].round(3)
           n_leaves  training
        0         4     0.813
        1         3     0.766
        2         2     0.710
        3         1     0.500
        """
        from crank.report.tables import pruning_table

        return pruning_table(self)

    def nodes(self) -> pd.DataFrame:
        """Return a row for each node, in the order in which the tree is printed.

        Columns: node (1 for the root, 2k and 2k + 1 for the children of k), depth, condition (that
        leads from the parent), n, weight, quantile, y_lower, y_median, y_upper, gain_kendall and
        gain_iauc (what the node's split adds to τ and to 2 IAUC − 1), is_leaf, leaf and score
        (missing for inner nodes).

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.nodes()[["node", "n"]].head(3)
           node    n
        0     1  100
        1     2   47
        2     4   15
        """
        from crank.report.tables import node_table

        return node_table(self)

    def coefficients(self, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return the coefficients of nodes split by a linear learner, with standard errors.

        A row goes to the high side, printed first, if the intercept and the sum of its columns
        times their coefficients are above 0: that is the sign of all coefficients.

        Columns: node, term, estimate (for columns of mean 0 and standard deviation 1), std_error,
        z, pvalue, ci_low, ci_high; original (in the units of the columns), original_low,
        original_high. The errors are robust ones within the node and ignore how the tree came to
        split there; the intercept lies midway between two rows and has none.

        Parameters
        ----------
        alpha : float
            One minus the confidence level of the intervals.

        Raises
        ------
        DataError
            The learner does not split by a weighted sum.
        """
        from crank.report.tables import coefficient_table, no_coefficients

        check_alpha(alpha)
        table = coefficient_table(self, alpha)
        if table.empty:
            raise no_coefficients(self)
        return table

    def node_glm(self, data: Any, node: int, *, weights: Any = None) -> Any:
        """Fit the regression of a logistic node with statsmodels; needs the extra ``stats``.

        It has no penalty, so estimates are larger than those of `coefficients`; columns are in
        their own units, errors robust (HC0). It describes the split: the tree chose its rows.

        Parameters
        ----------
        data : data frame
            The rows that the model was fitted to.
        node : int
            Its number in `nodes`; 1 is the root.
        weights : str or array-like, optional
            Case weights, if the fit had some.

        Returns
        -------
        statsmodels.genmod.generalized_linear_model.GLMResults
            Of whether a row counts as high in its node, weighed by how much it counts.

        Raises
        ------
        DataError
            The node has no logistic regression, its columns separate the two sides, or other rows
            than those of the fit were given.
        """
        from crank.judging.node_glm import node_glm

        return node_glm(self, data, node, weights=weights)

    def rules(self, *, full: bool = False) -> str:
        """Return one line for each leaf, best first: what a row must be like to fall into it.

        A missing value meets a condition only where it says "or missing". That is said of columns
        with missing values in training, and of all with ``full``.

        Parameters
        ----------
        full : bool
            Whether to list all levels, show all digits and say for every column where missing
            values go, so that any row can be sent to its leaf by hand.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> print(m.rules())
        leaf 0: score 4, n = 15: x > 0.507435
        leaf 1: score 3, n = 32: 0.46398 < x <= 0.507435
        leaf 2: score 2, n = 38: 0.419192 < x <= 0.46398
        leaf 3: score 1, n = 15: x <= 0.419192
        """
        from crank.report.text import rules_text

        return rules_text(self, full=full)

    def path(self, row: Any, *, unknown: Unknown = "error") -> pd.DataFrame:
        """Explain the score of one row, split by split.

        Columns: node, condition (that the row meets), side ("high" or "low"), n, y_median and
        quantile of the node that it enters, best and worst (the scores still possible there).

        Parameters
        ----------
        row : data frame of one row, or a mapping of column names to values

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.path(test.frame[:1])[["condition", "side", "n"]]
              condition  side   n
        0  x <= 0.46398   low  53
        1  x > 0.419192  high  38
        """
        from crank.report.text import path_table

        if isinstance(row, Mapping):
            row = {name: [value] for name, value in row.items()}
        X = self.design_matrix(row, unknown=unknown)
        if len(X) != 1:
            raise DataError(f"path explains one row; got {len(X)}. Select one, as in df.iloc[[0]].")
        return path_table(self, X)

    def _refit(self, data: Any) -> None:
        """Leave it to `diagnose`, which grows trees on the rows at hand."""

    def plot(self, ax: Axes | None = None, *, max_depth: int | None = None) -> Axes:
        """Draw the tree; see `crank.report.plots.plot_tree`."""
        from crank.report.plots import plot_tree

        return plot_tree(self, max_depth=max_depth, ax=ax)

    def plot_pruning(self, ax: Axes | None = None) -> Axes:
        """Draw the pruning path; see `crank.report.plots.plot_pruning`."""
        from crank.report.plots import plot_pruning

        return plot_pruning(self, ax=ax)

    def plot_leaves(
        self,
        data: Any,
        *,
        unknown: Unknown = "error",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a boxplot of y for each leaf; see `crank.report.plots.plot_leaves`."""
        from crank.report.plots import plot_leaves

        return plot_leaves(
            self,
            data,
            unknown=unknown,
            ax=ax,
        )

    def plot_calibration(
        self,
        data: Any,
        *,
        alpha: float = 0.05,
        unknown: Unknown = "error",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the leaves' order on new data; see `crank.report.plots.plot_calibration`."""
        from crank.report.plots import plot_calibration

        return plot_calibration(
            self,
            data,
            alpha=alpha,
            unknown=unknown,
            ax=ax,
        )
