"""Figures of many methods on the same splits of the same sets: means, ranks, paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from benchmarks.quality.study import Result

WHOLE = 0.5
"""A method that has less than this share of the splits is not compared: it would cost others."""


@dataclass(frozen=True)
class Study:
    """Results laid out: a row a split of a set, a column a method.

    Attributes
    ----------
    kendall : DataFrame
        d_τ, index (set, split); NaN where a method has not run or has failed.
    cpu : DataFrame
        CPU seconds to fit and score.
    test_share : Series
        Test rows over training rows, by set.
    """

    kendall: pd.DataFrame
    cpu: pd.DataFrame
    test_share: pd.Series

    @classmethod
    def of(cls, results: Sequence[Result], methods: Sequence[str]) -> Study:
        """Lay results out, columns in the order of the methods."""
        rows = pd.DataFrame([vars(one) for one in results])
        rows["kendall"] = rows["kendall"].astype(float)
        where: dict[str, Any] = {"index": ["set", "split"], "columns": "method", "aggfunc": "first"}
        kendall, cpu = (rows.pivot_table(values=name, **where) for name in ("kendall", "cpu"))
        names = [name for name in methods if name in kendall]
        first = rows.groupby("set").first()
        return cls(kendall[names], cpu[names], first["n_test"] / first["n_train"])

    @property
    def compared(self) -> list[str]:
        """Methods with enough splits to take part in comparisons."""
        done = self.kendall.notna().sum()
        return [str(name) for name in self.kendall if done[str(name)] >= WHOLE * done.max()]

    @property
    def common(self) -> pd.DataFrame:
        """Splits that all compared methods have."""
        return self.kendall[self.compared].dropna()

    def means(self) -> pd.DataFrame:
        """Mean d_τ by set, over the common splits."""
        return self.common.groupby(level="set").mean()

    def average_ranks(self) -> pd.Series:
        """Mean over sets of the rank of each method; 1 is best."""
        return self.means().rank(axis=1, ascending=False).mean()

    def near_best(self) -> pd.Series:
        """Count sets on which a method is within one paired standard error of the best one.

        Sets with one split have no standard error and do not count. The error is the plain one,
        which overlapping splits make a little too small: that is against the method.
        """
        counts = dict.fromkeys(self.common, 0)
        for _, rows in self.common.groupby(level="set"):
            if len(rows) > 1:
                best = rows.mean().idxmax()
                for method in rows:
                    difference = rows[best] - rows[method]
                    error = difference.std() / np.sqrt(len(difference))
                    counts[method] += bool(difference.mean() <= error)
        return pd.Series(counts)

    @property
    def repeated_sets(self) -> int:
        """Sets with more than one common split."""
        return int((self.common.groupby(level="set").size() > 1).sum())

    def difference(self, ours: str, peer: str) -> Difference:
        """Compare two methods on the splits that both have."""
        gap = (self.kendall[ours] - self.kendall[peer]).dropna()
        by_set = gap.groupby(level="set").mean()
        verdicts = [
            _verdict(rows.to_numpy(), self.test_share[name])
            for name, rows in gap.groupby(level="set")
        ]
        half = np.nan
        if len(by_set) > 1:
            half = float(by_set.std() / np.sqrt(len(by_set)) * student.ppf(0.975, len(by_set) - 1))
        return Difference(
            ours,
            peer,
            float(by_set.mean()),
            half,
            len(by_set),
            verdicts.count(1),
            verdicts.count(-1),
            int((gap.groupby(level="set").size() > 1).sum()),
        )


@dataclass(frozen=True)
class Difference:
    """A paired difference of d_τ: its mean over sets, half its 95% interval, and counts of sets.

    Only sets with more than one split, `repeated` of them, can be ahead or behind beyond chance.
    """

    ours: str
    peer: str
    mean: float
    half: float
    sets: int
    ahead: int
    behind: int
    repeated: int


def _verdict(gap: np.ndarray, share: float) -> int:
    """Say whether one is ahead (1) or behind (−1) on a set, beyond chance; 0 if neither.

    Splits of one sample overlap: their mean is as uncertain as Nadeau & Bengio (2003) say.
    """
    k = len(gap)
    if k < 2:
        return 0
    error = np.sqrt((1.0 / k + share) * gap.var(ddof=1))
    if abs(gap.mean()) <= error * student.ppf(0.975, k - 1):
        return 0
    return 1 if gap.mean() > 0 else -1
