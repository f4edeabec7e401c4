"""Blends from a formula: `crank.blend`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.api.recipes import EFFORTS, Recipe, chosen
from crank.api.rows import TrainingRows, training_rows
from crank.api.seeds import drawn_seed
from crank.checks import one_of, positive, whole
from crank.criteria import require_distinct
from crank.errors import CrankError, DataError
from crank.fitting.booster import fit_booster
from crank.fitting.estimate import figures_of
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.greedy import Bench, bench, nested_figures, select
from crank.formula import learn_design, learn_response
from crank.frames.profile import number_profile
from crank.frames.table import Table
from crank.metrics.figures import get_figure
from crank.models.blend import BlendModel
from crank.models.booster import BoosterModel
from crank.progress import track
from crank.rankers.base import Ranker
from crank.rankers.booster import BoosterOptions, BoosterRanker
from crank.rankers.forest import ForestRanker
from crank.ranks import Ranks, rank
from crank.records.base import DesignedRecord
from crank.records.blend import LeftOut, Member
from crank.records.call import Shown, recorded
from crank.records.provenance import TrainingInfo

LARGEST = 2**27
"""Units in the score of a sum of trees: 2²⁴ of a booster, 2¹⁶ for each tree of a forest."""
EXACT_BITS = 46
"""Coefficients are rounded so that sums of trees have no more digits: then sums are exact."""


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
        Which members are tried if none are named: three, six, or the whole library.
    time_limit : float, optional
        Seconds. Members are tried in their order; those that would not be done in time, judged by
        the time that one fit takes, are left out, and boosters stop early. The first member is
        always fitted.
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
        Whether to show a bar; by default on a terminal.

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
    one_of("effort", effort, tuple(EFFORTS))
    whole("cv", cv, 2)
    figure = get_figure(metric)
    if time_limit is not None:
        time_limit = positive("time_limit", time_limit)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    if random_state is None:
        random_state = drawn_seed()
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
    task = _Task(rows, ranks, fold, context, random_state, n_jobs, deadline, metric)
    fitted: list[_Fitted] = []
    left_out: list[LeftOut] = []
    for recipe in track(recipes, len(recipes), "blending", show=progress):
        try:
            fitted.append(task.fit(recipe, first=not fitted))
        except _Skipped as reason:
            left_out.append(LeftOut(recipe.name, str(reason)))
        except (CrankError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
            left_out.append(LeftOut(recipe.name, f"failed: {_short(error)}"))
    if not fitted:
        said = "; ".join(f"{out.name}: {out.because}" for out in left_out)
        raise DataError(f"no member of the blend could be fitted. {said}")
    found, spread = bench(np.array([one.heldout for one in fitted]), ranks, fold, figure)
    counts = select(found, range(len(found.tests)))
    kept, unused = _parts(fitted, counts, spread, found)
    model = BlendModel(
        formula=rows.parsed.text,
        response=response,
        training=_unjudged(rows, ranks),
        members=kept,
        left_out=(*unused, *left_out),
        metric=figure.name,
        folds=len(found.tests),
    )
    score = model.values(rows.table)
    training = TrainingInfo(
        n=len(y),
        n_dropped=rows.n_dropped,
        weighted=not ranks.unweighted,
        figures=figures_of(score, ranks, rows.groups),
        crossvalidated=nested_figures(found, ranks, rows.groups),
        missing=rows.missing,
        n_groups=rows.n_groups,
        columns=rows.columns,
        scores=number_profile(score),
    )
    asked = {
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


class _Skipped(Exception):
    """A member is not tried, for a reason that is no failure."""


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A member fitted to all rows, and the scores of rows by models that have not seen them."""

    name: str
    model: DesignedRecord
    heldout: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Task:
    """What all members share."""

    rows: TrainingRows
    ranks: Ranks
    fold: NDArray[np.intp]
    context: Mapping[str, Callable[..., Any]] | None
    seed: int
    n_jobs: int
    deadline: float | None
    metric: str

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    def fit(self, recipe: Recipe, *, first: bool) -> _Fitted:
        """Fit a member to all rows and without each fold."""
        if recipe.absent:
            raise _Skipped(recipe.absent)
        if not first and self.left <= 0.0:
            raise _Skipped("the time was over before its turn")
        if recipe.kind == "booster":
            return self._boosted(recipe)
        table, folds = self.rows.table, int(self.fold.max()) + 1
        self._refuse_missing(recipe)
        start = time.monotonic()
        model = self._model(recipe, None, {})
        took = time.monotonic() - start
        if not first and folds * took > self.left:
            raise _Skipped(f"one fit takes {took:.1f} s, {folds} more would not be done in time")
        settled = recipe.settled(model)
        heldout = np.empty(table.n_rows)
        for k in range(folds):
            train, test = (np.sort(self.ranks.row[at]) for at in (self.fold != k, self.fold == k))
            part = self._model(recipe, train, settled)
            heldout[test] = fold_scores(part, table.rows(test))
        return _Fitted(recipe.name, model, heldout)

    def _model(
        self, recipe: Recipe, kept: NDArray[np.intp] | None, settled: dict[str, Any]
    ) -> DesignedRecord:
        given: dict[str, Any] = dict(settled)
        w = self.rows.weights
        if w is not None:
            given["weights"] = w if kept is None else w[kept]
        if recipe.kind in ("tree", "forest"):
            given["n_jobs"] = self.n_jobs
        if recipe.kind and self.rows.groups is not None:
            given["groups"] = self.rows.groups if kept is None else self.rows.groups[kept]
        if recipe.kind:
            given |= {"random_state": self.seed, "context": self.context}
        table = self.rows.table if kept is None else self.rows.table.rows(kept)
        return recipe.fit(_only(table, self.rows), self.rows.parsed.text, **given)

    def _refuse_missing(self, recipe: Recipe) -> None:
        if recipe.kind not in ("linear", "additive"):
            return
        lacking = {name: count for name, count in self.rows.missing.items() if count}
        if lacking:
            name, count = max(lacking.items(), key=lambda pair: pair[1])
            raise _Skipped(f"it takes no missing values, and {name} lacks {count}")

    def _boosted(self, recipe: Recipe) -> _Fitted:
        """Fit a booster, whose folds also choose its rounds."""
        rows = self.rows
        design = learn_design(rows.parsed, rows.table, native=True)
        options = BoosterOptions(
            **recipe.options, metric=self.metric, random_state=self.seed, n_jobs=self.n_jobs
        )
        X = design.matrix(rows.table)
        found = fit_booster(
            X,
            self.ranks,
            options=options,
            levels=[0 if names is None else len(names) for names in design.levels],
            labels=rows.groups,
            fold=self.fold,
            progress=False,
            deadline=self.deadline,
        )
        assert found.heldout is not None
        model = BoosterModel(
            formula=rows.parsed.text,
            response=learn_response(rows.parsed, rows.table),
            training=_unjudged(rows, self.ranks),
            design=design,
            ranker=found.ranker,
        )
        return _Fitted(recipe.name, model, found.heldout)


