"""The booster as a model: `crank.boost` makes it; its own verbs read how rounds were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crank.models.designed import DesignedModel
from crank.rankers.booster import BoosterRanker
from crank.records.booster import BoosterRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, kw_only=True)
class BoosterModel(DesignedModel, BoosterRecord):
    """A booster with its formula; made by `crank.boost`, never changed afterwards.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
        How raw columns become the response.
    design : DesignSpec
        How raw columns become design columns.
    ranker : BoosterRanker
        The trees, in whole numbers.
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, random_state=0).frame
    >>> m = crank.boost(sample, "y ~ .", rounds=40)
    >>> m
    <BoosterModel 'y ~ .': concordance, 40 trees, n = 300>
    """

    ranker: BoosterRanker

    def rounds(self) -> pd.DataFrame:
        """Return what cross-validation found at each number of rounds that it looked at.

        Columns: rounds, heldout (mean over the folds), se, chosen. Empty if the rounds were given.

        Examples
        --------
        >>> import crank
        >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
        >>> m = crank.boost(sample, "y ~ x1 + x4", rounds=10)
        >>> m.rounds().columns.tolist()
        ['rounds', 'heldout', 'se', 'chosen']
        """
        from crank.report.booster import rounds_table

        return rounds_table(self)

    def plot_rounds(
        self,
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the held-out figure over the rounds; see `crank.report.plots.plot_rounds`."""
        from crank.report.plots import plot_rounds

        return plot_rounds(
            self,
            ax=ax,
        )
