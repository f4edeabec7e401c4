"""All pairs written down: the oracle of the linear ranker."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import norm

LINKS = {
    "logit": (expit, lambda x: expit(x) * expit(-x)),
    "probit": (ndtr, norm.pdf),
}


def naive_fit(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray | Any | None = None,
    *,
    link: str = "logit",
    groups: np.ndarray | Any | None = None,
    penalty: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method on explicit pairs; coefficients and covariance by sums over rows.

    Without a penalty and with the logit link this is the logistic regression of all pairs.
    """
    n, p = X.shape
    w = np.ones(n) if w is None else np.asarray(w, dtype=float)
    above, slope = LINKS[link]
    i, j = np.triu_indices(n, 1)
    D, weight = X[i] - X[j], w[i] * w[j]
    won = (y[i] > y[j]) + 0.5 * (y[i] == y[j])
    centred = X - w @ X / w.sum()
    ridge = np.diag(penalty * w.sum() ** 2 / 2.0 * (w @ centred**2) / w.sum())
    b = np.zeros(p)
    for _ in range(100):
        information = (D * (weight * slope(D @ b))[:, None]).T @ D + ridge
        step = np.linalg.solve(information, D.T @ (weight * (won - above(D @ b))) - ridge @ b)
        b = b + step
        if np.abs(step).max() < 1e-13 * (1.0 + np.abs(b).max()):
            break
    pairwise = D * (weight * (won - above(D @ b)))[:, None]
    u = np.zeros((n, p))
    np.add.at(u, i, pairwise)
    np.add.at(u, j, pairwise)
    u -= np.outer(w / w.sum(), u.sum(axis=0))
    if groups is not None:
        u = np.stack([u[groups == g].sum(axis=0) for g in np.unique(groups)])
    inverse = np.linalg.inv((D * (weight * slope(D @ b))[:, None]).T @ D + ridge)
    return b, inverse @ (u.T @ u) @ inverse
