"""What ``ns`` learns: knots, and the pieces of a basis of natural cubic splines, as R has it."""

from __future__ import annotations

import numpy as np

from crank.design.expressions import Steps
from crank.design.factors import NaturalSpline
from crank.design.operations import Floats


def natural_spline(
    name: str, steps: Steps, inner: list[float], ends: tuple[float, float], first: int
) -> NaturalSpline:
    """Make R's basis: cubic B-splines whose second derivative is 0 at both boundary knots.

    Parameters
    ----------
    inner : list of float
        Knots between the boundary knots, increasing.
    first : int
        1 to leave out the first B-spline, and with it the intercept.
    """
    knots = np.array([ends[0], *inner, ends[1]])
    pieces = natural_pieces(bspline_pieces(knots)[:, first:], knots)
    rows = tuple(tuple(map(tuple, piece)) for piece in pieces.tolist())
    return NaturalSpline(name, steps, tuple(knots.tolist()), rows)


def natural_pieces(basis: Floats, knots: Floats) -> Floats:
    """Keep of cubic splines what has no second derivative at the outer knots; go on in lines.

    Parameters
    ----------
    basis : ndarray of shape (intervals, functions, 4)
        Pieces between the knots.

    Returns
    -------
    ndarray of shape (intervals + 2, functions - 2, 4)
        Pieces before, between and after the knots.
    """
    width = knots[-1] - knots[-2]
    bends = np.column_stack([2 * basis[0, :, 2], 2 * basis[-1, :, 2] + 6 * width * basis[-1, :, 3]])
    # what is orthogonal to the second derivatives at both ends has none there; as splines::ns
    free = np.linalg.qr(bends, mode="complete")[0][:, 2:]
    between = np.einsum("ibp,bc->icp", basis, free)
    before, after = between[0].copy(), np.zeros_like(between[-1])
    before[:, 2:] = 0
    powers = width ** np.arange(4)
    after[:, 0] = between[-1] @ powers
    after[:, 1] = between[-1][:, 1:] @ (np.arange(1, 4) * powers[:3])
    return np.concatenate([before[None], between, after[None]])


def bspline_pieces(knots: Floats) -> Floats:
    """Write cubic B-splines on distinct knots as polynomials.

    Returns
    -------
    ndarray of shape (intervals, B-splines, 4)
        Coefficients of powers of the distance from each interval's left knot.

    Examples
    --------
    >>> bspline_pieces(np.array([0.0, 1.0]))[0, 0]  # (1 - x)³
    array([ 1., -3.,  3., -1.])
    """
    t = np.concatenate([knots[:1].repeat(3), knots, knots[-1:].repeat(3)])
    intervals = len(knots) - 1
    pieces = np.zeros((intervals, intervals + 3, 4))
    for i in range(intervals):
        at = i + 3  # of the interval's left knot among all
        basis = {at: np.array([1.0, 0.0, 0.0, 0.0])}  # B-splines that are not 0 here
        for d in range(1, 4):
            larger = {}
            for j in range(at - d, at + 1):
                larger[j] = np.zeros(4)
                if j in basis:
                    rise = _times(basis[j], t[at] - t[j], 1.0)
                    larger[j] += rise / (t[j + d] - t[j])
                if j + 1 in basis:
                    fall = _times(basis[j + 1], t[j + d + 1] - t[at], -1.0)
                    larger[j] += fall / (t[j + d + 1] - t[j + 1])
            basis = larger
        for j, polynomial in basis.items():
            pieces[i, j] = polynomial
    return pieces


def _times(polynomial: Floats, constant: float, slope: float) -> Floats:
    """Multiply a polynomial by constant + slope · x; its highest power must be free."""
    product = constant * polynomial
    product[1:] += slope * polynomial[:-1]
    return product
