"""Blends from a formula: `crank.blend`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.api.blend_digits import in_few_digits
from crank.api.blend_members import FittedMember, MemberTask, Skipped
from crank.api.recipes import EFFORTS, affordable, chosen
from crank.api.rows import in_process, training_rows
from crank.api.seeds import drawn_seed
from crank.api.timetable import Timetable
from crank.checks import data_first, one_of, positive, whole
from crank.criteria import require_distinct
from crank.errors import CrankError, DataError
from crank.fitting.estimate import figures_of
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.greedy import Bench, bench, nested_figures, select
from crank.formula import learn_response
from crank.frames.profile import number_profile
from crank.metrics.figures import get_figure
from crank.models.blend import BlendModel
from crank.progress import track
from crank.ranks import Ranks, rank
from crank.records.blend import LeftOut, Member
from crank.records.call import Shown, recorded


def blend(
    data: Any,
    formula: str,
    *,
    members: Sequence[str] | Mapping[str, Any] | None = None,
    effort: Literal["quick", "default", "best"] = "default",
    time_limit: float | None = None,
    metric: str = "kendall",
    cv: int = 5,
    weights: Any = None,
    groups: Any = None,
    subset: Any = None,
    na_action: Literal["drop", "raise"] = "drop",
    context: Mapping[str, Callable[..., Any]] | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
    sample: int | None = None,
) -> BlendModel:
    """Blend models of different kinds by the concordance of their held-out scores.

    Every member is fitted to all rows, and again without each fold of the same folds. Then members
    are added one by one, with repetition: each time the one whose scores, added to those before,
    put the held-out rows in the best order. What has no part in the best order has no part in
    the blend.

    Parameters
    ----------
    data : data frame
        pandas, polars or anything that narwhals reads; or a dict of columns.
    formula : str
        ``"y ~ x1 + log(x2) + g"``; ``.`` stands for all other columns. Each member makes its own
        design of it: trees take categories as they are, linear members dummies.
    members : sequence of str, or mapping, optional
        Names from the library: "concordance", "concordance-large", "rank", "rank-large", "y",
        "y-small" (boosters), "forest", "extra-forest", "linear", "additive", "tree". A mapping
        adds your own: ``{"shallow": functools.partial(crank.fit, max_depth=2), "linear": None}``.
    effort : {"quick", "default", "best"}
        Which members are tried if none are named: three, six, or the whole library. Of very
        large data, from some 240,000 rows of 20 columns on, those that cost most are left out.
    time_limit : float, optional
        Seconds. The cheapest members are tried first, those that you name in your order. Those
        that would not be done in time, judged by the time that others or one fit took, are left
        out, and a booster stops early. The first member is always fitted.
    metric : {"kendall", "iauc", "iauc_uniform"}
        Figure by which members are chosen.
    cv : int
        Folds of the held-out scores.
    weights : str or array-like, optional
        Case weights: a column's name or one number a row.
    groups : str or array-like, optional
        Rows that belong together: folds keep groups whole, and errors are clustered.
    subset : str or array-like of bool or int, optional
        Rows to use, as in `crank.fit`.
    na_action : {"drop", "raise"}
        What to do with rows whose response, weight or group is missing. Where a predictor is
        missing, members that take no missing values are left out.
    context : mapping, optional
        Functions that the formula may call by name; such a model cannot be saved.
    random_state : int or None
        Seeds folds and members; None draws a seed, which the model's call shows.
    n_jobs : int
        Threads; −1 for one a core.
    progress : bool, optional
        Whether to show a bar; by default on a terminal or in a notebook.
    sample : int, optional
        Of a Dask data frame: how many of its rows to fit, in this process.

    Returns
    -------
    BlendModel

    Notes
    -----
    The cross-validated figure is honest about the choosing: each fold is judged by the blend that
    the other folds choose. A member that fails is left out and `BlendModel.table` says why.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew & Ksikes (2004), Ensemble selection from libraries of models,
    ICML.

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(300, p=5, random_state=0).frame
    >>> m = crank.blend(sample, "y ~ .", members=["rank", "linear"])
    >>> m.table()[["member", "left_out"]].shape
    (2, 2)
    """
    data_first(data, formula, "crank.blend")
    one_of("effort", effort, tuple(EFFORTS))
    whole("cv", cv, 2)
    figure = get_figure(metric)
    if time_limit is not None:
        time_limit = positive("time_limit", time_limit)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    if random_state is None:
        random_state = drawn_seed()
    data = in_process(data, sample, random_state, "crank.blend")
    recipes = chosen(members, effort)
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
    ranks = rank(y, rows.weights)
    require_distinct(ranks)
    if figure.total(ranks) <= 0.0:
        figure = get_figure("kendall")
    fold = _folds(ranks, cv, rows.groups, random_state)
    fitted: list[FittedMember] = []
    left_out: list[LeftOut] = []
    failed: list[Exception] = []
    size = rows.table.n_rows, len(rows.parsed.variables)
    if members is None:
        dear = affordable(recipes, effort, *size)
        left_out += [LeftOut(name, because) for name, because in dear.items()]
        recipes = [recipe for recipe in recipes if recipe.name not in dear]
        if deadline is not None:
            recipes.sort(key=lambda recipe: recipe.cost)
    times = Timetable(*size, deadline)
    task = MemberTask(rows, ranks, fold, context, random_state, n_jobs, times, metric)
    for recipe in track(recipes, len(recipes), "blending", show=progress):
        try:
            fitted.append(task.fit(recipe, first=not fitted))
        except Skipped as reason:
            left_out.append(LeftOut(recipe.name, str(reason)))
        except (CrankError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
            left_out.append(LeftOut(recipe.name, f"failed: {_short(error)}"))
            failed.append(error)
    if not fitted:
        alike = {(type(error), str(error)) for error in failed}
        if (
            failed
            and isinstance(failed[0], DataError)
            and len(failed) == len(left_out)
            and len(alike) == 1
        ):
            raise failed[0]  # the data cannot be used, whoever asks
        said = " ".join(f"{out.name}: {out.because.rstrip('.')}." for out in left_out)
        raise DataError(f"no member of the blend could be fitted. {said}")
    found, spread = bench(np.array([one.heldout for one in fitted]), ranks, fold, figure)
    counts = select(found, range(len(found.tests)))
    kept, unused = _parts(fitted, counts, spread, found)
    model = BlendModel(
        formula=rows.parsed.text,
        response=response,
        training=rows.unjudged(ranks),
        members=kept,
        left_out=(*unused, *left_out),
        metric=figure.name,
        folds=len(found.tests),
    )
    score = model.values(rows.table)
    training = rows.info(
        ranks,
        figures_of(score, ranks, rows.groups),
        nested_figures(found, ranks, rows.groups),
        number_profile(score),
    )
    asked = {
        "sample": sample,
        "members": _shown(members),
        "effort": effort,
        "time_limit": time_limit,
        "metric": metric,
        "cv": cv,
        "weights": weights,
        "groups": groups,
        "subset": subset,
        "na_action": na_action,
        "context": context,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    call = recorded(blend, "crank.blend", rows.parsed.text, asked)
    return replace(model, training=training, call=call)


def _folds(ranks: Ranks, cv: int, labels: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    of_position = None if labels is None else labels[ranks.row]
    count = fold_count(ranks, cv, of_position, otherwise="a single model, such as crank.linear")
    rng = np.random.default_rng(seed)
    if of_position is None:
        return stratified_folds(ranks, count, rng)
    return grouped_folds(ranks, of_position, count, rng)


def _parts(
    fitted: Sequence[FittedMember],
    counts: NDArray[np.int64],
    spread: NDArray[np.float64],
    found: Bench,
) -> tuple[tuple[Member, ...], tuple[LeftOut, ...]]:
    """Give the chosen members their coefficients, the heaviest first; list the others."""
    alone = [found.alone(k) for k in range(len(fitted))]
    taken = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
    share = {k: counts[k] / spread[k] if spread[k] > 0.0 else 1.0 for k in taken}
    coef = in_few_digits([fitted[k].model for k in taken], [share[k] for k in taken])
    kept = tuple(
        Member(
            name=fitted[k].name,
            weight=int(counts[k]),
            coef=c,
            heldout=alone[k],
            model=fitted[k].model,
        )
        for k, c in zip(taken, coef, strict=True)
    )
    unused = tuple(
        LeftOut(one.name, "it adds nothing to the others", alone[k])
        for k, one in enumerate(fitted)
        if not counts[k]
    )
    return kept, unused


def _shown(members: Any) -> Any:
    """Keep names as they are, so that `update` can use them again."""
    if members is None:
        return None
    given = members if isinstance(members, Mapping) else dict.fromkeys(members)
    return {name: _named(value) if callable(value) else value for name, value in given.items()}


def _named(function: Any) -> Shown:
    while hasattr(function, "func"):  # a partial
        function = function.func
    return Shown(f"<function {getattr(function, '__name__', type(function).__name__)}>")


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:160]}…"
