"""Coefficients under a lasso: Newton steps whose equations are solved coordinate by coordinate.

The loss of all pairs is replaced by its parabola at the coefficients so far, whose minimum under
the penalty takes a few sweeps over few columns, as in glmnet (Friedman, Hastie & Tibshirani 2010).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crank.errors import DataError
from crank.fitting.pairs import Floats, Pairs

MOST_STEPS, MOST_HALVINGS, MOST_SWEEPS = 100, 40, 10_000
EXACT = 1e-12
"""Sweeps end when no coefficient moves by more, relative to the largest."""


def sparse_minimum(pairs: Pairs, b: Floats, tolerance: float) -> Floats:
    """Find the coefficients of least penalised loss, many of them 0.

    Parameters
    ----------
    pairs : Pairs
        With a lasso.
    b : ndarray of shape (k,)
        Where to start.
    tolerance : float
        A step is the last if it is smaller, relative to the coefficients.
    """
    score, information = pairs.newton(b)
    for _ in range(MOST_STEPS):
        step = parabola_minimum(score, information, b, pairs.lasso) - b
        if np.abs(step).max() <= tolerance * (1.0 + np.abs(b).max()):
            return np.asarray(b + step)
        fall = float(score @ step) - pairs.lasso * float((np.abs(b + step) - np.abs(b)).sum())
        for _ in range(MOST_HALVINGS):
            trial = b + step
            score, information = pairs.newton(trial)
            # the loss is convex: where it climbs that steeply, the step has gone too far
            growth = np.where(trial == 0.0, -np.abs(step), np.sign(trial) * step)
            if score @ step - pairs.lasso * float(growth.sum()) >= -0.5 * fall:
                break
            step, fall = step / 2.0, fall / 2.0
        b = trial
    raise DataError(
        "the coefficients do not settle under this lasso: some columns nearly determine the order "
        "of y. Give a larger penalty, or l1_ratio below 1."
    )


def parabola_minimum(score: Floats, information: Floats, b: Floats, lasso: float) -> Floats:
    """Minimise ½ d'Jd − U'd + lasso |b + d|₁ and return b + d.

    Sweeps over the coordinates find which are 0 and the signs of the others; then these solve
    linear equations.

    Examples
    --------
    >>> J = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> parabola_minimum(np.array([3.0, 0.5]), J, np.zeros(2), 1.0).tolist()
    [1.0, 0.0]
    """
    b, target = b.copy(), score + information @ b
    left, curvature = score.copy(), np.diagonal(information).tolist()
    movable = np.flatnonzero(np.diagonal(information) > 0.0)
    columns = movable
    for _ in range(MOST_SWEEPS):
        largest = sweep(b, left, information, curvature, columns, lasso)
        if largest > EXACT * (1.0 + float(np.abs(b).max())):
            solved = solution(target, information, b, lasso)
            if solved is not None:
                return solved
            columns = np.flatnonzero(b)
        elif len(columns) == len(movable):
            break
        else:
            columns = movable  # nothing moves among those in use: look at all once more
    return b


def sweep(
    b: Floats,
    left: Floats,
    information: Floats,
    curvature: Sequence[float],
    columns: NDArray[np.intp],
    lasso: float,
) -> float:
    """Move each coefficient to its best value given the others; return the largest move."""
    largest = 0.0
    for k in columns.tolist():
        old, steep = float(b[k]), curvature[k]
        pull = float(left[k]) + steep * old
        new = (pull - lasso if pull > lasso else pull + lasso if pull < -lasso else 0.0) / steep
        if new != old:
            b[k] = new
            left -= information[:, k] * (new - old)
            largest = max(largest, abs(new - old))
    return largest


def solution(target: Floats, information: Floats, b: Floats, lasso: float) -> Floats | None:
    """Solve for the coefficients in use, with the signs they have; None if that is no minimum."""
    used = np.flatnonzero(b)
    sign = np.sign(b[used])
    try:
        found = np.linalg.solve(information[np.ix_(used, used)], target[used] - lasso * sign)
    except np.linalg.LinAlgError:
        return None
    if (np.sign(found) != sign).any():
        return None
    moved = np.zeros(len(b))
    moved[used] = found
    left = np.delete(target - information @ moved, used)
    return moved if (np.abs(left) <= lasso * (1.0 + EXACT)).all() else None