def fold_scores(model: DesignedRecord, table: Table) -> NDArray[np.float64]:
    """Score rows; those with a level that the model has not met get the mean of the others."""
    X = model.design.matrix(table, unknown="missing")
    if model.ranker.takes_missing:
        return np.asarray(model.ranker.predict(X), dtype=np.float64)
    known = ~np.isnan(X).any(axis=1)
    score = np.zeros(len(X))
    if known.any():
        score[known] = model.ranker.predict(X[known])
        score[~known] = score[known].mean()
    return score


def _only(table: Table, rows: TrainingRows) -> Table:
    """Keep the columns of the formula: a dot must not meet weights or groups."""
    wanted = {*rows.parsed.variables, *rows.parsed.response_variables}
    names = tuple(name for name in table.names if name in wanted)
    return Table(names, table.n_rows, table._column, table.dtype)


def _folds(ranks: Ranks, cv: int, labels: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    of_position = None if labels is None else labels[ranks.row]
    count = fold_count(ranks, cv, of_position)
    rng = np.random.default_rng(seed)
    if of_position is None:
        return stratified_folds(ranks, count, rng)
    return grouped_folds(ranks, of_position, count, rng)


def _parts(
    fitted: Sequence[_Fitted],
    counts: NDArray[np.int64],
    spread: NDArray[np.float64],
    found: Bench,
) -> tuple[tuple[Member, ...], tuple[LeftOut, ...]]:
    """Give the chosen members their coefficients, the heaviest first; list the others."""
    folds = range(len(found.tests))
    alone = [found.mean(folds, one) for one in np.eye(len(fitted), dtype=np.int64)]
    taken = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
    plain = {k: counts[k] / spread[k] if spread[k] > 0.0 else 1.0 for k in taken}
    coef = in_few_digits([fitted[k].model for k in taken], [plain[k] for k in taken])
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


def in_few_digits(models: Sequence[DesignedRecord], coef: Sequence[float]) -> list[float]:
    """Round the coefficients of sums of trees so that their weighted sum is exact.

    A booster's score is a whole number of its quanta, a forest's a whole number of votes; times
    coefficients of few binary digits, all on one grid, they stay exact in double, added up in
    any order.
    """
    units = [_unit(model.ranker) for model in models]
    sizes = [c * unit * LARGEST for c, unit in zip(coef, units, strict=True) if unit]
    if not sizes:
        return list(map(float, coef))
    grid = 2.0 ** (math.ceil(math.log2(max(sizes))) - EXACT_BITS)
    return [
        float(c) if not unit else max(1, round(c * unit / grid)) * grid / unit
        for c, unit in zip(coef, units, strict=True)
    ]


def _unit(ranker: Ranker) -> float:
    """Return what the scores of a sum of trees are whole multiples of; 0 for other rankers."""
    if isinstance(ranker, BoosterRanker):
        return ranker.quantum
    return 1.0 if isinstance(ranker, ForestRanker) else 0.0


def _unjudged(rows: TrainingRows, ranks: Ranks) -> TrainingInfo:
    return TrainingInfo(
        n=rows.table.n_rows,
        n_dropped=rows.n_dropped,
        weighted=not ranks.unweighted,
        figures={},
        crossvalidated={},
        missing=rows.missing,
        n_groups=rows.n_groups,
    )


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
