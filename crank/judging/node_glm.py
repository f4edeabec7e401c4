"""A logistic node's regression as statsmodels fits it, for those who want its diagnostics."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.criteria import get_criterion
from crank.errors import DataError, OptionError, require
from crank.growing.passes import Passes
from crank.growing.tree import Node
from crank.judging.diagnose.crossfit import read_task
from crank.kernels.cuts import Layer
from crank.plugins.linear import LinearRule
from crank.ranks import rank

if TYPE_CHECKING:
    from crank.records.tree import TreeRecord


def node_glm(model: TreeRecord, data: Any, node: int, *, weights: Any = None) -> Any:
    """Fit a node's regression without its penalty; see `TreeModel.node_glm`."""
    require("statsmodels", "stats")
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import (
        ConvergenceWarning,
        PerfectSeparationError,
        PerfectSeparationWarning,
    )

    path = _path(model, node)
    found = path[-1]
    rule = found.split.rule if found.split is not None else None
    if model.learner.name != "logistic" or not isinstance(rule, LinearRule):
        raise DataError(
            f"node {node} is not split by a logistic regression: the learner is "
            f"{model.learner.name!r}. Fit with learner='logistic'."
        )
    task = read_task(model, data, weights=weights)
    here = np.arange(len(task.X))
    for above, below in pairwise(path):
        assert above.split is not None
        left = above.split.goes_left(task.X, here, f"node {above.number}")
        here = here[left] if below.number == 2 * above.number else here[~left]
    if len(here) != found.n:
        raise DataError(
            f"{len(here)} rows fall into node {node}, which was split with {found.n}. Give the "
            "rows that the model was fitted to, and weights= if it had weights."
        )
    ranks = rank(task.y, task.weight)
    inside = np.zeros(len(task.X), dtype=bool)
    inside[here] = True
    position = np.flatnonzero(inside[ranks.row]).astype(np.int32)
    layer = Layer(position, np.array([0, len(position)]))
    score = Passes(ranks).scores(layer, get_criterion(model.criterion))
    scored = score != 0.0
    rows, size = ranks.row[position][scored], np.abs(score[scored])
    X = task.X[np.ix_(rows, rule.columns)].astype(np.float64)
    X = np.where(np.isnan(X), rule.centre, X)
    names = [model.design.names[k] for k in rule.columns.tolist()]
    design = sm.add_constant(pd.DataFrame(X, columns=names), has_constant="add")
    high = pd.Series((score[scored] > 0.0).astype(float), name="high")
    glm = sm.GLM(high, design, family=sm.families.Binomial(), var_weights=size / size.mean())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            found = glm.fit()
        except (PerfectSeparationError, np.linalg.LinAlgError):
            raise _separated(node) from None
    if not found.converged or ((glm.exog @ found.params > 0.0) == (glm.endog > 0.0)).all():
        raise _separated(node)
    result = found._results  # what is set on its wrapper stays there
    result.cov_type, result.cov_params_default = "HC0", _sandwich(found)
    return found


def _sandwich(found: Any) -> NDArray[np.float64]:
    """Estimate the robust covariance; statsmodels' own is NaN if a fitted share rounds to 1."""
    glm, share = found.model, np.asarray(found.fittedvalues)
    scores = glm.exog * (glm.var_weights * (glm.endog - share))[:, None]
    weight = glm.var_weights * share * (1.0 - share)
    bread = np.linalg.inv((glm.exog * weight[:, None]).T @ glm.exog)
    return np.asarray(bread @ (scores.T @ scores) @ bread)


def _separated(node: int) -> DataError:
    return DataError(
        f"the columns separate the two sides of node {node}: without a penalty its coefficients "
        "have no finite estimate. coefficients() has those with a penalty."
    )


def _path(model: TreeRecord, number: int) -> list[Node]:
    """Find the nodes from the root to the one that people call by this number."""
    known = {node.number: node for node in model.tree.nodes}
    if isinstance(number, bool) or number not in known:
        raise OptionError(
            f"node={number!r} is not allowed: the tree has no such node. Allowed: those of "
            "nodes(), 1 for the root."
        )
    path = []
    while number:
        path.append(known[number])
        number //= 2
    return path[::-1]
