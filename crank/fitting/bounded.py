"""Coefficients under inequalities: Newton steps that never leave the allowed region.

The loss of all pairs is replaced by its parabola at the coefficients so far, whose minimum under
linear inequalities is a problem of least distance (Lawson & Hanson 1974, chapter 23).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.design.slopes import AT_BOUND, Slopes
from crank.errors import DataError

Floats = NDArray[np.float64]
Newton = Callable[[Floats], tuple[Floats, Floats]]
"""Score and information at some coefficients."""

MOST_STEPS, MOST_HALVINGS = 100, 40
ROUNDING = 1e-14


@dataclass(frozen=True)
class Bounds:
    """Inequalities ``rows @ b >= least`` that coefficients obey.

    Attributes
    ----------
    rows : ndarray of shape (r, k)
    least : ndarray of shape (r,)
    """

    rows: Floats
    least: Floats

    @classmethod
    def of(cls, slopes: Slopes | None, kept: NDArray[np.intp], scale: Floats) -> Bounds | None:
        """Put inequalities in units of standardised columns, of those that are kept."""
        if slopes is None or not len(slopes.least):
            return None
        return cls(slopes.rows[:, kept] / scale, slopes.least)

    def widened(self, k: int) -> Bounds:
        """Return the same for k coefficients, those behind being free."""
        more = np.zeros((len(self.least), k - self.rows.shape[1]))
        return Bounds(np.hstack([self.rows, more]), self.least)

    def nearest(self, point: Floats, curvature: Floats) -> Floats:
        """Find the allowed coefficients nearest to a point, distances being d'Ad.

        Examples
        --------
        >>> bounds = Bounds(np.array([[1.0, 0.0]]), np.zeros(1))
        >>> bounds.nearest(np.array([-1.0, 3.0]), np.array([[1.0, 0.5], [0.5, 1.0]])).tolist()
        [0.0, 2.5]
        """
        from scipy.optimize import nnls

        lacking = self.least - self.rows @ point
        most = float(lacking.max(initial=0.0))
        if most <= 0.0:
            return point
        inverse = np.linalg.inv(curvature / np.mean(np.diagonal(curvature)))
        root = np.linalg.cholesky((inverse + inverse.T) / 2.0)
        target = np.zeros(len(point) + 1)
        target[-1] = 1.0
        sides = np.vstack([(self.rows @ root).T, lacking / most])
        multiplier, _ = nnls(sides, target, maxiter=100 * len(lacking))
        binding = self.rows[multiplier > 0.0]
        if not len(binding):
            raise DataError(
                "no coefficients obey monotone=: a column that it names does not vary in these "
                "rows. Leave it out of monotone=."
            )
        moved = inverse @ binding.T
        return np.asarray(
            point + moved @ np.linalg.solve(binding @ moved, lacking[multiplier > 0.0])
        )

    def step(self, b: Floats, score: Floats, information: Floats) -> Floats:
        """Return the Newton step that ends among the allowed coefficients."""
        return self.nearest(b + np.linalg.solve(information, score), information) - b

    def restricted_inverse(self, b: Floats, information: Floats) -> Floats:
        """Invert the information in the directions that binding inequalities leave free."""
        binding = self.rows[self.rows @ b - self.least <= AT_BOUND]
        if not len(binding):
            return np.asarray(np.linalg.inv(information))
        _, size, axes = np.linalg.svd(binding)
        rank = int(np.count_nonzero(size > 1e-10 * size.max(initial=0.0)))
        free = axes[rank:].T
        return np.asarray(free @ np.linalg.inv(free.T @ information @ free) @ free.T)


def freedom_of(
    bounds: Bounds | None, b: Floats, information: Floats, penalty: Floats
) -> tuple[Floats, Floats]:
    """Return the inverse information and the effective degrees of freedom of each coefficient.

    Inequalities that bind count as equations.

    Parameters
    ----------
    bounds : Bounds or None
    b : ndarray of shape (k,)
    information : ndarray of shape (k, k)
        With the penalty.
    penalty : ndarray of shape (k,)
    """
    if bounds is None:
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return inverse, np.clip(1.0 - np.diagonal(inverse) * penalty, 0.0, 1.0)
    inverse = bounds.restricted_inverse(b, information)
    used = np.sum(inverse * information.T, axis=1) - np.diagonal(inverse) * penalty
    return inverse, np.clip(used, 0.0, 1.0)


def bounded_minimum(
    newton: Newton,
    bounds: Bounds,
    b: Floats,
    tolerance: float,
    escaped: Callable[[Floats], None] = lambda b: None,
) -> Floats:
    """Find the coefficients of least loss that obey inequalities.

    Parameters
    ----------
    newton : callable
    bounds : Bounds
    b : ndarray of shape (k,)
        Where to start.
    tolerance : float
        A step is the last if it is smaller, relative to the coefficients.
    escaped : callable
        Raises where the loss falls for ever.
    """
    b = bounds.nearest(b, np.eye(len(b)))
    score, information = newton(b)
    for _ in range(MOST_STEPS):
        try:
            step = bounds.step(b, score, information)
        except np.linalg.LinAlgError:
            break
        if np.abs(step).max() <= tolerance * (1.0 + np.abs(b).max()):
            return signed(bounds, b + step)
        fall = float(score @ step)
        # coefficients obey inequalities up to rounding, which the score may point across
        slack = ROUNDING * float(np.abs(score).sum()) * (1.0 + float(np.abs(b).max()))
        for _ in range(MOST_HALVINGS):
            trial = b + step
            score, information = newton(trial)
            # the loss is convex: where it climbs that steeply, the step has gone too far
            if score @ step >= -0.5 * fall - slack:
                break
            step, fall = step / 2.0, fall / 2.0
        b = trial
        escaped(b)
    raise DataError(
        "the coefficients do not settle under monotone=: some columns nearly determine the order "
        "of y, or each other. Give a penalty, such as penalty=0.001, or leave terms out."
    )


def signed(bounds: Bounds, b: Floats) -> Floats:
    """Set single coefficients that are held at 0, up to rounding, to 0.

    Examples
    --------
    >>> signed(Bounds(np.array([[-1.0, 0.0]]), np.zeros(1)), np.array([1e-17, 2.0])).tolist()
    [0.0, 2.0]
    """
    single = (np.count_nonzero(bounds.rows, axis=1) == 1) & (bounds.least == 0.0)
    held = bounds.rows[single & (bounds.rows @ b <= AT_BOUND)].any(axis=0)
    return np.asarray(np.where(held & (np.abs(b) <= AT_BOUND), 0.0, b))
