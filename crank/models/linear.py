"""The linear model: `crank.linear` makes it; its own verbs read coefficients and test terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crank.errors import DataError, OptionError
from crank.kernels.links import LINKS
from crank.models.designed import DesignedModel
from crank.rankers.linear import LinearRanker
from crank.records.base import Unknown
from crank.records.linear import LinearRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearModel(DesignedModel, LinearRecord):
    """A linear ranker with its formula; made by `crank.linear`, never changed afterwards.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    ranker : LinearRanker
        Coefficients, their covariance and what is known of the columns.
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, noise=1.0, random_state=0).frame
    >>> m = crank.linear(sample, "y ~ x1 + x2")
    >>> m
    <LinearModel 'y ~ x1 + x2': 2 coefficients, logit, n = 300>
    >>> m.vcov().shape
    (2, 2)
    """

    ranker: LinearRanker

    def predict(
        self,
        data: Any,
        type: str = "score",
        *,
        reference: Any = None,
        unknown: Unknown = "error",
    ) -> Any:
        """Rank new data.

        Parameters
        ----------
        data : data frame
            With the raw columns of the formula's right side.
        type : {"score", "probability"}
            The linear predictor, 0 for the average training row; or the probability of ranking
            above a random training row, or above the reference row if there is one.
        reference : data frame of one row, or a mapping of column names to values, optional
        unknown : {"error", "missing"}
            What to do with a category level that training did not have.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.linear(sample, "y ~ x1 + x4", cv=None)
        >>> m.predict(sample[:2], type="probability").round(3).tolist()
        [0.249, 0.704]
        """
        if reference is None:
            return super().predict(data, type, unknown=unknown)
        if type != "probability":
            raise OptionError(f"reference= is for type='probability'; got type={type!r}.")
        if isinstance(reference, Mapping):
            reference = {name: [value] for name, value in reference.items()}
        other = super().predict(reference, unknown=unknown)
        if len(other) != 1:
            raise DataError(
                f"reference has {len(other)} rows. Give one, as in reference=df.iloc[[0]]."
            )
        link = LINKS[self.options.link]
        return link.probability(super().predict(data, unknown=unknown) - other)

    def coefficients(self, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row for each column of the design, missing where it has no coefficient.

        Columns: term, estimate, std_error, t, pvalue, ci_low, ci_high; with the logit link odds,
        odds_low and odds_high: the odds that of two rows that differ by one unit of the column
        and in nothing else, the one with more ranks above. With the probit link probability,
        probability_low and probability_high say the same.

        Standard errors have a factor for small samples, n / (n − p − 1) for n rows, or groups, and
        p coefficients; p-values and intervals are those of Student's t with n − p − 1 degrees of
        freedom. All are missing where that is not above 0.

        Parameters
        ----------
        alpha : float
            One minus the confidence level.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.linear(sample, "y ~ x1 + x4", cv=None)
        >>> m.coefficients()[["term", "estimate", "std_error"]].round(2)
          term  estimate  std_error
        0   x1      2.39       0.35
        1   x4      3.55       0.35
        """
        from crank.report.coefficients import coefficients

        return coefficients(self, alpha)

    def penalty_path(self) -> pd.DataFrame:
        """Return a row for each penalty that cross-validation tried, the lightest first.

        Columns: penalty, nonzero (coefficients that are not 0), loss (mean loss of a held-out
        pair), loss_se, kendall (rate of concordant held-out pairs), chosen ("cv" or "1se" where
        that rule ends, "cv, 1se" if both do). The model needs ``penalty="cv"`` or ``"1se"``.
        """
        from crank.report.penalties import penalty_table

        return penalty_table(self)

    def plot_path(
        self,
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw coefficients and loss over the penalty; see `crank.report.plots.plot_path`."""
        from crank.report.plots import plot_path

        return plot_path(
            self,
            ax=ax,
        )

    def vcov(self, *, corrected: bool = True) -> pd.DataFrame:
        """Return the covariance of the coefficients, by the columns' names.

        Parameters
        ----------
        corrected : bool
            Whether to correct for small samples, as the standard errors of `coefficients` are:
            False gives the sandwich formula itself.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.linear(sample, "y ~ x1 + x4", cv=None)
        >>> m.vcov().round(3)
               x1     x4
        x1  0.123  0.039
        x4  0.039  0.123
        """
        from crank.report.coefficients import vcov

        return vcov(self, corrected=corrected)

    def hypothesis(self, text: str) -> pd.DataFrame:
        """Test equations between coefficients by Wald's statistic; needs the extra ``stats``.

        Parameters
        ----------
        text : str
            ``"x1 = x2"``, ``"x1 + 2 * x2 = 1"``, or several with commas, tested together.

        Returns
        -------
        DataFrame
            One row: hypothesis, df, df_error, F, pvalue; for one equation also estimate (its left
            side less the coefficients on the right), std_error and t.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(300, p=5, noise=1.0, random_state=0).frame
        >>> m = crank.linear(sample, "y ~ x1 + x2 + x3")
        >>> m.hypothesis("x1 = x2")[["hypothesis", "estimate", "t", "pvalue"]].round(2)
          hypothesis  estimate     t  pvalue
        0    x1 = x2      -0.1 -0.28    0.78
        """
        from crank.report.hypotheses import hypothesis

        return hypothesis(self, text)

    def adjusted(self, method: str = "holm") -> pd.DataFrame:
        """Adjust the coefficients' p-values for their number; needs the extra ``stats``.

        Parameters
        ----------
        method : str
            "holm", "bonferroni", "sidak", "holm-sidak", "simes-hochberg", "hommel"; "bh" and "by"
            for the rate of false discoveries.

        Returns
        -------
        DataFrame
            Columns term, estimate, std_error, t, pvalue, adjusted.
        """
        from crank.report.hypotheses import adjusted

        return adjusted(self, method)

    def anova(self, other: LinearModel | None = None) -> pd.DataFrame:
        """Test terms by Wald's statistic, which needs no likelihood.

        Parameters
        ----------
        other : LinearModel, optional
            A model of the same rows whose columns are among those of this one, or the other way
            round: all columns that only one of them has are tested together. Without it each term
            of the formula is tested, given all others.

        Returns
        -------
        DataFrame
            Columns term, df, df_error, F, pvalue: Hotelling's T² with the covariance of `vcov`,
            for one coefficient the square of its t.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.linear(sample, "y ~ x1 + x4", cv=None)
        >>> m.anova().round(3)
          term  df  df_error        F  pvalue
        0   x1   1     197.0   46.413     0.0
        1   x4   1     197.0  102.738     0.0
        """
        from crank.report.coefficients import nested_test, term_tests

        return term_tests(self) if other is None else nested_test(self, other)
