"""The additive ranker: a sum of curves, that is a linear ranker over penalised columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import at_least, one_of, whole
from crank.errors import OptionError
from crank.kernels.links import LINKS
from crank.rankers.directions import in_words
from crank.rankers.linear import LinearRanker

RIDGE = 1e-4
"""Ridge of an additive ranker, on top of the penalty on bending."""


@dataclass(frozen=True)
class AdditiveOptions:
    """How an additive ranker is fitted.

    Attributes
    ----------
    link : {"logit", "probit"}
        From the difference of two scores to the probability that the first ranks above.
    smoothing : float, optional
        Of all curves: what bending costs, see `crank.additive`; by default each term has its own,
        chosen by restricted likelihood.
    penalty : float
        Ridge, on the size of every coefficient.
    straight : float
        What the ridge holds against columns of terms that are not smooth: 1, or 0 to leave them
        alone.
    pairs : int, "auto" or tuple of pairs of str
        How many pairs of terms are added, or which; "auto" lets held-out rows decide.
    cv : int, optional
        Folds; None for none.
    random_state : int
        Seed of the folds.
    monotone : mapping of str, optional
        "increasing" or "decreasing" for columns in which the score must be monotone.
    """

    link: Literal["logit", "probit"] = "logit"
    smoothing: float | None = None
    penalty: float = RIDGE
    straight: float = 1.0
    pairs: int | Literal["auto"] | tuple[tuple[str, str], ...] = "auto"
    cv: int | None = 5
    random_state: int = 0
    monotone: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        one_of("link", self.link, tuple(LINKS))
        object.__setattr__(self, "penalty", at_least("penalty", self.penalty, 0.0))
        if self.smoothing is not None:
            object.__setattr__(self, "smoothing", at_least("smoothing", self.smoothing, 0.0))
        if self.cv is not None:
            whole("cv", self.cv, 2)
        object.__setattr__(self, "pairs", checked_pairs(self.pairs))
        object.__setattr__(self, "monotone", in_words(self.monotone))
        if self.smoothing is not None and isinstance(self.pairs, int) and self.pairs > 0:
            raise OptionError(
                f"pairs={self.pairs} are sought while smoothing is chosen, and smoothing="
                f"{self.smoothing:g} was given. Leave smoothing out, or name the pairs."
            )
        if self.pairs == "auto" and self.cv is None:
            raise OptionError(
                'pairs="auto" lets held-out rows decide, and cv=None holds none out. Set cv=5, or '
                "say how many pairs: pairs=0."
            )
        whole("random_state", self.random_state, 0)


def checked_pairs(pairs: object) -> int | Literal["auto"] | tuple[tuple[str, str], ...]:
    """Check what `crank.additive` was given as pairs.

    Examples
    --------
    >>> checked_pairs([["x", "z"]])
    (('x', 'z'),)
    """
    if isinstance(pairs, str) and pairs == "auto":
        return "auto"
    if isinstance(pairs, Sequence) and not isinstance(pairs, str):
        found = [tuple(pair) if isinstance(pair, Sequence) else (pair,) for pair in pairs]
        if all(len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in found):
            return tuple((a, b) for a, b in found)
    elif isinstance(pairs, Integral) and not isinstance(pairs, bool) and int(pairs) >= 0:
        return int(pairs)
    raise OptionError(
        f"pairs={pairs!r} is not a way to choose pairs. Allowed: 'auto', a whole number from 0, or "
        "a list of pairs of names such as [('x', 'z')]."
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveRanker(LinearRanker):
    """A score that is a sum of curves: linear in the columns of spline bases.

    Attributes
    ----------
    smoothing : float or None
        Of all curves, if it was given; None if each term has its own.
    column_penalty : ndarray of shape (p,)
        On half of each squared coefficient, relative to the mean loss of a pair; NaN for columns
        that were left out.
    freedom : ndarray of shape (p,)
        Effective degrees of freedom that each column uses, 0 to 1.
    uncertainty : ndarray of shape (p, p)
        Covariance of the coefficients around the truth, the bias of smoothing included; for
        bands and tests. `vcov` is that around their mean.
    rugs : mapping of str to ndarray
        For factors of numbers, by name, training values in increasing order, at most 100 of them.
    """

    kind: ClassVar[str] = "additive"

    smoothing: float | None
    column_penalty: NDArray[np.float64]
    freedom: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    rugs: Mapping[str, NDArray[np.float64]]

    @property
    def made_by(self) -> str:
        """Name it in messages."""
        return "an additive ranker"

    @cached_property
    def total_freedom(self) -> float:
        """Effective degrees of freedom of the whole score."""
        return float(np.nansum(self.freedom))
