"""Trees from a formula: `crank.fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from crank.api.learners import asked_learner, described, warn_of_memory
from crank.api.rows import training_rows
from crank.api.seeds import drawn_seed
from crank.checks import data_first
from crank.design.monotone import signs
from crank.fitting.tree import FittedTree, fit_tree, in_sample
from crank.formula import learn_design, learn_response
from crank.frames.partitioned import is_dask, only_for_dask
from crank.models.tree import TreeModel
from crank.plugins.base import SplitLearner
from crank.plugins.nodewise import require_monotone
from crank.plugins.registry import get_learner
from crank.rankers.options import TreeOptions
from crank.rankers.tree import LearnerInfo, TreeRanker
from crank.ranks import rank
from crank.records.base import refuse_missing
from crank.records.call import recorded

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
    criterion: str = "auto",
    max_depth: int = 6,
    min_samples_leaf: int = 5,
    leaf_order: Literal["auto", "oriented", "rank"] = "auto",
    prune: Literal["cv", "1se"] | None = "cv",
    cv: int = 10,
    cv_repeats: int = 1,
    monotone: Mapping[str, str | int] | None = None,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
    client: Any = None,
    sample: int | None = None,
) -> TreeModel:
    """Fit an oriented ranking tree from a formula.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns. A Dask data frame is
        fitted on its cluster, see docs/scale.md.
    formula : str
        ``"y ~ x1 + log(x2) + C(g)"``; ``.`` stands for all other columns.
    learner : str or SplitLearner
        An installed split learner (see `crank.learners`), or one of your own.
    learner_params : mapping, optional
        Settings of the learner.
    criterion : {"auto", "crank", "kendall", "iauc", "spearman"}
        What a split maximises: the paper's median subproblem, Kendall's τ or the IAUC of the
        whole tree, or the variance of ranks. "auto" is "kendall" if y has two values, or if more
        than a tenth of all pairs of rows are tied in y, else "crank"; the summary says which.
    max_depth, min_samples_leaf : int
        Limits of the tree.
    leaf_order : {"auto", "oriented", "rank"}
        The paper's order from left to right, or the order of the leaves' mean rank; "auto" lets
        cross-validation decide.
    prune : {"cv", "1se", None}
        Prune to the best cross-validated subtree, to the smallest within one standard error of
        it, or not at all; None runs no cross-validation.
    cv, cv_repeats : int
        Folds, and how often they are drawn anew. There are fewer folds on small data: at most 6
        below 200 rows, and at least 10 rows each.
    monotone : mapping, optional
        ``{"income": "increasing"}``: the score never decreases in that column while all others
        stay as they are; also "decreasing", 1 and −1. Names are raw columns, whose terms must be
        the column itself or a known monotone function of it, or single columns of the design.
        Missing values are not compared. For the learners stump, tree, logistic and linear svm;
        the leaves are then ordered from left to right.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row. A row of weight 0 is as if absent.
    groups : str or array-like, optional
        Rows that belong together, such as visits of one patient: a column's name or one label a
        row. Folds keep groups whole, and standard errors are clustered by group.
    subset : str or array-like of bool or int, optional
        Rows to use: a condition such as ``"age < 90 & sex == 'f'"`` (where a value is missing it
        holds only if the rest decides, as in R), one True or False a row, or row numbers.
    na_action : {"drop", "raise"}
        What to do with rows whose response, weight or group is missing, or a predictor if the
        learner takes no missing values. Other missing predictors are passed to the learner.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Seeds folds and learners; None draws a seed, which the model's call shows.
    n_jobs : int
        Threads; −1 for one a core.
    progress : bool, optional
        Whether to show a bar; by default on a terminal or in a notebook when folds take a while.
    client : distributed.Client, optional
        Of a Dask data frame: where to fit; by default the active client, else Dask's scheduler.
    sample : int, optional
        Of a Dask data frame: fit so many of its rows, in this process, by any learner. They are
        chosen by a hash of their content.

    Returns
    -------
    TreeModel

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
    data_first(data, formula, "crank.fit")
    if random_state is None:
        random_state = drawn_seed()
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
        monotone=monotone,  # type: ignore[arg-type]  # numbers become words there
    )
    splitter = get_learner(learner, learner_params)
    only_for_dask(data, client, sample)
    if options.monotone:
        require_monotone(splitter)
    if not splitter.saves_json:
        warn_of_memory(splitter)
    info = described(splitter, learner_params)
    asked = asked_learner(splitter, info) | {
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "context": context,
        "progress": progress,
        "sample": sample,
    }
    if is_dask(data):
        from crank.api.cluster import ask, fitted_tree, in_memory, require_stump

        wanted, columns = ask(
            data,
            formula,
            weights=weights,
            groups=groups,
            subset=subset,
            na_action=na_action,
            context=context,
            takes_missing=splitter.takes_missing,
        )
        if sample is None:
            learned, grown, training = fitted_tree(
                data, wanted, columns, require_stump(splitter), options, client, progress
            )
            return TreeModel(
                formula=wanted.parsed.text,
                response=learned.response,
                training=training,
                call=recorded(fit, "crank.fit", wanted.parsed.text, options.to_dict() | asked),
                design=learned.design,
                ranker=_ranker(grown.fitted, options, info),
            )
        data = in_memory(data, sample, columns, client, random_state)
    rows = training_rows(
        data,
        formula,
        weights=weights,
        groups=groups,
        subset=subset,
        na_action=na_action,
        context=context,
        takes_missing=splitter.takes_missing,
    )
    parsed, table, group = rows.parsed, rows.table, rows.groups
    response = learn_response(parsed, table)
    y = response.values(table)
    design = learn_design(parsed, table, native=splitter.takes_categories)
    splitter.check_size(table.n_rows, len(design.names))
    directions = signs(design, options.directions)
    X = design.matrix(table)
    if not splitter.takes_missing:
        refuse_missing(X, design, f"learner {info.name!r}")
    levels = tuple(0 if names is None else len(names) for names in design.levels)
    ranks = rank(y, rows.weights)
    fitted = fit_tree(
        X,
        ranks,
        learner=splitter,
        options=options,
        levels=levels,
        monotone=directions,
        labels=group,
        progress=progress,
    )
    figures = in_sample(fitted.tree, X, ranks, fitted.figure, group)
    training = rows.info(ranks, figures, fitted.crossvalidated)
    return TreeModel(
        formula=parsed.text,
        response=response,
        training=training,
        call=recorded(fit, "crank.fit", parsed.text, options.to_dict() | asked),
        design=design,
        ranker=_ranker(fitted, options, info),
    )


def _ranker(fitted: FittedTree, options: TreeOptions, info: LearnerInfo) -> TreeRanker:
    return TreeRanker(
        tree=fitted.tree,
        pruning=fitted.path,
        options=options,
        learner=info,
        validation=fitted.validation,
        pruned_by=HOW_PRUNED[options.prune],
        criterion=fitted.criterion,
        because=fitted.because,
    )
