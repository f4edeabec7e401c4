"""The front door: turn names into objects, check the data, fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.design.table import Table
from crank.design.weights import read_weights
from crank.errors import DataError
from crank.formula import ParsedFormula, learn_design, learn_response, parse_formula
from crank.model import RankingModel, refuse_missing
from crank.options import TreeOptions, one_of
from crank.plugins.base import SplitLearner
from crank.plugins.registry import get_learner, name_of
from crank.procedure import fit_tree, in_sample
from crank.provenance import LearnerInfo, TrainingInfo
from crank.ranks import rank

HOW_PRUNED = {
    None: "not pruned",
    "cv": "to the best cross-validated figure",
    "1se": "to the smallest tree within one standard error of the best",
}


def fit(
    data: Any,
    formula: str,
    *,
    learner: str | SplitLearner = "stump",
    learner_params: Mapping[str, Any] | None = None,
    criterion: str = "crank",
    max_depth: int = 6,
    min_samples_leaf: int = 5,
    leaf_order: Literal["auto", "oriented", "rank"] = "auto",
    prune: Literal["cv", "1se"] | None = "cv",
    cv: int = 10,
    cv_repeats: int = 1,
    weights: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> RankingModel:
    """Fit an oriented ranking tree from a formula.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns.
    formula : str
        ``"y ~ x1 + log(x2) + C(g)"``; ``.`` stands for all other columns.
    learner : str or SplitLearner
        An installed split learner (see `crank.learners`), or one of your own.
    learner_params : mapping, optional
        Settings of the learner.
    criterion : {"crank", "kendall", "iauc", "spearman"}
        What a split maximises: the paper's median subproblem, Kendall's τ or the IAUC of the
        whole tree, or the variance of ranks.
    max_depth, min_samples_leaf : int
        Limits of the tree.
    leaf_order : {"auto", "oriented", "rank"}
        The paper's order from left to right, or the order of the leaves' mean rank; "auto" lets
        cross-validation decide.
    prune : {"cv", "1se", None}
        Prune to the best cross-validated subtree, to the smallest within one standard error of
        it, or not at all; None runs no cross-validation.
    cv, cv_repeats : int
        Folds, and how often they are drawn anew.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row. A row of weight 0 is as if absent.
    subset : array-like of bool or int, optional
        Rows to use.
    na_action : {"drop", "raise"}
        What to do with rows whose response or weight is missing, or a predictor if the learner
        takes no missing values. Other missing predictors are passed to the learner.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Seeds folds and learners; None draws a seed.
    n_jobs : int
        Threads; −1 for one a core.
    progress : bool, optional
        Whether to show a bar; by default on a terminal when cross-validation takes a while.

    Returns
    -------
    RankingModel

    References
    ----------
    Clémençon & Achab (2017), Ranking Data with Continuous Labels through Oriented Recursive
    Partitions, NIPS.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=3, prune=None)
    >>> m.predict(test.frame).shape
    (2000,)
    """
    options = TreeOptions(
        criterion=criterion,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        leaf_order=leaf_order,
        prune=prune,
        cv=cv,
        cv_repeats=cv_repeats,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    one_of("na_action", na_action, ("drop", "raise"))
    splitter = get_learner(learner, learner_params)
    table = Table.read(data)
    w = read_weights(weights, table)
    hidden = {weights} if isinstance(weights, str) else set()
    predictors = [name for name in table.names if name not in hidden]
    parsed = parse_formula(formula, predictors, context=context)
    table, w = _subset(table, w, subset)
    table, w, dropped = _complete_rows(parsed, table, w, splitter, na_action)
    response = learn_response(parsed, table)
    y = response.values(table)
    design = learn_design(parsed, table, native=splitter.takes_categories)
    X = design.matrix(table)
    info = _describe(splitter, learner_params)
    if not splitter.takes_missing:
        refuse_missing(X, design, info.name)
    levels = tuple(0 if names is None else len(names) for names in design.levels)
    ranks = rank(y, w)
    fitted = fit_tree(X, ranks, learner=splitter, options=options, levels=levels, progress=progress)
    training = TrainingInfo(
        n=len(y),
        n_dropped=dropped,
        weighted=w is not None,
        figures=in_sample(fitted.tree, X, ranks),
        crossvalidated=fitted.crossvalidated,
    )
    return RankingModel(
        formula=parsed.text,
        response=response,
        design=design,
        tree=fitted.tree,
        pruning=fitted.path,
        options=options,
        learner=info,
        training=training,
        validation=fitted.validation,
        pruned_by=HOW_PRUNED[prune],
    )


def _describe(learner: SplitLearner, params: Mapping[str, Any] | None) -> LearnerInfo:
    return LearnerInfo(
        name=name_of(learner) or type(learner).__name__,
        params=dict(params or {}),
        takes_missing=learner.takes_missing,
        takes_categories=learner.takes_categories,
    )


def _subset(
    table: Table, w: NDArray[np.float64] | None, subset: Any
) -> tuple[Table, NDArray[np.float64] | None]:
    """Keep the rows that the user asked for."""
    if subset is None:
        return table, w
    rows = np.asarray(subset)
    if rows.dtype == bool and rows.shape == (table.n_rows,):
        pass
    elif rows.ndim == 1 and rows.dtype.kind in "iu" and len(rows):
        if rows.min() < 0 or rows.max() >= table.n_rows:
            raise DataError(
                f"subset names row {int(rows.max() if rows.min() >= 0 else rows.min())}; the data "
                f"has rows 0 to {table.n_rows - 1}."
            )
    else:
        raise DataError(
            f"subset has dtype {rows.dtype} and shape {rows.shape}. "
            f"Allowed: {table.n_rows} booleans, one a row, or row numbers from 0."
        )
    return table.rows(rows), None if w is None else w[rows]


def _complete_rows(
    parsed: ParsedFormula,
    table: Table,
    w: NDArray[np.float64] | None,
    learner: SplitLearner,
    na_action: str,
) -> tuple[Table, NDArray[np.float64] | None, int]:
    """Drop or refuse rows that cannot be used, and drop rows of weight 0."""
    if table.n_rows == 0:
        raise DataError("the data has no rows. Fitting needs at least two.")
    missing: dict[str, NDArray[np.bool_]] = {}
    columns = list(parsed.response_variables)
    if not learner.takes_missing:
        columns += [name for name in parsed.variables if name not in columns]
    for name in columns:
        missing[f"column {name!r}"] = table.missing(name)
    if w is not None:
        missing["the weights"] = np.isnan(w)
    for what, mask in missing.items():
        if mask.all():
            raise DataError(f"{what} is missing in all {table.n_rows} rows: nothing to fit.")
        if na_action == "raise" and mask.any():
            raise DataError(
                f"{what} is missing in {int(mask.sum())} of {table.n_rows} rows, the first is row "
                f"{int(np.flatnonzero(mask)[0])}. Fill them, or use na_action='drop'."
            )
    unusable = np.logical_or.reduce(list(missing.values()))
    absent = unusable if w is None else unusable | (w == 0)
    dropped = int(unusable.sum())
    if absent.any():
        table, w = table.rows(~absent), None if w is None else w[~absent]
    if table.n_rows < 2:
        raise DataError(
            f"{table.n_rows} row{'s' * (table.n_rows != 1)} left to fit "
            f"({dropped} dropped for missing values). Ranking needs at least two."
        )
    return table, w, dropped
