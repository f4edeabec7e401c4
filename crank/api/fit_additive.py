"""Additive rankers from a formula: `crank.additive`, and smooth terms in `crank.linear`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from crank.api.rows import TrainingRows, training_rows
from crank.api.seeds import drawn_seed
from crank.design.penalties import column_penalties
from crank.design.rugs import rugs_of
from crank.fitting.additive import fit_additive
from crank.fitting.columns import check_columns
from crank.fitting.linear import training_figures
from crank.formula import ParsedFormula, additive_terms, learn_design, learn_response
from crank.models.additive import AdditiveModel
from crank.rankers.additive import RIDGE, AdditiveOptions
from crank.ranks import rank
from crank.records.base import refuse_missing
from crank.records.call import Call, recorded


def additive(
    data: Any,
    formula: str,
    *,
    link: Literal["logit", "probit"] = "logit",
    smoothing: float | None = None,
    penalty: float = RIDGE,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    cv: int = 5,
    random_state: int | None = 0,
    context: Mapping[str, Callable[..., Any]] | None = None,
) -> AdditiveModel:
    """Fit an additive ranker from a formula: a sum of curves that can be drawn.

    A generalised additive model for ranks: the probability that one row ranks above another is a
    function of the difference of their scores, as in `crank.linear`, and the score is a sum of
    smooth functions, one for each number, and of a value for each level of each category.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns.
    formula : str
        ``"y ~ ."``. Numbers with more than two values are smooth: ``x`` stands for ``s(x)``.
        ``s(x, df=4)`` has fewer columns, ``s(x, df=1)`` is a line, ``s(x, by=g)`` a curve for each
        level of g; ``a:b`` of two numbers is a smooth surface.
    link : {"logit", "probit"}
        As in `crank.linear`.
    smoothing : float, optional
        What bending costs: half of it times the sum of squares of the coefficients of all bending
        columns, each weighted by how much it bends, is added to the mean loss of a pair. By
        default cross-validated concordance chooses it from 0.1, nearly lines, to 1e-6.
    penalty : float
        Ridge: half of it times the sum of squares of all coefficients is added likewise. It keeps
        separated rows, redundant columns and rare levels from mattering.
    weights, groups, subset, na_action, context
        As in `crank.linear`; folds keep groups whole.
    cv : int
        Folds that choose the smoothing; fewer in small samples. Above 10,000 rows a random
        part of so many rows does.
    random_state : int
        Seed of the folds; None draws one.

    Returns
    -------
    AdditiveModel

    References
    ----------
    Hastie & Tibshirani (1990), Generalized additive models; Wood (2017), Generalized additive
    models: an introduction with R; Thas, De Neve, Clement & Ottoy (2012), Probabilistic index
    models, Journal of the Royal Statistical Society B 74, 623–671.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, noise=1.0, random_state=0).frame
    >>> m = crank.additive(sample, "y ~ .")
    >>> m.terms().round(1)[["term", "edf"]]
        term  edf
    0  s(x1)  5.5
    1  s(x2)  5.2
    2  s(x3)  5.6
    3  s(x4)  5.3
    4  s(x5)  5.4
    """
    if random_state is None:
        random_state = drawn_seed()
    options = AdditiveOptions(link, smoothing, penalty, cv=cv, random_state=random_state)
    rows = training_rows(
        data,
        formula,
        weights=weights,
        groups=groups,
        subset=subset,
        na_action=na_action,
        context=context,
        takes_missing=False,
    )
    asked = {
        "link": link,
        "smoothing": smoothing,
        "penalty": penalty,
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "cv": cv,
        "random_state": random_state,
        "context": context,
    }
    call = recorded(additive, "crank.additive", rows.parsed.text, asked)
    return smoothed(rows, additive_terms(rows.parsed, rows.table), options, call)


def smoothed(
    rows: TrainingRows, parsed: ParsedFormula, options: AdditiveOptions, call: Call
) -> AdditiveModel:
    """Fit a formula with smooth terms to rows that have been read."""
    response = learn_response(parsed, rows.table)
    y = response.values(rows.table)
    design = learn_design(parsed, rows.table, native=False, smooth=True, weights=rows.weights)
    check_columns(len(design.names))
    X = design.matrix(rows.table)
    refuse_missing(X, design, "an additive ranker")
    ranks = rank(y, rows.weights)
    ranker, held_out = fit_additive(
        X,
        ranks,
        column_penalties(design, straight=options.straight),
        options=options,
        groups=rows.groups,
        names=design.names,
        rugs=rugs_of(design, rows.table),
    )
    training = rows.info(ranks, training_figures(ranker, X, ranks, rows.groups), held_out)
    return AdditiveModel(
        formula=parsed.text,
        response=response,
        training=training,
        call=call,
        design=design,
        ranker=ranker,
    )
