"""Two models with an optimal ranking rule, and one without."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from crank.checks import RandomState, at_least, generator, one_of, positive, whole
from crank.datasets.sample import Sample, sample_of

NoiseDistribution: TypeAlias = Literal["normal", "student"]


def regression(
    n: int = 1000,
    p: int = 10,
    noise: float = 1.0,
    random_state: RandomState = None,
    *,
    distribution: NoiseDistribution = "normal",
) -> Sample:
    """Draw from Y = m(X) + ε with ε independent of X; m(x) is an optimal score.

    P(Y > y | X = x) = P(ε > y − m(x)) increases with m(x) for every y and every distribution of ε,
    so m orders the rows best at every threshold. Here X is uniform on the unit cube and m is
    Friedman's function, 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5; features past the fifth
    carry nothing.

    Parameters
    ----------
    n : int
        Number of rows.
    p : int
        Number of features, 5 or more.
    noise : float
        Scale of ε, 0 or more; the standard deviation of m(X) is about 5.
    random_state : int, numpy.random.Generator or None
        The same integer gives the same rows.
    distribution : {"normal", "student"}
        Of ε before scaling: standard normal, or Student's t with 3 degrees of freedom, whose heavy
        tails hurt least squares far more than they hurt ranks.

    References
    ----------
    Friedman, J. H. (1991). Multivariate adaptive regression splines. *The Annals of Statistics* 19.

    Examples
    --------
    >>> sample = regression(200, p=6, noise=0.0, random_state=0)
    >>> sample.X.columns.tolist()
    ['x1', 'x2', 'x3', 'x4', 'x5', 'x6']
    >>> bool((sample.optimal == sample.y).all())
    True
    """
    one_of("distribution", distribution, get_args(NoiseDistribution))
    n, p, scale = whole("n", n, 1), whole("p", p, 5), at_least("noise", noise, 0.0)
    rng = generator(random_state)
    x = rng.random((n, p))
    error = rng.standard_normal(n) if distribution == "normal" else rng.standard_t(3.0, n)
    m = (
        10.0 * np.sin(np.pi * x[:, 0] * x[:, 1])
        + 20.0 * (x[:, 2] - 0.5) ** 2
        + 10.0 * x[:, 3]
        + 5.0 * x[:, 4]
    )
    description = f"y = m(x) + {scale:g}·ε, Friedman's m, {distribution} ε independent of x"
    return sample_of(x, m + scale * error, m, "regression", description)


def exponential_family(
    n: int = 1000,
    p: int = 4,
    strength: float = 2.0,
    random_state: RandomState = None,
) -> Sample:
    """Draw X given Y from an exponential family with an increasing parameter; T(x) is optimal.

    Y is uniform on (0, 1), κ(y) = strength · y, and given Y = y the features are independent: the
    odd ones (x1, x3, …) are N(κ(y), 1), the even ones (x2, x4, …) are N(0, 1 / (1 + κ(y))).

    Parameters
    ----------
    n : int
        Number of rows.
    p : int
        Number of features, 2 or more.
    strength : float
        How fast κ grows, above 0: the larger, the more X tells of Y.
    random_state : int, numpy.random.Generator or None
        The same integer gives the same rows.

    Notes
    -----
    With f the density of p independent N(0, 1), the ratio of densities at one feature is

    - odd: exp(−(x − κ)²/2) / exp(−x²/2) = exp(κ x − κ²/2),
    - even: √(1 + κ) exp(−(1 + κ) x²/2) / exp(−x²/2) = exp(−κ x²/2 + ½ log(1 + κ)).

    Their product is f(x | y) = exp(κ(y) T(x) − ψ(y)) f(x), where

        T(x) = Σ_odd x_j − ½ Σ_even x_j²,
        ψ(y) = Σ_odd κ(y)²/2 − ½ Σ_even log(1 + κ(y)).

    Hence for y < y′ the likelihood ratio f(x | y′) / f(x | y) increases with T(x) alone, and T
    orders the rows best at every threshold.

    Examples
    --------
    >>> sample = exponential_family(3, p=2, random_state=0)
    >>> x1, x2 = sample.X["x1"], sample.X["x2"]
    >>> bool((sample.optimal == x1 - x2**2 / 2).all())
    True
    """
    n, p, slope = whole("n", n, 1), whole("p", p, 2), positive("strength", strength)
    rng = generator(random_state)
    y = rng.random(n)
    x = rng.standard_normal((n, p))
    kappa = (slope * y)[:, np.newaxis]
    x[:, 0::2] += kappa
    x[:, 1::2] /= np.sqrt(1.0 + kappa)
    t = x[:, 0::2].sum(axis=1) - (x[:, 1::2] ** 2).sum(axis=1) / 2.0
    description = f"f(x|y) = exp(κ(y)·T(x) − ψ(y))·f(x), κ(y) = {slope:g}·y, y uniform on (0, 1)"
    return sample_of(x, y, t, "exponential_family", description)


def no_optimal_rule(n: int = 1000, random_state: RandomState = None) -> Sample:
    """Draw from a model in which no score is best at every threshold.

    Y is uniform on [0, 1] and X given Y = y is N(|2y − 1|, (2y − 1)²). X tells how far Y lies from
    ½ and nothing of the side. A score that finds the largest Y's puts the smallest beside them:
    AUC_y(s) + AUC_{1−y}(s) = 1 for every score s, so every score has IAUC ½ and d_τ ½, and E[Y | X]
    is constant. Yet x ranks better than chance for y near 1, and −x for y near 0.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        The same integer gives the same rows.

    Examples
    --------
    >>> sample = no_optimal_rule(100, random_state=0)
    >>> sample.optimal is None
    True
    """
    rng = generator(random_state)
    y = rng.random(whole("n", n, 1))
    spread = np.abs(2.0 * y - 1.0)
    x = spread * (1.0 + rng.standard_normal(len(y)))
    description = "x given y is N(|2y − 1|, (2y − 1)²), y uniform on [0, 1]"
    return sample_of(x[:, np.newaxis], y, None, "no_optimal_rule", description)
