"""How smooth each term of an additive ranker shall be, by restricted likelihood.

A penalty on coefficients is a normal prior on them. The prior that explains the estimates best has
their size over the effective degrees of freedom that they use as its variance, so a term's
smoothing is the dispersion times those degrees over the bending that was paid for (Wood & Fasiolo
2017, Biometrics 73, 1071–1081). Pairs are not independent: their dispersion is how many times
larger the sandwich is than the inverse information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.fitting.bounded import freedom_of
from crank.fitting.linear import Groups
from crank.fitting.pairs import Floats, Pairs

WIDTH = 1.0 / 8.0
"""Of the grid on which pairs are summed while smoothing is chosen: it needs few digits."""
START = 0.1
"""Smoothing of a term to begin with: nearly a line."""
LOWEST, HIGHEST = 1e-7, 1e3
"""Range of the smoothing of a term."""
FIRST_STEPS, MOST_STEPS = 8, 30
"""Newton steps before the first change of smoothing, and most changes, a step after each."""
ENOUGH = 0.02
"""Changes of every term's degrees of freedom below this are the last."""
LEAST = 1e-9
"""Smallest penalty of a column: it may be constant in a part of the rows."""
FARTHEST = 6.0
"""Farthest that a step may move a score, in units of the link."""
STILL = 1e-3
"""A step that moves no score by more is the last."""


@dataclass(frozen=True)
class Penalty:
    """What a fit holds against standardised columns.

    Half of ``smoothing[term] · bending + ridge`` times a squared coefficient is added to the mean
    loss of a pair.

    Attributes
    ----------
    bending, ridge : ndarray of shape (k,)
    term : ndarray of int, shape (k,)
        Which smoothing parameter a column's bending is multiplied by; -1 for columns that do not
        bend.
    caution : ndarray of shape (k,)
        How many times the smoothing that restricted likelihood asks for its term gets.
    """

    bending: Floats
    ridge: Floats
    term: NDArray[np.intp]
    caution: Floats

    @property
    def n_terms(self) -> int:
        """How many smoothing parameters there are."""
        return int(self.term.max(initial=-1)) + 1

    def per_column(self, smoothing: Floats) -> Floats:
        """Return the penalty on half of each squared coefficient."""
        return np.asarray(self.ridge + self.bending * np.append(smoothing, 0.0)[self.term])

    def per_term(self, values: Floats) -> Floats:
        """Add up values of columns over the columns that bend together."""
        bent = self.term >= 0
        return np.bincount(self.term[bent], values[bent], self.n_terms).astype(np.float64)

    @property
    def caution_by_term(self) -> Floats:
        """How many times smoother each term is made."""
        bent, found = self.term >= 0, np.ones(self.n_terms)
        found[self.term[bent]] = self.caution[bent]
        return found

    def joined(self, other: Penalty) -> Penalty:
        """Put the columns of another penalty behind, with smoothing parameters of their own."""
        behind = np.where(other.term >= 0, other.term + self.n_terms, -1)
        return Penalty(
            np.concatenate([self.bending, other.bending]),
            np.concatenate([self.ridge, other.ridge]),
            np.concatenate([self.term, behind]),
            np.concatenate([self.caution, other.caution]),
        )


@dataclass(frozen=True)
class Smoothed:
    """Coefficients whose smoothing was chosen.

    Attributes
    ----------
    b : ndarray of shape (k,)
        Close to the best ones.
    smoothing : ndarray of shape (terms,)
    freedom : ndarray of shape (terms,)
        Effective degrees of freedom of the columns of each term that bend.
    """

    b: Floats
    smoothing: Floats
    freedom: Floats


