"""Links: from the difference of two scores to the probability that the first row ranks above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crank.kernels.order import FloatArray


@dataclass(frozen=True)
class Link:
    """A symmetric distribution of the noise between two rows.

    Attributes
    ----------
    name : str
    above : callable
        Difference of scores → probability that the first row ranks above, and its derivative.
    loss : callable
        Difference of scores → loss of a pair whose responses are equal, an even function: its
        derivative is the probability minus ½. A pair whose first row ranks above loses half the
        difference less, the other way round as much more.
    """

    name: str
    above: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    loss: Callable[[FloatArray], FloatArray]

    def probability(self, difference: FloatArray) -> FloatArray:
        """Probability that the row with the first score ranks above the other."""
        return self.above(difference)[0]


def logistic(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logistic distribution function and its density.

    Examples
    --------
    >>> [part.tolist() for part in logistic(np.array([0.0, -800.0]))]
    [[0.5, 0.0], [0.25, 0.0]]
    """
    small = np.exp(-np.abs(x))
    rest = 1.0 / (1.0 + small)
    return np.where(x >= 0.0, rest, small * rest), small * rest * rest


def logistic_loss(x: FloatArray) -> FloatArray:
    """Integrate the logistic distribution function less ½: log(2 cosh(x / 2)).

    Examples
    --------
    >>> logistic_loss(np.array([0.0, -800.0])).round(3).tolist()
    [0.693, 400.0]
    """
    size = np.abs(x)
    return np.asarray(0.5 * size + np.log1p(np.exp(-size)))


def normal(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the normal distribution function and its density."""
    from scipy.special import ndtr  # its import takes longer than a small fit

    return np.asarray(ndtr(x)), np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


def normal_loss(x: FloatArray) -> FloatArray:
    """Integrate the normal distribution function less ½."""
    above, density = normal(x)
    return np.asarray(x * (above - 0.5) + density)


LINKS = {
    link.name: link
    for link in (
        Link("logit", logistic, logistic_loss),
        Link("probit", normal, normal_loss),
    )
}
