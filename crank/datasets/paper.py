"""The experiment of the paper: its model, and the very sample behind its table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crank.checks import RandomState, generator, whole
from crank.datasets.sample import Sample, sample_of


def paper_toy(n: int = 100, random_state: RandomState = None) -> Sample:
    """Draw from the experiment of the paper: one feature, no noise, and a flat, wavy middle.

    Y = m(X), where m(x) = (P(x) − P(0)) / (P(1) − P(0)), P(x) = z²(z + 1)(z + 1.5)(z + 2) and
    z = 25 (x − 0.5). X is uniform on [0.415, 0.51] with probability 0.8, on [0, 0.415] and on
    [0.51, 1] with probability 0.1 each. In the middle piece m rises and falls within about a
    millionth of its range: least squares does not see it, yet eight rows out of ten lie there.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        The same integer gives the same rows.

    References
    ----------
    Clémençon, S. and Achab, M. (2017). Ranking data with continuous labels through oriented
    recursive partitions. *Advances in Neural Information Processing Systems* 30.

    Examples
    --------
    >>> sample = paper_toy(1000, random_state=0)
    >>> bool((sample.optimal == sample.y).all())
    True
    """
    uniforms = generator(random_state).random((whole("n", n, 1), 2))
    return _toy(uniforms, "paper_toy")


def paper_sample() -> tuple[Sample, Sample]:
    """Return the data of the paper's table: 100 rows to train on, 2,000 to test on.

    NumPy's legacy generator, whose stream is frozen, gives them back from seed 4529: the training
    rows, then 2,000 draws that nothing uses, then the test rows.

    Returns
    -------
    train, test : Sample

    Examples
    --------
    >>> train, test = paper_sample()
    >>> len(train.frame), len(test.frame)
    (100, 2000)
    >>> train.X["x"].head(3).round(6).tolist()
    [0.462784, 0.451406, 0.41875]
    """
    legacy = np.random.RandomState(4529)
    train = legacy.random_sample((100, 2))
    legacy.random_sample(2000)
    test = legacy.random_sample((2000, 2))
    return _toy(train, "paper_sample (train)"), _toy(test, "paper_sample (test)")


def _toy(uniforms: NDArray[np.float64], name: str) -> Sample:
    """Turn pairs of uniforms (which piece, where in it) into rows of the paper's experiment."""
    piece, place = uniforms.T
    middle, low, high = 0.415 + 0.095 * place, 0.415 * place, 0.51 + 0.49 * place
    x = np.where(piece < 0.8, middle, np.where(piece < 0.9, low, high))
    y = _polynomial(x)
    description = "y = m(x), the paper's polynomial, no noise"
    return sample_of(x[:, np.newaxis], y, y.copy(), name, description)


def _polynomial(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate m, scaled so that m(0) = 0 and m(1) = 1."""
    z = 25.0 * (np.concatenate((x, [0.0, 1.0])) - 0.5)
    p = z**2 * (z + 1.0) * (z + 1.5) * (z + 2.0)
    scaled: NDArray[np.float64] = (p[:-2] - p[-2]) / (p[-1] - p[-2])
    return scaled
