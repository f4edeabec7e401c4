"""How many rounds: boosters without each fold grow in step and are judged on it as they grow."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.errors import OptionError
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import fold_count, grouped_folds, stratified_folds
from crank.fitting.lightgbm_engine import Engine, Training
from crank.fitting.lightgbm_settings import SIDE_BY_SIDE
from crank.fitting.validate import measurable
from crank.kernels.threads import Threads
from crank.metrics.figures import Figure
from crank.progress import track
from crank.rankers.booster import BoosterOptions, Rounds, mean_over_folds
from crank.rankers.validation import Estimate
from crank.ranks import Ranks

STEP = 5
"""Rounds from one look at the held-out figure to the next."""
FOLDS, MANY_ROWS, FEW_FOLDS = 5, 50_000, 3
"""Folds by default, and fewer from so many rows on."""
ONE_HOLDOUT = 300_000
"""Rows from which a single booster is held against a fifth of the rows."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that a booster is judged on and has not seen.

    Attributes
    ----------
    training : int
        Number of the booster.
    test : Ranks
        The rows.
    place : ndarray of int
        Where they are among the rows that the booster keeps scores of.
    """

    training: int
    test: Ranks
    place: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ChosenRounds:
    """What cross-validation found.

    Attributes
    ----------
    validation : Rounds
    crossvalidated : dict
        By name, figures of the procedure: each fold judged at the rounds that the others choose.
    heldout : ndarray of shape (n,)
        Score of each row by the booster that has not seen it, at the chosen rounds; NaN for rows
        that no booster leaves out.
    interrupted : bool
        Whether it was stopped from outside.
    """

    validation: Rounds
    crossvalidated: dict[str, Estimate]
    heldout: NDArray[np.float64]
    interrupted: bool = False

    @property
    def rounds(self) -> int:
        """The best number of rounds."""
        return int(self.validation.rounds[self.validation.best])


def deal(
    ranks: Ranks, options: BoosterOptions, labels: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], Sequence[Sequence[int]]]:
    """Deal positions out to folds, and say which folds each booster is judged on.

    On very many rows there is one booster; the two tenths that it does not see judge each other's
    choice.
    """
    n = len(ranks.row)
    of_position = None if labels is None else labels[ranks.row]
    units = n if of_position is None else int(of_position.max()) + 1
    if units < 4:
        raise OptionError(
            f"rounds=None needs at least 4 {'rows' if labels is None else 'groups'} to choose "
            f"rounds by cross-validation; got {units}. Give a number, such as rounds=100."
        )
    single = options.cv is None and n >= ONE_HOLDOUT
    most = options.cv or (FOLDS if n < MANY_ROWS else FEW_FOLDS)
    folds = 2 * FOLDS if single else fold_count(ranks, most, of_position)
    rng = np.random.default_rng(options.random_state)
    fold = (
        stratified_folds(ranks, folds, rng)
        if of_position is None
        else grouped_folds(ranks, of_position, folds, rng)
    )
    return fold, [(0, 1)] if single else [(k,) for k in range(folds)]


class Race:
    """Boosters that grow side by side, each without the folds that it is judged on."""

    def __init__(
        self,
        engine: Engine,
        ranks: Ranks,
        fold: NDArray[np.intp],
        judges: Sequence[Sequence[int]],
    ) -> None:
        self.trainings: list[Training] = []
        self.parts: list[Part] = []
        self.rows = len(ranks.row)
        for number, folds in enumerate(judges):
            held = np.isin(fold, folds)
            judged = np.sort(ranks.row[held])
            self.trainings.append(engine.training(ranks.subset(~held), judged))
            for k in folds:
                test = ranks.subset(fold == k)
                self.parts.append(Part(number, test, np.searchsorted(judged, test.row)))

    def run(
        self, figure: Figure, max_rounds: int, threads: int
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Grow a few rounds at a time; yield the rounds so far and the figure of each part."""
        done = 0
        with Threads(threads) as pool:
            while done < max_rounds:
                more = min(STEP, max_rounds - done)
                pool.run(Training.grow, [(training, more) for training in self.trainings])
                done += more
                heldout = [training.heldout() for training in self.trainings]
                yield done, np.array([_figure(part, heldout, figure) for part in self.parts])
                if all(training.finished for training in self.trainings):
                    return

    def scores(self, engine: Engine, part: Part, rounds: int) -> NDArray[np.float64]:
        """Score the rows of a part with the first so many trees of its booster."""
        training = self.trainings[part.training]
        X = engine.data.get_data()[part.test.row]
        found = training.booster.predict(
            X, num_iteration=rounds, raw_score=True, num_threads=engine.settings["num_threads"]
        )
        return np.asarray(found, dtype=np.float64)


