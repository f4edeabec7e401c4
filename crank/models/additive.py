"""The additive model: `crank.additive` makes it; its own verbs read and draw its curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crank.models.linear import LinearModel
from crank.rankers.additive import AdditiveRanker
from crank.records.additive import AdditiveRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, kw_only=True)
class AdditiveModel(LinearModel, AdditiveRecord):
    """A sum of curves with its formula; made by `crank.additive`, never changed afterwards.

    A linear model over the columns of spline bases, so all that a `LinearModel` can do it can.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    ranker : AdditiveRanker
        Coefficients, their covariance, penalties and effective degrees of freedom.
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, noise=1.0, random_state=0).frame
    >>> crank.additive(sample, "y ~ x1 + x3", smoothing=0.001)
    <AdditiveModel 'y ~ x1 + x3': 2 smooth terms, 17.5 degrees of freedom, logit, n = 300>
    """

    ranker: AdditiveRanker

    def terms(self) -> pd.DataFrame:
        """Return a row for each term: what it uses, and tests.

        Columns: term, shape; edf, its effective degrees of freedom; df, F and pvalue of the test
        that it has no effect; df_bent, F_bent and pvalue_bent of the test that a curve is a line.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.additive(sample, "y ~ s(x1) + x4", smoothing=0.01)
        >>> m.terms().columns.tolist()
        ['term', 'shape', 'edf', 'df', 'F', 'pvalue', 'df_bent', 'F_bent', 'pvalue_bent']
        """
        from crank.report.additive_terms import term_table

        return term_table(self)

    def anova(self, other: LinearModel | None = None) -> pd.DataFrame:
        """Test each term, given all others; see `terms`.

        Two additive models cannot be compared so, because they are smooth in different ways:
        `crank.compare` judges them on new data.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.additive(sample, "y ~ s(x1) + x4", smoothing=0.01)
        >>> m.anova().columns.tolist()
        ['term', 'edf', 'df', 'F', 'pvalue']
        """
        from crank.report.additive_terms import anova

        return anova(self, other)

    def effects(self, term: str | None = None, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return the curves as tables: what each term adds to the score.

        Parameters
        ----------
        term : str, optional
            Name of a term, or of its raw column; all terms by default.
        alpha : float
            One minus the confidence level of the bands, which are pointwise: on average over the
            curve they cover the truth so often.

        Returns
        -------
        DataFrame
            Columns term, x, by (the second value of a surface, the level of a curve by level),
            effect, se, ci_low, ci_high. The effect is 0 on average over the training rows.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.additive(sample, "y ~ s(x1) + x4", smoothing=0.01)
        >>> m.effects("x1")[["x", "effect", "se"]].astype(float).round(2).head(2)
              x  effect    se
        0  0.00   -2.39  0.32
        1  0.01   -2.30  0.29
        """
        from crank.report.effects import effect_table

        return effect_table(self, term, alpha)

    def plot_effects(
        self,
        term: str | None = None,
        *,
        alpha: float = 0.05,
        most: int = 24,
        columns: int = 4,
        same_scale: bool = True,
        figure: Figure | None = None,
    ) -> Figure:
        """Draw every term on one page, or one; see `crank.report.plots.plot_effects`."""
        from crank.report.plots import plot_effects

        return plot_effects(
            self,
            term,
            alpha=alpha,
            most=most,
            columns=columns,
            same_scale=same_scale,
            figure=figure,
        )
