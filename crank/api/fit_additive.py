"""Additive rankers from a formula: `crank.additive`, and smooth terms in `crank.linear`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from crank.api.rows import TrainingRows, in_process, training_rows
from crank.api.seeds import drawn_seed
from crank.checks import data_first
from crank.fitting.additive_terms import fit_terms
from crank.fitting.linear import training_figures
from crank.formula import ParsedFormula, additive_terms, learn_design, learn_response
from crank.models.additive import AdditiveModel
from crank.rankers.additive import RIDGE, AdditiveOptions, checked_pairs
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
    pairs: int | Literal["auto"] | Sequence[tuple[str, str]] = "auto",
    monotone: Mapping[str, str | int] | None = None,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    cv: int | None = 5,
    random_state: int | None = 0,
    context: Mapping[str, Callable[..., Any]] | None = None,
    sample: int | None = None,
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
        columns, each weighted by how much it bends, is added to the mean loss of two rows. By
        default each term has its own, chosen by restricted likelihood (REML): as much as its
        coefficients' size and uncertainty ask for. Below 50 distinct rows it is 0.01
        for all.
    penalty : float
        Ridge: half of it times the sum of squares of all coefficients is added likewise. It keeps
        separated rows, redundant columns and rare levels from mattering.
    pairs : int, "auto" or list of pairs of names
        Effects of two columns together that their curves cannot express: a surface of two curves,
        or a curve for each level of a category. "auto" adds those of the 10 strongest that do
        something, if rows that were held out are ranked better with them; a number adds the
        strongest so many; ``[("x", "z")]`` names them. They are twice as smooth as their size asks
        for. With a `smoothing` that is given none are sought.
    monotone : mapping, optional
        ``{"x": "increasing"}``: the score never decreases in that column while all others stay as
        they are; also "decreasing", 1 and −1. Names are raw columns or terms: lines, also of log
        and the like, and smooth terms. They are no
        sides of pairs. Bands and tests do not count the constraint, which makes them careful.
    weights, groups, subset, na_action, context
        As in `crank.linear`; folds keep groups whole.
    cv : int, optional
        Folds that say how many pairs, and how well rows are ranked that were held out; fewer in
        small samples. Above 4,000 rows a random part of so many rows does. None for neither.
    random_state : int
        Seed of the folds; None draws one.
    sample : int, optional
        Of a Dask data frame: how many of its rows to fit, in this process.

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
    >>> m = crank.additive(sample, "y ~ .", pairs=1)
    >>> m.terms().round(1)[["term", "edf"]]
                          term  edf
    0                    s(x1)  6.8
    1                    s(x2)  7.2
    2                    s(x3)  7.9
    3                    s(x4)  1.0
    4                    s(x5)  1.0
    5  s(x1, df=3):s(x2, df=3)  8.1
    """
    data_first(data, formula, "crank.additive")
    if random_state is None:
        random_state = drawn_seed()
    data = in_process(data, sample, random_state, "crank.additive")
    if cv is None and isinstance(pairs, str) and pairs == "auto":
        pairs = 0
    options = AdditiveOptions(
        link,
        smoothing,
        penalty,
        pairs=checked_pairs(pairs),
        cv=cv,
        random_state=random_state,
        monotone=monotone,  # type: ignore[arg-type]  # numbers become words there
    )
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
        "sample": sample,
        "link": link,
        "smoothing": smoothing,
        "penalty": penalty,
        "pairs": pairs,
        "monotone": options.monotone,
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
    X = design.matrix(rows.table)
    refuse_missing(X, design, "an additive ranker")
    ranks = rank(y, rows.weights)
    found = fit_terms(
        parsed,
        rows.table,
        design,
        X,
        ranks,
        options=options,
        weights=rows.weights,
        groups=rows.groups,
    )
    figures = training_figures(found.ranker, found.X, ranks, rows.groups)
    training = rows.info(ranks, figures, found.crossvalidated, n_judged=found.n_judged)
    return AdditiveModel(
        formula=parsed.text,
        response=response,
        training=training,
        call=call,
        design=found.design,
        ranker=found.ranker,
    )
