"""Members of a blend: each fitted to all rows, and without each fold in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.api import memory
from crank.api.recipes import Recipe
from crank.api.rows import TrainingRows
from crank.api.timetable import Timetable
from crank.fitting.booster import fit_booster
from crank.formula import learn_design, learn_response
from crank.frames.table import Table
from crank.models.booster import BoosterModel
from crank.rankers.booster import BoosterOptions
from crank.rankers.forest import auto_leaf
from crank.ranks import Ranks
from crank.records.base import DesignedRecord


class Skipped(Exception):
    """A member is not tried, for a reason that is no failure."""


@dataclass(frozen=True, eq=False)
class FittedMember:
    """A member fitted to all rows, and the scores of rows by models that have not seen them."""

    name: str
    model: DesignedRecord
    heldout: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MemberTask:
    """What all members share."""

    rows: TrainingRows
    ranks: Ranks
    fold: NDArray[np.intp]
    context: Mapping[str, Callable[..., Any]] | None
    seed: int
    n_jobs: int
    times: Timetable
    metric: str

    def fit(self, recipe: Recipe, *, first: bool) -> FittedMember:
        """Fit a member to all rows and without each fold."""
        if recipe.absent:
            raise Skipped(recipe.absent)
        late = "" if first else self.times.refusal(recipe)
        if late:
            raise Skipped(late)
        self._refuse_too_large(recipe)
        self.times.begin(recipe)
        found = self._boosted(recipe) if recipe.kind == "booster" else self._folded(recipe, first)
        self.times.done(recipe)
        return found

    def _folded(self, recipe: Recipe, first: bool) -> FittedMember:
        """Fit a member that knows nothing of folds."""
        table, folds = self.rows.table, int(self.fold.max()) + 1
        self._refuse_missing(recipe)
        start = time.monotonic()
        model = self._model(recipe, None, {})
        took = time.monotonic() - start
        if not first and folds * took > self.times.left:
            raise Skipped(f"one fit takes {took:.1f} s, {folds} more would not be done in time")
        settled = recipe.settled(model)
        heldout = np.empty(table.n_rows)
        for k in range(folds):
            train, test = (np.sort(self.ranks.row[at]) for at in (self.fold != k, self.fold == k))
            part = self._model(recipe, train, settled)
            heldout[test] = fold_scores(part, table.rows(test))
        return FittedMember(recipe.name, model, heldout)

    def _model(
        self, recipe: Recipe, kept: NDArray[np.intp] | None, settled: dict[str, Any]
    ) -> DesignedRecord:
        given: dict[str, Any] = dict(settled)
        w = self.rows.weights
        if w is not None:
            given["weights"] = w if kept is None else w[kept]
        if recipe.kind in ("tree", "forest"):
            given["n_jobs"] = self.n_jobs
        if recipe.kind == "forest":  # given, so that it is not chosen
            n = self.rows.table.n_rows if kept is None else len(kept)
            given["min_samples_leaf"] = auto_leaf(n)
        if recipe.kind and self.rows.groups is not None:
            given["groups"] = self.rows.groups if kept is None else self.rows.groups[kept]
        if recipe.kind:
            given |= {"random_state": self.seed, "context": self.context}
        table = self.rows.table if kept is None else self.rows.table.rows(kept)
        return recipe.fit(_only(table, self.rows), self.rows.parsed.text, **given)

    def _refuse_too_large(self, recipe: Recipe) -> None:
        need, there = memory.needed(recipe.kind, self.rows), memory.free()
        if need > there:
            shown = f"about {need / 2**30:.3g} GB, and {there / 2**30:.3g} GB are free"
            raise Skipped(f"it needs {shown}")

    def _refuse_missing(self, recipe: Recipe) -> None:
        if recipe.kind not in ("linear", "additive"):
            return
        lacking = {name: count for name, count in self.rows.missing.items() if count}
        if lacking:
            name, count = max(lacking.items(), key=lambda pair: pair[1])
            raise Skipped(f"it takes no missing values, and {name} lacks {count}")

    def _boosted(self, recipe: Recipe) -> FittedMember:
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
            deadline=self.times.search_ends,
        )
        assert found.heldout is not None
        model = BoosterModel(
            formula=rows.parsed.text,
            response=learn_response(rows.parsed, rows.table),
            training=rows.unjudged(self.ranks),
            design=design,
            ranker=found.ranker,
        )
        return FittedMember(recipe.name, model, found.heldout)


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
    return table.only(tuple(name for name in table.names if name in wanted))