def choose_smoothing(
    pairs: Pairs, penalty: Penalty, groups: Groups | None = None, start: Smoothed | None = None
) -> Smoothed:
    """Choose the smoothing of every term, and fit.

    Parameters
    ----------
    pairs : Pairs
        Without a penalty.
    penalty : Penalty
    groups : ndarray of int, optional
        Group of each row, in the order of the pairs' rows: only groups are independent.
    start : Smoothed, optional
        Where to begin.

    Examples
    --------
    >>> from crank.kernels.links import LINKS
    >>> from crank.ranks import rank
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1.0, 1.0, 400)
    >>> ranks = rank(np.where(x > 0.0, 3.0 * x, 0.0) + rng.logistic(size=400))
    >>> Z = np.column_stack([x, x**2, np.cos(9.0 * x)])[ranks.row]
    >>> term, ridge = np.array([-1, 0, 1]), np.full(3, 1e-4)
    >>> penalty = Penalty(np.array([0.0, 1.0, 1.0]), ridge, term, np.ones(3))
    >>> pairs = Pairs((Z - Z.mean(0)) / Z.std(0), ranks, LINKS["logit"], 0.0, 0.0)
    >>> found = choose_smoothing(pairs, penalty)
    >>> bool(found.smoothing[0] < found.smoothing[1])
    True
    """
    b = np.zeros(pairs.Z.shape[1]) if start is None else start.b
    smoothing = np.full(penalty.n_terms, START) if start is None else start.smoothing
    unit = pairs.ranks.total**2 / 2.0
    used, caution = np.full(penalty.n_terms, np.inf), penalty.caution_by_term
    loss = penalised(pairs, np.maximum(penalty.per_column(smoothing), LEAST))
    b = approached(loss, b, FIRST_STEPS)
    for _ in range(MOST_STEPS if penalty.n_terms else 0):
        products, score, information = moments(pairs, b, groups)
        ridge = np.broadcast_to(loss.ridge, len(b))
        inverse, freedom = freedom_of(pairs.bounds, b, information + np.diag(ridge), ridge)
        before, used = used, np.maximum(penalty.per_term(freedom), LEAST)
        bent = unit * penalty.per_term(penalty.bending * b**2)
        spread = dispersion(inverse, products, freedom, independent(pairs, groups))
        asked = spread * used / np.maximum(bent, 1e-300)
        smoothing = np.clip(caution * asked, LOWEST, HIGHEST)
        if np.abs(used - before).max() <= ENOUGH:
            break
        # at these coefficients all is known but the new penalty
        loss = penalised(pairs, np.maximum(penalty.per_column(smoothing), LEAST))
        b = b + newton_step(loss, b, score - loss.ridge * b, information + np.diag(loss.ridge))
    return Smoothed(b, smoothing, used)


def dispersion(inverse: Floats, products: Floats, freedom: Floats, n: int) -> float:
    """How many times more the scores of the pairs vary than if pairs were independent.

    Influences were measured on the rows that were fitted, so each is too small by the degrees of
    freedom that the fit used.
    """
    total = float(freedom.sum())
    if total <= 0.0:
        return 0.0
    return float(np.sum(inverse * products)) / total * lost_freedom(n, total)


def lost_freedom(n: int, freedom: float) -> float:
    """How many times too small squared influences are on the n rows of a fit that used freedom.

    Examples
    --------
    >>> lost_freedom(100, 20.0)
    1.25
    """
    return n / max(n - freedom, n / 20.0)


def moments(pairs: Pairs, b: Floats, groups: Groups | None) -> tuple[Floats, Floats, Floats]:
    """Return the sum of the products of independent influences, score and information."""
    if groups is None:
        return pairs.moments(b)
    sums = np.array([np.bincount(groups, u) for u in pairs.influences(b).T], dtype=np.float64)
    return sums @ sums.T, *pairs.newton(b)


def independent(pairs: Pairs, groups: Groups | None) -> int:
    """Count what is independent: rows, or groups."""
    return len(pairs.Z) if groups is None else int(groups.max()) + 1


def penalised(pairs: Pairs, penalty: Floats) -> Pairs:
    """Put a penalty, relative to the mean loss of a pair, on the coefficients."""
    return pairs.under(penalty * pairs.ranks.total**2 / 2.0)


def approached(pairs: Pairs, b: Floats, steps: int) -> Floats:
    """Go some steps of Newton's method towards the least penalised loss, within its bounds."""
    bounds = pairs.bounds
    if bounds is not None:
        b = bounds.nearest(b, np.eye(len(b)))
    for _ in range(steps):
        step = newton_step(pairs, b, *pairs.newton(b))
        b = b + step
        if float(np.abs(pairs.Z @ step).max()) <= STILL:
            break
    return b


def newton_step(pairs: Pairs, b: Floats, score: Floats, information: Floats) -> Floats:
    """Return a step of Newton's method, within bounds, that moves no score too far."""
    if pairs.bounds is None:
        step = np.linalg.solve(information, score)
    else:
        step = pairs.bounds.step(b, score, information)
    moved = float(np.abs(pairs.Z @ step).max())
    return np.asarray(step * min(1.0, FARTHEST / max(moved, FARTHEST)))
