"""The forest model: `crank.forest` makes it; its own verbs read trees, quantiles, proximities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import whole
from crank.errors import DataError, OptionError
from crank.frames.table import Table
from crank.models.designed import DesignedModel
from crank.rankers.forest import ForestRanker
from crank.records.base import Unknown
from crank.records.forest import ForestRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_CELLS = 10**8
"""Entries of a matrix of proximities."""


@dataclass(frozen=True, repr=False, kw_only=True)
class ForestModel(DesignedModel, ForestRecord):
    """A ranking forest with its formula; made by `crank.forest`, never changed afterwards.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    ranker : ForestRanker
        Trees, votes and out-of-bag figures.
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.forest(train.frame, "y ~ x", n_trees=20)
    >>> m
    <ForestModel 'y ~ x': 20 trees, n = 100>
    >>> m.quantiles(test.frame, [0.1, 0.9]).shape
    (2000, 2)
    """

    ranker: ForestRanker

    def quantiles(
        self, data: Any, shares: Sequence[float] = (0.05, 0.5, 0.95), *, unknown: Unknown = "error"
    ) -> NDArray[np.float64]:
        """Return quantiles of y given the row: of one response from each of the row's leaves.

        A leaf keeps one of its training responses, drawn by weight; over many trees these are a
        sample of what rows like this one had (as in Meinshausen's quantile regression forests).

        Parameters
        ----------
        data : data frame
        shares : sequence of float
            From 0 to 1.
        unknown : {"error", "missing"}
            What to do with a category level that training did not have.

        Returns
        -------
        ndarray of shape (n, len(shares))

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.forest(sample, "y ~ x1 + x4", n_trees=5)
        >>> m.quantiles(sample[:2]).shape
        (2, 3)
        """
        wanted = np.atleast_1d(np.asarray(shares, dtype=np.float64))
        if wanted.ndim != 1 or not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise OptionError(f"shares={shares!r} is not allowed. Allowed: numbers from 0 to 1.")
        return self.ranker.quantiles(self.design_matrix(data, unknown=unknown), wanted)

    def proximity(
        self, data: Any, other: Any = None, *, unknown: Unknown = "error"
    ) -> NDArray[np.float64]:
        """Return the share of trees in which two rows end in the same leaf.

        Parameters
        ----------
        data : data frame
        other : data frame, optional
            Rows to compare with; by default those of ``data``.
        unknown : {"error", "missing"}
            What to do with a category level that training did not have.

        Returns
        -------
        ndarray of shape (rows of data, rows of other)

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.forest(sample, "y ~ x1 + x4", n_trees=5)
        >>> m.proximity(sample[:3]).shape
        (3, 3)
        """
        X = self.matrix(Table.read(data), unknown)
        Z = X if other is None else self.matrix(Table.read(other), unknown)
        if len(X) * len(Z) > MOST_CELLS:
            raise DataError(
                f"{len(X)} rows beside {len(Z)} are {len(X) * len(Z)} proximities. Allowed: "
                f"{MOST_CELLS}. Take fewer rows at a time."
            )
        return self.ranker.proximity(X, Z)

    def tree(self, number: int) -> pd.DataFrame:
        """Return one tree for reading: a row a node, from the root, left branches first.

        Columns: node (1 for the root, 2k and 2k + 1 below k), depth, rule (which rows of the node
        above it has), n (training rows drawn into it), quantile (of a leaf: its vote, from 0 to 1)
        and leaf.

        Parameters
        ----------
        number : int
            Of the tree, from 0.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.forest(sample, "y ~ x1 + x4", n_trees=5)
        >>> type(m.tree(0)).__name__
        'DataFrame'
        """
        from crank.report.forest import tree_table

        whole("number", number, 0, self.n_trees - 1)
        return tree_table(self, number)

    def choices(self) -> pd.DataFrame:
        """Return the ways to grow the trees that were tried, and which one was taken.

        Columns: thresholds, min_samples_leaf, max_features (columns a node), trees (grown each
        way to judge it; 0 if nothing was tried), oob_kendall (d_τ of the rows out of their bags)
        and chosen. All ways were judged on the same bags; their figures, other than those of the
        forest, are of few trees.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.forest(sample, "y ~ x1 + x4", n_trees=200)
        >>> m.choices()[["min_samples_leaf", "max_features", "trees"]]
           min_samples_leaf  max_features  trees
        0                 2             2     50
        1                 1             2     50
        2                 5             1     50
        3                12             1     50
        """
        from crank.report.forest import choices

        return choices(self)

    def plot_calibration(
        self,
        data: Any,
        *,
        alpha: float = 0.05,
        unknown: Unknown = "error",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw votes and positions of y; see `crank.report.plots.plot_calibration`."""
        from crank.report.plots import plot_calibration

        return plot_calibration(
            self,
            data,
            alpha=alpha,
            unknown=unknown,
            ax=ax,
        )
