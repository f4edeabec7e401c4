"""The plots that every model has; those of one kind are methods of its own class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crank.records.base import ModelRecord, Unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crank.metrics.figures import Figure
    from crank.metrics.profile import Weighting


@dataclass(frozen=True, repr=False, kw_only=True)
class DrawnModel(ModelRecord):
    """A model that can be drawn."""

    def plot_iroc(
        self,
        data: Any,
        *,
        weighting: Weighting = "triple",
        band: bool | None = None,
        weights: Any = None,
        unknown: Unknown = "error",
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the IROC curve on new data; see `crank.report.plots.plot_iroc`."""
        from crank.report.plots import plot_iroc

        return plot_iroc(
            self,
            data,
            weighting=weighting,
            band=band,
            weights=weights,
            unknown=unknown,
            random_state=random_state,
            ax=ax,
        )

    def plot_profile(
        self,
        data: Any,
        *,
        band: bool = True,
        weights: Any = None,
        unknown: Unknown = "error",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the AUC at each threshold of y; see `crank.report.plots.plot_profile`."""
        from crank.report.plots import plot_profile

        return plot_profile(
            self,
            data,
            band=band,
            weights=weights,
            unknown=unknown,
            ax=ax,
        )

    def plot_importance(
        self,
        *,
        metric: str | Figure | None = None,
        most: int = 20,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the terms' shares; see `crank.report.plots.plot_importance`."""
        from crank.report.plots import plot_importance

        return plot_importance(
            self,
            metric=metric,
            most=most,
            ax=ax,
        )

    def plot_score(
        self,
        feature: str,
        data: Any,
        *,
        type: str = "score",
        rows: int = 40,
        unknown: Unknown = "error",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the score over one feature; see `crank.report.plots.plot_score`."""
        from crank.report.plots import plot_score

        return plot_score(
            self,
            feature,
            data,
            type=type,
            rows=rows,
            unknown=unknown,
            ax=ax,
        )
