"""A simulated data set and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.errors import DataError


@dataclass(frozen=True, eq=False)
class Sample:
    """A simulated data set, with the best possible score of each row where there is one.

    Attributes
    ----------
    frame : pandas.DataFrame of shape (n, p + 1)
        The features, then the response in column ``y``.
    optimal : ndarray of shape (n,) or None
        An optimal score at each row (any increasing transform is as good); None where no scoring
        rule is optimal at every threshold of y.
    name, description : str
        Where the sample comes from, and its model in one line.

    Examples
    --------
    >>> from crank.datasets import paper_toy
    >>> sample = paper_toy(5, random_state=1)
    >>> sample
    Sample(name='paper_toy', n=5, p=1, optimal rule exists)
    >>> sample.frame.columns.tolist()
    ['x', 'y']
    """

    frame: pd.DataFrame
    optimal: NDArray[np.float64] | None
    name: str
    description: str

    @property
    def X(self) -> pd.DataFrame:
        """The features, one column each."""
        return self.frame.drop(columns="y")

    @property
    def y(self) -> pd.Series[float]:
        """The response."""
        return self.frame["y"]

    def iauc_star(self, weighting: Literal["triple", "uniform"] = "triple") -> float:
        """Return the IAUC of the optimal score on this sample.

        Examples
        --------
        >>> from crank.datasets import paper_toy
        >>> paper_toy(50, random_state=1).iauc_star()
        1.0
        """
        from crank import metrics

        return float(metrics.iauc(self.y.to_numpy(), self._best(), weighting=weighting))

    def kendall_star(self) -> float:
        """Return the rate of concordant pairs, d_τ, of the optimal score on this sample.

        Examples
        --------
        >>> from crank.datasets import paper_toy
        >>> paper_toy(50, random_state=1).kendall_star()
        1.0
        """
        from crank import metrics

        return float(metrics.kendall(self.y.to_numpy(), self._best()))

    def _best(self) -> NDArray[np.float64]:
        if self.optimal is None:
            raise DataError(
                f"the model of {self.name!r} has no optimal scoring rule, so no best figure. "
                "Draw from paper_toy, regression or exponential_family for one that has."
            )
        return self.optimal

    def __repr__(self) -> str:
        n, columns = self.frame.shape
        rule = "no optimal rule" if self.optimal is None else "optimal rule exists"
        return f"Sample(name={self.name!r}, n={n}, p={columns - 1}, {rule})"


def sample_of(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    optimal: NDArray[np.float64] | None,
    name: str,
    description: str,
) -> Sample:
    """Name the columns: ``x`` alone, or ``x1``, ``x2``, …, then ``y``."""
    p = x.shape[1]
    columns = ["x"] if p == 1 else [f"x{j}" for j in range(1, p + 1)]
    frame = pd.DataFrame(x, columns=columns).assign(y=y)
    return Sample(frame, optimal, name, description)
