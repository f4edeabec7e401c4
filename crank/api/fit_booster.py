"""Boosters from a formula: `crank.boost`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from crank.api.rows import in_process, training_rows
from crank.api.seeds import drawn_seed
from crank.checks import data_first, flag
from crank.design.interaction import column_sets
from crank.design.monotone import signs
from crank.errors import require
from crank.fitting.booster import fit_booster
from crank.fitting.columns import check_columns
from crank.fitting.linear import training_figures
from crank.formula import learn_design, learn_response
from crank.frames.profile import number_profile
from crank.models.booster import BoosterModel
from crank.rankers.booster import BoosterOptions
from crank.ranks import rank
from crank.records.call import recorded


def boost(
    data: Any,
    formula: str,
    *,
    loss: Literal["concordance", "rank", "y"] = "concordance",
    kappa: float = 10.0,
    rounds: int | None = None,
    max_rounds: int = 1000,
    patience: int = 50,
    trees: Literal["small", "large"] = "small",
    params: Mapping[str, Any] | None = None,
    metric: str = "kendall",
    cv: int | None = None,
    monotone: Mapping[str, str | int] | None = None,
    interaction: Sequence[Sequence[str]] | Literal["none"] | None = None,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    keep_on_interrupt: bool = False,
    progress: bool | None = None,
    sample: int | None = None,
) -> BoosterModel:
    """Boost small trees on the concordance of all pairs, with LightGBM as the engine.

    The loss of a pair is logistic in the difference of its scores, and its sum over all pairs costs
    no more than squared error: the gradient of a row is its soft rank among the scores minus its
    rank in y (theory §10). Needs the extra ``lightgbm`` to fit, but not to score.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns.
    formula : str
        ``"y ~ x1 + log(x2) + g"``; ``.`` stands for all other columns. Categories are split into
        sets of levels, missing values go the way that is better in training.
    loss : {"concordance", "rank", "y"}
        The logistic loss of all pairs; or squared error, on the ranks of y or on y itself. The
        last is the only one that an increasing transform of y changes.
    kappa : float
        For the loss "concordance": the target of a pair is the logistic function of kappa times the
        difference of its ranks, from 0 to 1. ``float("inf")`` asks for the order only.
    rounds : int, optional
        Number of trees. By default cross-validation chooses it: boosters without each fold
        grow in step, until the held-out figure has not grown for ``patience`` rounds.
    max_rounds, patience : int
        Most trees that are tried, and how many in vain before no more are.
    trees : {"small", "large"}
        Settings to start from: 10 leaves, random rows and columns, a penalty; or 31 leaves.
    params : mapping, optional
        Settings of LightGBM that replace those, such as ``{"num_leaves": 15}``.
    metric : {"kendall", "iauc", "iauc_uniform"}
        Figure by which rounds are chosen.
    cv : int, optional
        Folds; by default 5, from 50,000 rows on 3, and from 300,000 rows on a fifth of the rows is
        held out once.
    monotone : mapping of str to str, optional
        ``{"x": "increasing"}`` or "decreasing" (also 1 or −1): the score never falls, or never
        rises, in x.
    interaction : sequence of sequences of str, or "none", optional
        Sets of columns, such as ``[["x1", "x2"], ["x3"]]``: only columns of one set may meet in a
        branch of a tree. Columns that no set names act alone; with "none" all do.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row.
    groups : str or array-like, optional
        Rows that belong together, by a column's name or one label a row; folds keep groups whole,
        and errors are clustered.
    subset : str or array-like of bool or int, optional
        Rows to use, as in `crank.fit`.
    na_action : {"drop", "raise"}
        What to do with rows whose response, weight or group is missing.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Seeds folds and the engine; None draws a seed, which the model's call shows. The model
        does not depend on ``n_jobs``.
    n_jobs : int
        Threads; −1 for one a core.
    keep_on_interrupt : bool
        Whether Ctrl-C ends the search for rounds, or the training, and returns the best so far.
    progress : bool, optional
        Whether to show a bar with the running figure; by default on a terminal or in a notebook.
    sample : int, optional
        Of a Dask data frame: how many of its rows to fit, in this process.

    Returns
    -------
    BoosterModel

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(400, p=5, random_state=0)
    >>> m = crank.boost(sample.frame[:300], "y ~ .", rounds=100)
    >>> round(float(m.evaluate(sample.frame[300:])["estimate"].iloc[0]), 2)
    0.89
    """
    data_first(data, formula, "crank.boost")
    require("lightgbm", "lightgbm")
    if random_state is None:
        random_state = drawn_seed()
    data = in_process(data, sample, random_state, "crank.boost")
    options = BoosterOptions(
        loss=loss,
        kappa=kappa,
        rounds=rounds,
        max_rounds=max_rounds,
        patience=patience,
        trees=trees,
        params={} if params is None else params,
        metric=metric,
        cv=cv,
        monotone=monotone,  # type: ignore[arg-type]  # numbers become words there
        interaction=interaction,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    flag("keep_on_interrupt", keep_on_interrupt)
    rows = training_rows(
        data,
        formula,
        weights=weights,
        groups=groups,
        subset=subset,
        na_action=na_action,
        context=context,
        takes_missing=True,
    )
    response = learn_response(rows.parsed, rows.table)
    y = response.values(rows.table)
    design = learn_design(rows.parsed, rows.table, native=True)
    check_columns(len(design.names))
    directions = signs(design, options.directions)
    sets = column_sets(design, options.interaction)
    X = design.matrix(rows.table)
    ranks = rank(y, rows.weights)
    fitted = fit_booster(
        X,
        ranks,
        options=options,
        levels=[0 if names is None else len(names) for names in design.levels],
        monotone=directions,
        interaction=sets,
        labels=rows.groups,
        progress=progress,
        keep_on_interrupt=keep_on_interrupt,
    )
    training = rows.info(
        ranks,
        training_figures(fitted.ranker, X, ranks, rows.groups),
        fitted.crossvalidated,
        number_profile(fitted.ranker.predict(X)),
    )
    asked = {
        "sample": sample,
        "loss": loss,
        "kappa": kappa,
        "rounds": rounds,
        "max_rounds": max_rounds,
        "patience": patience,
        "trees": trees,
        "params": params,
        "metric": options.metric,
        "cv": cv,
        "monotone": options.monotone,
        "interaction": options.interaction,
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "context": context,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "keep_on_interrupt": keep_on_interrupt,
        "progress": progress,
    }
    return BoosterModel(
        formula=rows.parsed.text,
        response=response,
        training=training,
        call=recorded(boost, "crank.boost", rows.parsed.text, asked),
        design=design,
        ranker=fitted.ranker,
    )