def _figure(part: Part, heldout: Sequence[NDArray[np.float64]], figure: Figure) -> float:
    if figure.total(part.test) <= 0.0:
        return float("nan")
    weights = None if part.test.unweighted else part.test.weight
    return figure.estimate(part.test.y, heldout[part.training][part.place], weights)


def choose_rounds(
    engine: Engine,
    ranks: Ranks,
    *,
    labels: NDArray[np.intp] | None = None,
    fold: NDArray[np.intp] | None = None,
    progress: bool | None = None,
    keep_on_interrupt: bool = False,
    deadline: float | None = None,
) -> ChosenRounds:
    """Choose the number of rounds by cross-validation, with early stopping.

    Parameters
    ----------
    engine : Engine
    ranks : Ranks
        Of all rows.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0.
    fold : ndarray of shape (n,), optional
        Fold of each position; by default they are dealt out here.
    progress : bool, optional
    keep_on_interrupt : bool
        Whether Ctrl-C ends the search and keeps what it has found.
    deadline : float, optional
        When to stop, by `time.monotonic`.
    """
    options = engine.options
    allowed = measurable(ranks, options.figure)
    figure = options.figure if options.figure.total(ranks) > 0.0 else allowed[0]
    if fold is None:
        fold, judges = deal(ranks, options, labels)
    else:
        judges = [(k,) for k in range(int(fold.max()) + 1)]
    race = Race(engine, ranks, fold, judges)
    looked: list[int] = []
    curve: list[NDArray[np.float64]] = []
    interrupted = False

    def running() -> str:
        means = mean_over_folds(np.array(curve).T)
        best = int(np.argmax(means))
        return f"{figure.text} {means[best]:.4f} at {looked[best]}"

    threads = options.threads if len(ranks.row) < SIDE_BY_SIDE else 1
    steps = race.run(figure, options.max_rounds, threads)
    total = -(-options.max_rounds // STEP)
    try:
        for done, found in track(steps, total, "boosting", show=progress, detail=running):
            looked.append(done)
            curve.append(found)
            best = int(np.argmax(mean_over_folds(np.array(curve).T)))
            if done - looked[best] >= options.patience:
                break
            if deadline is not None and time.monotonic() >= deadline:
                break
    except KeyboardInterrupt:
        if not keep_on_interrupt or not curve:
            raise
        interrupted = True
    validation = Rounds(np.array(looked), np.array(curve).T)
    return _judged(race, engine, ranks, validation, allowed, labels, interrupted)


def _judged(
    race: Race,
    engine: Engine,
    ranks: Ranks,
    validation: Rounds,
    allowed: Sequence[Figure],
    labels: NDArray[np.intp] | None,
    interrupted: bool,
) -> ChosenRounds:
    """Judge the choosing: each part at the rounds that the others choose."""
    heldout = np.full(race.rows, np.nan)
    chosen = int(validation.rounds[validation.best])
    judged = []
    for k, part in enumerate(race.parts):
        others = np.delete(validation.heldout, k, axis=0)
        own = int(validation.rounds[int(np.argmax(mean_over_folds(others)))])
        score = race.scores(engine, part, chosen)
        heldout[part.test.row] = score
        judged.append(Judged(score if own == chosen else race.scores(engine, part, own), part.test))
    found = {each.name: pooled_estimate([judged], race.rows, each, labels) for each in allowed}
    figures = {name: estimate for name, estimate in found.items() if estimate is not None}
    return ChosenRounds(validation, figures, heldout, interrupted)
