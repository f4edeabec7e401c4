"""The LightGBM engine of boosters: rows in bins, labels that move, and rounds one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import require
from crank.fitting.lightgbm_settings import settings
from crank.fitting.losses import PairLoss, labels_of, pair_loss
from crank.growing.matrix import FloatArray
from crank.rankers.booster import BoosterOptions
from crank.ranks import Ranks

LONGEST_USE, MOST_MOVED = 5, 0.25
"""Rounds that go by one linearisation of the loss of pairs, and how far they may go towards it."""


@cache
def reads_labels_anew() -> bool:
    """Whether LightGBM's squared error sees labels that are set while a booster grows.

    It does because it keeps a pointer to the labels, and setting them copies into the same place.
    No document says so, hence the trial.

    Examples
    --------
    >>> reads_labels_anew()
    True
    """
    require("lightgbm", "lightgbm")
    import lightgbm

    label = np.repeat([1.0, -1.0], 2)
    params = {"objective": "regression", "learning_rate": 1.0, "boost_from_average": False}
    params |= {"num_leaves": 2, "min_data_in_leaf": 1, "min_data_in_bin": 1}
    params |= {"num_threads": 1, "verbosity": -1}
    data = lightgbm.Dataset(label[:, None], label, params=params).construct()
    booster = lightgbm.Booster(params=params, train_set=data)
    for size in (1.0, 3.0):
        data.set_label(size * label)
        booster.update()
    return np.allclose(booster.predict(label[:, None]), 3.0 * label)


@dataclass(eq=False)
class Training:
    """One booster that grows round by round, beside the rows that it is judged on.

    It always descends on squared error. For the loss of pairs the labels are Newton's steps, set
    anew as the scores move: LightGBM is a quarter faster by its own squared error than by a loss
    that is handed over, whose second derivatives it cannot know to be constant.

    Attributes
    ----------
    booster : lightgbm.Booster
    data : lightgbm.Dataset
        The rows that it is trained on.
    loss : PairLoss or None
        None if the labels stay.
    use : int
        Rounds from one setting of the labels to the next.
    handed_over : bool
        Whether squared error is computed here, for a LightGBM that keeps labels to itself.
    label : ndarray of shape (n,) or None
        Where Newton's steps lead. Handed over, they are not set in the data: LightGBM would forget
        the scores that it passes on.
    rounds : int
        Trees so far.
    finished : bool
        Whether no further split is possible.
    """

    booster: Any
    data: Any
    loss: PairLoss | None
    use: int = 1
    handed_over: bool = False
    label: NDArray[np.float32] | None = None
    rounds: int = 0
    finished: bool = False

    def grow(self, rounds: int) -> None:
        """Add trees."""
        _hush(self.booster.params["num_threads"])
        for _ in range(rounds):
            if self.finished:
                return
            if self.loss is not None and self.rounds % self.use == 0:
                self.label = self.loss.newton(self._fitted()).astype(np.float32)
                if not self.handed_over:
                    self.data.set_label(self.label)
            fobj = self._squared_error if self.handed_over else None
            self.finished = bool(self.booster.update(fobj=fobj))
            self.rounds += 1

    def _squared_error(self, score: Any, _: Any) -> tuple[Any, Any]:
        """Return the derivatives of half the squared distance to the labels, as LightGBM's own."""
        assert self.loss is not None
        weight = self.loss.weight.astype(np.float32)
        return weight * (score - self.label).astype(np.float32), weight

    def _fitted(self) -> NDArray[np.float64]:
        """Score the rows that it is trained on."""
        if not self.rounds:
            return np.zeros(self.data.num_data())
        return _scores(self.booster.eval_train)

    def heldout(self) -> NDArray[np.float64]:
        """Score the rows that it is judged on, with all trees so far."""
        return _scores(self.booster.eval_valid)


_hushed = threading.local()


def _hush(num_threads: int) -> None:
    """Keep LightGBM from warning in this thread: in each it does until that has read settings.

    They would also set the number of threads of all boosters, so the one in use is given.
    """
    if not hasattr(_hushed, "done"):
        import lightgbm

        params = {"verbosity": -1, "num_threads": num_threads}
        lightgbm.Dataset(np.zeros((2, 1)), params=params).construct()
        _hushed.done = True


def _scores(evaluate: Callable[..., object]) -> NDArray[np.float64]:
    """Read the scores that LightGBM keeps of some rows, by way of a figure that looks at them."""
    kept: list[NDArray[np.float64]] = []

    def keep(score: Any, _: Any) -> tuple[str, float, bool]:
        kept.append(np.array(score, dtype=np.float64))
        return "kept", 0.0, True

    evaluate(feval=keep)
    return kept[0]


class Engine:
    """Rows in bins, once, and boosters that are trained on some of them.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        NaN is missing; category codes count from 0.
    levels : sequence of int
        For each column the number of its levels, 0 if it holds numbers.
    options : BoosterOptions
    monotone : sequence of int
        1 or −1 for columns in which the score must be monotone, else 0.
    interaction : sequence of sequences of int
        Columns that may meet in a branch; none of them if all may.
    """

    def __init__(
        self,
        X: FloatArray,
        levels: Sequence[int],
        options: BoosterOptions,
        monotone: Sequence[int] = (),
        interaction: Sequence[Sequence[int]] = (),
    ) -> None:
        require("lightgbm", "lightgbm")
        import lightgbm

        self.options = options
        self.settings = settings(options, len(X), monotone, interaction)
        if options.loss == "concordance" and not reads_labels_anew():
            self.settings["objective"] = "none"
        self.data = lightgbm.Dataset(
            X,
            label=np.zeros(len(X), dtype=np.float32),
            categorical_feature=[j for j, count in enumerate(levels) if count],
            params=self.settings,
            free_raw_data=False,
        ).construct()

    def training(self, ranks: Ranks, judged: NDArray[np.intp] | None = None) -> Training:
        """Begin a booster on some rows, and keep scores of others.

        Parameters
        ----------
        ranks : Ranks
            Of the rows to train on.
        judged : ndarray of int, optional
            Rows to keep scores of, in increasing order.
        """
        import lightgbm

        # bins belong to rows in their order
        order = np.argsort(ranks.row)
        rows = ranks.row[order]
        data = self.data.subset(rows).construct()
        loss = None
        if self.options.loss == "concordance":
            by_position = pair_loss(ranks, self.options.kappa)
            loss = PairLoss(by_position.target[order], by_position.weight[order])
        else:
            data.set_label(labels_of(ranks, self.options)[order])
        if not ranks.unweighted:
            data.set_weight(ranks.weight[order] * (len(rows) / ranks.total))
        booster = lightgbm.Booster(params=self.settings, train_set=data)
        if judged is not None:
            booster.add_valid(self.data.subset(judged).construct(), "judged")
        rate = float(self.settings.get("learning_rate", 0.1))
        use = max(1, min(LONGEST_USE, int(MOST_MOVED / rate)))
        return Training(booster, data, loss, use, self.settings["objective"] == "none")
