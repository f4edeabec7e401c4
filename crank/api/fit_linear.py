"""Linear rankers from a formula: `crank.linear`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from crank.api.fit_additive import smoothed
from crank.api.rows import in_process, training_rows
from crank.api.seeds import drawn_seed
from crank.checks import data_first
from crank.design.slopes import slopes
from crank.errors import OptionError
from crank.fitting.columns import check_columns
from crank.fitting.linear import training_figures
from crank.fitting.penalty import fit_judged
from crank.formula import has_smooths, learn_design, learn_response
from crank.frames.partitioned import is_dask
from crank.models.linear import LinearModel
from crank.rankers.additive import AdditiveOptions
from crank.rankers.directions import signs_of
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.ranks import rank
from crank.records.base import refuse_missing
from crank.records.call import recorded


def linear(
    data: Any,
    formula: str,
    *,
    link: Literal["logit", "probit"] = "logit",
    penalty: float | Literal["cv", "1se"] = 0.0,
    l1_ratio: float = 0.0,
    cv: int | None = 10,
    monotone: Mapping[str, str | int] | None = None,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    client: Any = None,
    sample: int | None = None,
) -> LinearModel:
    """Fit a linear ranker from a formula: the probabilistic index model.

    The probability that one row ranks above another is a function of the difference of their
    scores, and scores are linear in the columns of the design. All pairs of rows are used, those
    with equal responses as half a win each; the response counts by its ranks only.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns.
    formula : str
        ``"y ~ x1 + log(x2) + C(g)"``; ``.`` stands for all other columns. There is no intercept:
        it would move all scores alike. ``s(x)`` is a smooth curve, ``s(x, df=4)`` one of fewer
        columns, ``s(x, by=g)`` one for each level of g, all with a penalty on bending,
        chosen by restricted likelihood: the model is an `AdditiveModel` then.
    link : {"logit", "probit"}
        Logistic: exp(coefficient) is an odds. Normal: if y is linear with normal errors, the
        coefficients are its own divided by √2 times the standard deviation of the errors.
    penalty : float or {"cv", "1se"}
        Penalty on the coefficients of columns in units of their standard deviation: half of it
        times the sum of their squares is added to the mean loss of a pair. Weights and the
        number of rows do not change its meaning; 0.001 is a light one. With a penalty
        redundant columns, separation and more columns than rows are no obstacle. "cv" takes the
        penalty of least cross-validated loss, "1se" the heaviest within a standard error of it.
    l1_ratio : float
        Share of the lasso in the penalty, from 0, ridge, to 1: sum of absolute values, which
        leaves some coefficients at 0 and chooses columns so. A lasso has no standard errors.
    cv : int or None
        Folds by which the penalty is chosen, and by which the summary's figures are honest: fewer
        on small data, as in `crank.fit`. Above 50,000 rows a random part of so many is dealt out
        to folds, and the summary says so. None runs no cross-validation.
    monotone : mapping, optional
        ``{"x": "increasing"}``: the score never decreases in that column while all others stay as
        they are; also "decreasing", 1 and −1. Names are raw columns or terms: lines, also of log
        and the like, and smooth terms. Not with a lasso.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row. A pair counts with the product of its
        rows' weights, as if rows were repeated; for standard errors a row is one observation.
    groups : str or array-like, optional
        Rows that belong together, by a column's name or one label a row; standard errors are
        clustered by group. The estimates do not change.
    subset : str or array-like of bool or int, optional
        Rows to use, as in `crank.fit`.
    na_action : {"drop", "raise"}
        What to do with rows in which the response, the weight or a predictor is missing.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Deals the rows out to folds; None draws a seed, which the model's call shows.
    client : distributed.Client, optional
        Of a Dask data frame, which is fitted where it is, without cross-validation: the cluster;
        by default the active client.
    sample : int, optional
        Of a Dask data frame: how many of its rows to fit, in this process.

    Returns
    -------
    LinearModel
        An `AdditiveModel`, which is one, if the formula has smooth terms.

    Raises
    ------
    DataError
        Besides the usual: the columns separate the rows (some combination of them never puts a
        pair in the wrong order), or there are as many columns as rows. A penalty helps.

    Notes
    -----
    Solves Σ (x_i − x_j)(I_ij − g((x_i − x_j)'β)) = 0 over all pairs by Newton's method, in
    O(p (n + B log B)) a step. For the logit that is the logistic regression of all pairs, and the
    estimating equation of the paper. With the probit link the paper gives each pair a further
    weight, g'/(g (1 − g)), that cannot be summed without writing the pairs down; here every pair
    has weight 1, which estimates the same coefficients.

    References
    ----------
    Thas, De Neve, Clement & Ottoy (2012), Probabilistic index models, Journal of the Royal
    Statistical Society B 74, 623–671.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, noise=1.0, random_state=0).frame
    >>> m = crank.linear(sample, "y ~ x1 + x2 + x3")
    >>> m.coefficients().round(2)[["term", "estimate", "std_error", "odds"]]
      term  estimate  std_error   odds
    0   x1      2.58       0.30  13.23
    1   x2      2.68       0.31  14.60
    2   x3      0.34       0.26   1.40
    """
    data_first(data, formula, "crank.linear")
    if random_state is None:
        random_state = drawn_seed()
    options = LinearOptions(
        link,
        penalty,
        l1_ratio,
        cv,
        random_state,
        monotone,  # type: ignore[arg-type]  # numbers become words there
    )
    whole = is_dask(data) and sample is None
    if not whole:
        data = in_process(data, sample, random_state, "crank.linear", client)
    asked = {
        "sample": sample,
        "link": link,
        "penalty": penalty,
        "l1_ratio": l1_ratio,
        "cv": cv,
        "monotone": options.monotone,
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "context": context,
        "random_state": random_state,
    }
    if whole:
        from crank.api.cluster import ask, fitted_linear

        if options.monotone:
            raise OptionError(
                "monotone= is not for Dask data frames as a whole. Fit a sample of their rows, "
                "sample=100_000, or a tree, crank.fit."
            )
        wanted, columns = ask(
            data,
            formula,
            weights=weights,
            groups=groups,
            subset=subset,
            na_action=na_action,
            context=context,
            takes_missing=False,
        )
        learned, ranker, training = fitted_linear(data, wanted, columns, options, client)
        return LinearModel(
            formula=wanted.parsed.text,
            response=learned.response,
            training=training,
            call=recorded(linear, "crank.linear", wanted.parsed.text, asked),
            design=learned.design,
            ranker=ranker,
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
    call = recorded(linear, "crank.linear", rows.parsed.text, asked)
    if has_smooths(rows.parsed):
        return smoothed(rows, rows.parsed, _smooth_options(options), call)
    response = learn_response(rows.parsed, rows.table)
    y = response.values(rows.table)
    design = learn_design(rows.parsed, rows.table, native=False)
    check_columns(len(design.names))
    X = design.matrix(rows.table)
    refuse_missing(X, design, f"a {LinearRanker.kind} ranker")
    ranks = rank(y, rows.weights)
    fitted = fit_judged(
        X,
        ranks,
        options=options,
        groups=rows.groups,
        names=design.names,
        slopes=slopes(design, signs_of(options.monotone)),
    )
    figures = training_figures(fitted.ranker, X, ranks, rows.groups)
    training = rows.info(ranks, figures, fitted.crossvalidated, n_judged=fitted.n_judged)
    return LinearModel(
        formula=rows.parsed.text,
        response=response,
        training=training,
        call=call,
        design=design,
        ranker=fitted.ranker,
    )


def _smooth_options(options: LinearOptions) -> AdditiveOptions:
    """Say how a linear formula with smooth terms is fitted."""
    if options.l1_ratio or isinstance(options.penalty, str) or options.cv is None:
        raise OptionError(
            f"penalty={options.penalty!r}, l1_ratio={options.l1_ratio:g}, cv={options.cv!r} is not "
            "allowed in a formula with smooth terms, which choose their smoothing themselves. "
            "Allowed: a number as the penalty, l1_ratio=0, and a number of folds."
        )
    return AdditiveOptions(
        options.link,
        penalty=options.penalty,
        straight=1.0 if options.penalty else 0.0,
        pairs=0,
        cv=options.cv,
        random_state=options.random_state or 0,
        monotone=options.monotone,
    )
