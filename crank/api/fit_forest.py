"""Forests from a formula: `crank.forest`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from crank.api.learners import asked_learner, described
from crank.api.rows import training_rows
from crank.api.seeds import drawn_seed
from crank.checks import data_first
from crank.design.monotone import signs
from crank.fitting.forest import FittedForest, check_learner, fit_forest
from crank.formula import learn_design, learn_response
from crank.frames.partitioned import is_dask, only_for_dask
from crank.models.forest import ForestModel
from crank.plugins.base import SplitLearner
from crank.plugins.registry import get_learner
from crank.rankers.forest import ForestOptions, ForestRanker
from crank.rankers.tree import LearnerInfo
from crank.ranks import rank
from crank.records.base import refuse_missing
from crank.records.call import recorded


def forest(
    data: Any,
    formula: str,
    *,
    n_trees: int = 500,
    learner: str | SplitLearner = "stump",
    learner_params: Mapping[str, Any] | None = None,
    criterion: str = "auto",
    max_depth: int = 30,
    min_samples_leaf: int | Literal["auto"] = "auto",
    max_features: int | float | Literal["auto", "sqrt"] | None = "auto",
    thresholds: Literal["auto", "best", "random", "mixed"] = "auto",
    bootstrap: bool = True,
    max_samples: float | None = None,
    monotone: Mapping[str, str | int] | None = None,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    n_jobs: int = -1,
    progress: bool | None = None,
    client: Any = None,
    sample: int | None = None,
) -> ForestModel:
    """Fit a ranking forest from a formula: many trees on bags of the rows, whose leaves vote.

    A leaf votes with the mean rank of its training rows, as a whole number from 0 to 65535; the
    score of a row is the sum of the votes of its leaves, exact wherever it is computed.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; a Dask data frame; or a dict of columns.
    formula : str
        ``"y ~ x1 + log(x2) + C(g)"``; ``.`` stands for all other columns.
    n_trees : int
        Number of trees; more never do harm but take longer. From 200 trees on, and below 10,000
        rows, what is "auto" of the next options is chosen by the rows out of bag.
    learner, learner_params
        A split learner, as in `crank.fit`. Stumps are grown in compiled code over shared bins.
    criterion : {"auto", "crank", "kendall", "iauc", "spearman"}
        What a split maximises; "auto" is "spearman", the variance of ranks.
    max_depth : int
        Greatest depth of a tree.
    min_samples_leaf : int or "auto"
        Fewest training rows in a leaf, counted as often as they were drawn; for other learners than
        stump each row counts once. "auto" is the best of 1, 2, 5 and 12, see `choices`; where
        nothing is tried 2, from 10,000 rows on 5.
    max_features : int, float, "auto", "sqrt" or None
        Columns that a node looks at, drawn anew for each node: a number, a share, the square
        root of their number, all. "auto" goes with the leaves: all for leaves of 1 draw, 0.45 of
        them for 5 and 12, else 0.6. If none of them can be cut, more are drawn. Other learners
        than stump see the columns that are not drawn as constant.
    thresholds : {"auto", "best", "random", "mixed"}
        Where a column is cut: where the criterion is best, or anywhere between its smallest and
        largest value in the node, as in extremely randomised trees (for stumps only), or the one
        and the other in every second tree. "auto" is "mixed" for stumps below 10,000 rows.
    bootstrap : bool
        Whether a bag draws rows with replacement, as many as there are; else without.
    max_samples : float, optional
        Share of the rows (or groups) that a bag draws: by default 1 with replacement, else 0.632.
        Without replacement and with 1, no row is out of bag.
    monotone : mapping, optional
        Columns in which the score never decreases or never increases; see `crank.fit`. Leaves
        out of order share their mean rank.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row. A row of weight 0 is as if absent.
    groups : str or array-like, optional
        Rows that belong together: a column's name or one label a row. Bags draw whole groups, so
        rows out of bag belong to other groups; standard errors are clustered.
    subset : str or array-like of bool or int, optional
        Rows to use, as in `crank.fit`.
    na_action : {"drop", "raise"}
        What to do with rows whose response, weight or group is missing, or a predictor if the
        learner takes no missing values. Other missing predictors go where they gain most.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Seeds bags and trees; None draws a seed, which the model's call shows.
    n_jobs : int
        Threads; −1 for one a core. The forest does not depend on it.
    progress : bool, optional
        Whether to show a bar; by default on a terminal or in a notebook when it takes a while.
    client, sample
        Of a Dask data frame, which is fitted where it is (docs/scale.md says how bags differ): the
        cluster, by default the active one; how many of its rows to fit, in this process instead.

    Returns
    -------
    ForestModel

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45, 5–32. Geurts, Ernst & Wehenkel (2006),
    Extremely randomized trees, Machine Learning 63, 3–42. Meinshausen (2006), Quantile regression
    forests, Journal of Machine Learning Research 7, 983–999. Wright & König (2019), Splitting on
    categorical predictors in random forests, PeerJ 7:e6339.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.forest(train.frame, "y ~ x", n_trees=50)
    >>> round(float(crank.metrics.kendall(test.y, m.predict(test.frame))), 2)
    0.97
    """
    data_first(data, formula, "crank.forest")
    if random_state is None:
        random_state = drawn_seed()
    only_for_dask(data, client, sample)
    options = ForestOptions(
        n_trees=n_trees,
        criterion=criterion,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        max_features=max_features,
        thresholds=thresholds,
        bootstrap=bootstrap,
        max_samples=max_samples,
        random_state=random_state,
        n_jobs=n_jobs,
        monotone=monotone,  # type: ignore[arg-type]  # numbers become words there
    )
    splitter = get_learner(learner, learner_params)
    check_learner(splitter, options)
    info = described(splitter, learner_params)
    asked = asked_learner(splitter, info) | {
        "sample": sample,
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "context": context,
        "progress": progress,
    }
    if is_dask(data):
        from crank.api.cluster import ask, fitted_forest, in_memory, require_stump

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
            require_stump(splitter)
            learned, found, training = fitted_forest(
                data, wanted, columns, options, client, progress
            )
            return ForestModel(
                formula=wanted.parsed.text,
                response=learned.response,
                training=training,
                call=recorded(
                    forest, "crank.forest", wanted.parsed.text, options.to_dict() | asked
                ),
                design=learned.design,
                ranker=_ranker(found, options, info),
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
    parsed, table = rows.parsed, rows.table
    response = learn_response(parsed, table)
    y = response.values(table)
    design = learn_design(parsed, table, native=splitter.takes_categories)
    splitter.check_size(table.n_rows, len(design.names))
    directions = signs(design, options.directions)
    X = design.matrix(table)
    if not splitter.takes_missing:
        refuse_missing(X, design, f"learner {info.name!r}")
    ranks = rank(y, rows.weights)
    fitted = fit_forest(
        X,
        ranks,
        learner=splitter,
        options=options,
        levels=tuple(0 if names is None else len(names) for names in design.levels),
        monotone=directions,
        labels=rows.groups,
        progress=progress,
    )
    training = rows.info(ranks, {}, {}, fitted.scores)
    return ForestModel(
        formula=parsed.text,
        response=response,
        training=training,
        call=recorded(forest, "crank.forest", parsed.text, options.to_dict() | asked),
        design=design,
        ranker=_ranker(fitted, options, info),
    )


def _ranker(fitted: FittedForest, options: ForestOptions, info: LearnerInfo) -> ForestRanker:
    return ForestRanker(
        options=options,
        learner=info,
        criterion=fitted.criterion,
        because=fitted.because,
        trees=fitted.trees,
        rungs=fitted.rungs,
        oob=fitted.oob,
        n_oob=fitted.n_oob,
        choice=fitted.choice,
    )
