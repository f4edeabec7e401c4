"""Orthonormal polynomials on a set of points, by the three-term recurrence."""

from __future__ import annotations

import numpy as np

from crank.design.operations import Floats


def polynomials(x: Floats, degree: int) -> tuple[tuple[float, ...], tuple[float, ...], Floats]:
    """Learn the recurrence of the polynomials that are orthonormal on ``x``.

    Returns
    -------
    alpha : tuple of float, one for each degree
    norms : tuple of float, the squared norms of the monic polynomials, the constant one first
    values : ndarray of shape (n, degree)
        The orthonormal polynomials of degree 1, 2, … at ``x``.

    Examples
    --------
    >>> alpha, norms, values = polynomials(np.array([1.0, 2.0, 3.0]), 1)
    >>> alpha, norms
    ((2.0,), (3.0, 2.0))
    """
    last, before = np.ones_like(x), np.zeros_like(x)
    alpha: list[float] = []
    norms = [np.sum(last**2)]  # NumPy's: too narrow a column gives 0/0, which is NaN
    values = np.empty((x.size, degree), order="F")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(degree):
            alpha.append(float(np.sum(x * last**2) / norms[k]))
            beta = norms[k] / norms[k - 1] if k else 0.0
            before, last = last, (x - alpha[k]) * last - beta * before
            norms.append(np.sum(last**2))
            values[:, k] = last / np.sqrt(norms[-1])
    return tuple(alpha), tuple(map(float, norms)), values
