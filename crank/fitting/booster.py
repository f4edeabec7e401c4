"""Fit a booster to arrays: choose the rounds, train on all rows, round to whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from crank.criteria import require_distinct
from crank.fitting.lightgbm_engine import Engine, Training
from crank.fitting.lightgbm_settings import as_options
from crank.fitting.rounds import STEP, choose_rounds
from crank.growing.matrix import FloatArray
from crank.plugins.lightgbm_trees import read_trees
from crank.progress import track
from crank.rankers.booster import BoosterOptions, BoosterRanker, in_whole_numbers
from crank.rankers.validation import Estimate
from crank.ranks import Ranks


@dataclass(frozen=True, eq=False)
class FittedBooster:
    """A booster with its history.

    Attributes
    ----------
    ranker : BoosterRanker
    crossvalidated : dict
        Figures of the procedure by name; empty if the rounds were given.
    heldout : ndarray of shape (n,) or None
        Score of each row by a booster that has not seen it, if there was cross-validation.
    """

    ranker: BoosterRanker
    crossvalidated: Mapping[str, Estimate] = field(default_factory=dict)
    heldout: NDArray[np.float64] | None = None


def fit_booster(
    X: FloatArray,
    ranks: Ranks,
    *,
    options: BoosterOptions,
    levels: Sequence[int] | None = None,
    monotone: Sequence[int] = (),
    interaction: Sequence[Sequence[int]] = (),
    labels: NDArray[np.intp] | None = None,
    fold: NDArray[np.intp] | None = None,
    progress: bool | None = None,
    keep_on_interrupt: bool = False,
    deadline: float | None = None,
) -> FittedBooster:
    """Fit a booster to arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design; NaN is missing.
    ranks : Ranks
        Of the responses of its rows.
    options : BoosterOptions
    levels : sequence of int, optional
        Number of levels of the columns that hold category codes, 0 for numbers.
    monotone : sequence of int
        1 or −1 for columns in which the score must not decrease or not increase, else 0.
    interaction : sequence of sequences of int
        Sets of columns; only columns of one set may meet in a branch.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0: folds keep groups whole.
    fold : ndarray of shape (n,), optional
        Fold of each position in the order of y.
    progress : bool, optional
    keep_on_interrupt : bool
        Whether Ctrl-C ends the search for rounds, or the training, and keeps what there is.
    deadline : float, optional
        When the search for rounds must stop, by `time.monotonic`.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> fitted = fit_booster(X, rank(X[:, 0] ** 3), options=BoosterOptions(rounds=50))
    >>> fitted.ranker.n_trees, fitted.ranker.predict(X).shape
    (50, (300,))
    """
    require_distinct(ranks)
    counts = tuple(levels or (0,) * X.shape[1])
    with as_options(options.params):
        engine = Engine(X, counts, options, monotone, interaction)
        if options.rounds is not None:
            grown = train(engine, ranks, options.rounds, progress, keep_on_interrupt)
            return FittedBooster(ranker_of(grown, options, counts))
        found = choose_rounds(
            engine,
            ranks,
            labels=labels,
            fold=fold,
            progress=progress,
            keep_on_interrupt=keep_on_interrupt,
            deadline=deadline,
        )
        grown = train(engine, ranks, found.rounds, progress, keep_on_interrupt)
    ranker = replace(ranker_of(grown, options, counts), validation=found.validation)
    return FittedBooster(ranker, found.crossvalidated, found.heldout)


def train(
    engine: Engine, ranks: Ranks, rounds: int, progress: bool | None, keep_on_interrupt: bool
) -> Training:
    """Train on all rows."""
    training = engine.training(ranks)
    steps = [min(STEP, rounds - k) for k in range(0, rounds, STEP)]
    try:
        for step in track(steps, len(steps), "training", show=progress):
            training.grow(step)
    except KeyboardInterrupt:
        if not keep_on_interrupt or not training.rounds:
            raise
    return training


def ranker_of(training: Training, options: BoosterOptions, levels: Sequence[int]) -> BoosterRanker:
    """Read the trees of a booster, in whole numbers."""
    nodes, gains, cover = read_trees(training.booster, levels)
    gain = np.zeros(len(levels))
    np.add.at(gain, nodes.column[nodes.inner], gains[nodes.inner])
    whole, quantum = in_whole_numbers(nodes)
    return BoosterRanker(options=options, nodes=whole, quantum=quantum, gain=gain, cover=cover)
