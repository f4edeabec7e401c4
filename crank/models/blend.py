"""The blend as a model: `crank.blend` makes it; its own verb lists its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crank.models.base import RankingModel
from crank.records.blend import BlendRecord

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, kw_only=True)
class BlendModel(RankingModel, BlendRecord):
    """Models of different kinds whose scores are added up; made by `crank.blend`.

    Attributes
    ----------
    formula : str
    response : ResponseSpec
    members : tuple of Member
        Each with its name, its weight and its model.
    left_out : tuple of LeftOut
    training : TrainingInfo

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(200, p=5, random_state=0).frame
    >>> m = crank.blend(sample, "y ~ .", members=["linear", "tree"])
    >>> sorted(member.name for member in m.members)[0]
    'linear'
    """

    def table(self) -> pd.DataFrame:
        """List the members and what was left out, with weights and held-out figures."""
        from crank.report.blend import member_table

        return member_table(self)
