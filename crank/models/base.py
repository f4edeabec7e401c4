"""What every model can do: rank, be judged, be read, be shipped; short methods call the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of
from crank.frames.partitioned import is_dask
from crank.frames.table import Table
from crank.models.arguments import Arguments
from crank.models.drawing import DrawnModel
from crank.models.shipping import ShippedModel
from crank.models.updating import shows_arguments, update
from crank.records.base import ModelRecord, Unknown
from crank.records.kinds import page_writer, reader

if TYPE_CHECKING:
    import pandas as pd

    from crank.judging.diagnose import Diagnosis
    from crank.judging.diagnose.refits import Refit
    from crank.metrics.figures import Figure
    from crank.metrics.profile import Weighting
    from crank.plugins.base import SplitLearner
    from crank.report.summary import Summary


@dataclass(frozen=True, repr=False, kw_only=True)
class RankingModel(DrawnModel, ShippedModel):
    """A fitted ranking model of any kind; never changed once it is made.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> isinstance(m, crank.RankingModel), m.kind, m.predictions[:2]
    (True, 'tree', ('score', 'leaf'))
    """

    def predict(self, data: Any, type: str = "score", *, unknown: Unknown = "error") -> Any:
        """Rank new data.

        Parameters
        ----------
        data : data frame
            With the raw columns of the formula's right side.
        type : str
            "score" (higher is better), or another of `predictions`. A tree has "leaf", 0 for the
            best; "quantile", the mean position of the leaf's training responses in their
            distribution, 0 to 1; "median", their median; "lower" and "upper", their quartiles:
            half of the leaf's training responses lie between them.
        unknown : {"error", "missing"}
            What to do with a category level that training did not have.

        Returns
        -------
        ndarray of shape (n,)
            Of a Dask data frame a lazy Dask series, with the same partitions.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.predict(test.frame[:4]).tolist()
        [2.0, 2.0, 1.0, 1.0]
        """
        one_of("type", type, self.predictions)
        one_of("unknown", unknown, ("error", "missing"))
        if is_dask(data):
            from crank.cluster.scoring import lazy_values

            return lazy_values(self, data, type, unknown)
        return self.values(Table.read(data), type, unknown)

    @shows_arguments
    def update(self, data: Any, formula: str | None = None, **changes: Unpack[Arguments]) -> Self:
        """Fit again, with the arguments of this model's call except those that are changed.

        Parameters
        ----------
        data : data frame
            A model keeps no data: the same again, or others.
        formula : str, optional
            A dot is the old side, as in R: ``". ~ . + z"``; ``". - x"`` changes the right side.
        **changes
            Arguments of the function that made the model, such as ``max_depth``. Weights and
            subsets that were arrays, and learners that are not installed, must be given again.

        Returns
        -------
        RankingModel
            A new model, not pruned by hand even if this one was.

        Examples
        --------
        >>> import crank
        >>> train, _ = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", prune=None)
        >>> print(m.update(train.frame, ". + I(x ** 2)", max_depth=2).call)
        crank.fit(data, 'y ~ x + I(x ** 2)', criterion='kendall', max_depth=2, prune=None)
        """
        model: Self = update(self, data, formula, changes)
        return model

    def tidy(self) -> pd.DataFrame:
        """Return the parts of the model as a table: of a tree its leaves, best first.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.tidy()[["leaf", "score", "n"]]
           leaf  score   n
        0     0    4.0  15
        1     1    3.0  32
        2     2    2.0  38
        3     3    1.0  15
        """
        table: pd.DataFrame = reader(self.kind, "report").tidy(self)
        return table

    def glance(self) -> pd.DataFrame:
        """Return one row that describes the whole model.

        Columns: formula, n, n_dropped, what its kind adds (for a tree criterion, learner, depth,
        n_leaves, leaf_order, pruned); iauc, kendall (training) and cv_iauc, cv_kendall
        (cross-validated), each followed by its standard error (…_se); missing where they were not
        computed.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.glance()[["criterion", "n_leaves", "n"]]
          criterion  n_leaves    n
        0   kendall         4  100
        """
        table: pd.DataFrame = reader(self.kind, "report").glance(self)
        return table

    def importance(self, metric: str | Figure | None = None) -> pd.DataFrame:
        """Return each term's share of what the model achieves on its training data.

        Columns: term, importance, share. Of a tree, the importance sums to Kendall's τ of the
        tree, or to 2 IAUC − 1 (theory §5). Rows of one leaf have equal scores, and τ with tied
        scores, over the pairs with different responses, is Somers' D. Where its leaves are
        ordered by rank, what that adds to the order from left to right has a row of its own. Of a
        forest it is the mean over trees, each on its own bag.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.importance().round(3)
          term  importance  share
        0    x       0.627    1.0
        """
        table: pd.DataFrame = reader(self.kind, "report").importance(self, metric)
        return table

    def augment(self, data: Any, *, unknown: Unknown = "error") -> Any:
        """Return the data with the model's predictions added as .score, .leaf and so on.

        A frame of the kind that came in goes out; of Dask a lazy one.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.augment(test.frame[:2]).columns.tolist()
        ['x', 'y', '.score', '.leaf', '.quantile', '.median', '.lower', '.upper']
        """
        if is_dask(data):
            from crank.cluster.scoring import lazy_augmented

            return lazy_augmented(self, data, unknown)
        from crank.report.augment import augmented

        return augmented(self, data, unknown)

    def summary(self) -> Summary:
        """Describe the model as R would; print it.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> print(str(m.summary()).splitlines()[1])
          crank.fit(data, 'y ~ x', criterion='kendall', max_depth=2, prune=None)
        """
        summary: Summary = reader(self.kind, "report").summary(self)
        return summary

    def evaluate(
        self,
        data: Any,
        *,
        weights: Any = None,
        groups: Any = None,
        alpha: float = 0.05,
        unknown: Unknown = "error",
    ) -> pd.DataFrame:
        """Judge the model on data that it has not seen.

        Parameters
        ----------
        data : data frame
        weights : str or array-like, optional
            Case weights: a column's name or one number a row.
        groups : str or array-like, optional
            Rows that belong together, by a column's name or one label a row; standard errors are
            clustered by group.
        alpha : float
            One minus the confidence level.
        unknown : {"error", "missing"}
            What to do with category levels that training did not have.

        Returns
        -------
        DataFrame
            A row for each of kendall, iauc and iauc_uniform: estimate, se, ci_low, ci_high, n.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.evaluate(test.frame)["estimate"].round(3).to_dict()
        {'kendall': 0.782, 'iauc': 0.877, 'iauc_uniform': 0.9}
        """
        from crank.judging.evaluate import evaluate

        return evaluate(self, data, weights=weights, groups=groups, alpha=alpha, unknown=unknown)

    def permutation_importance(
        self,
        data: Any,
        *,
        metric: str | Figure | None = None,
        weighting: Weighting = "triple",
        repeats: int = 10,
        weights: Any = None,
        alpha: float = 0.05,
        unknown: Unknown = "error",
        random_state: int | None = 0,
        progress: bool | None = None,
    ) -> pd.DataFrame:
        """Shuffle each column in turn; see `crank.judging.permutation.permutation_importance`."""
        from crank.judging.permutation import permutation_importance

        return permutation_importance(
            self,
            data,
            metric=metric,
            weighting=weighting,
            repeats=repeats,
            weights=weights,
            alpha=alpha,
            unknown=unknown,
            random_state=random_state,
            progress=progress,
        )

    def shap(self, data: Any, *, unknown: Unknown = "error") -> pd.DataFrame:
        """Share out each row's score among the terms; see `crank.judging.shap.shap_table`.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> m.shap(test.frame[:2]).columns.tolist()
        ['row', 'term', 'shap']
        """
        from crank.judging.shap import shap_table

        return shap_table(self, data, unknown)

    def diagnose(
        self,
        data: Any,
        *,
        thresholds: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
        cv: int = 5,
        margin: float = 0.01,
        alpha: float = 0.05,
        weights: Any = None,
        unknown: Unknown = "error",
        learner: SplitLearner | None = None,
        random_state: int | None = 0,
        progress: bool | None = None,
    ) -> Diagnosis:
        """Ask whether one order serves all thresholds; see `crank.judging.diagnose.diagnose`.

        A tree is grown again without each fold; other models are fitted again by their own call.
        """
        from crank.judging.diagnose import diagnose

        return diagnose(
            self,
            data,
            refit=self._refit(data),
            thresholds=thresholds,
            cv=cv,
            margin=margin,
            alpha=alpha,
            weights=weights,
            unknown=unknown,
            learner=learner,
            random_state=random_state,
            progress=progress,
        )

    def _refit(self, data: Any) -> Refit | None:
        """Give the function by which `diagnose` fits the model again to some of the rows."""
        from crank.judging.diagnose.refits import functions, own_columns

        own = own_columns(self, data)

        def refit(rows: NDArray[np.bool_], weight: NDArray[np.float64] | None) -> ModelRecord:
            return self.update(own, subset=rows, weights=weight, context=functions(self) or None)

        return refit

    def report(
        self,
        path: str | Path,
        data: Any = None,
        *,
        versus: Mapping[str, RankingModel] | None = None,
        name: str = "model",
        weights: Any = None,
        unknown: Unknown = "error",
        title: str | None = None,
    ) -> Path:
        """Write a report for a browser: one HTML file that needs nothing else.

        It holds the summary, the tree to walk and to prune, curves with bands, tables that sort,
        importance, partial dependence, calibration, a diagnosis in words, and a form that scores
        a row as Python does.

        Parameters
        ----------
        path : str or Path
            The file to write.
        data : data frame, optional
            Rows that the model has not seen, with their response.
        versus : mapping of names to RankingModel, optional
            Models to set beside this one, with paired tests.
        name : str
            Of this model, beside others.
        weights : str or array-like, optional
            Case weights of the rows.
        unknown : {"error", "missing"}
            What to do with category levels that training did not have.
        title : str, optional

        Returns
        -------
        Path
            Of the file.
        """
        written: Path = page_writer()(
            {name: self, **(versus or {})},
            path,
            data=data,
            weights=weights,
            unknown=unknown,
            title=title,
        )
        return written

    def __str__(self) -> str:
        text: str = reader(self.kind, "report").text(self)
        return text

    def _repr_html_(self) -> str:
        from crank.report.notebook import model_html

        return model_html(self)

    def __repr__(self) -> str:
        about: str = reader(self.kind, "report").headline(self)
        return f"<{type(self).__name__} {self.formula!r}: {about}, n = {self.training.n}>"
