"""Checks of how a learner behaves: repeatable, without side effects, and fit to be stored."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from crank.growing.rule import described
from crank.plugins.base import SplitLearner, SplitRule, TrainingMatrix
from crank.testing.capturing import captured_output
from crank.testing.check import Kit, a_rule, ask, demand, demand_of_kit, require, values
from crank.testing.nodes import NodeData, category_nodes, noisy, separable


@demand(
    "repeats itself",
    "Draw random numbers from rng only, and leave the global generators alone.",
    needs=("leaves data alone",),
)
def repeats_itself(learner: SplitLearner) -> None:
    """Fit twice with the same generator and different global ones, which must stay as they are."""
    held = _global_state()
    try:
        for data in (noisy(), noisy(400, 5)):
            seen = []
            for seed in (1, 2):
                random.seed(seed)
                np.random.seed(seed)  # noqa: NPY002  # what learners must not use
                before = _global_state()
                seen.append(values(a_rule(learner, data), data.X, data.name))
                require(
                    _equal(before, _global_state()),
                    f"fit draws from a global generator or seeds it, for {data.name}.",
                )
            require(
                np.array_equal(seen[0], seen[1]),
                f"two fits with the same rng differ for {data.name}.",
            )
    finally:
        random.setstate(held[0])
        np.random.set_state(held[1])  # noqa: NPY002  # as above


def _global_state() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()  # noqa: NPY002  # what learners must not use


@demand(
    "stays as it was",
    "fit and prepare must not change the learner: keep what is learned in the rule, or in the "
    "copy that prepare returns.",
    needs=("prepares",),
)
def stays_as_it_was(learner: SplitLearner) -> None:
    """Compare the learner's attributes before and after."""
    data = noisy()
    before = copy.deepcopy(vars(learner))
    a_rule(learner, data)
    require(_equal(before, vars(learner)), "fit changed the learner.")
    ready = learner.prepare(TrainingMatrix(data.X.copy(), data.levels))
    require(_equal(before, vars(learner)), "prepare changed the learner.")
    if isinstance(ready, SplitLearner):
        held = copy.deepcopy(vars(ready))
        values(a_rule(ready, data), data.X, f"{data.name}, prepared")
        values(a_rule(ready, separable(30)), data.X, "other rows than it was prepared for")
        require(_equal(held, vars(ready)), "fit changed the prepared learner.")


@demand(
    "works in threads",
    "One learner serves several nodes at once: share nothing that changes.",
    needs=("leaves data alone", "repeats itself"),
)
def works_in_threads(learner: SplitLearner) -> None:
    """Fit many nodes in two threads and compare with fitting them in turn."""
    nodes = [noisy(60 + 5 * i, seed=i) for i in range(8)]

    def decisions(data: NodeData) -> Any:
        return values(a_rule(learner, data), data.X, data.name)

    alone = [decisions(data) for data in nodes]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(decisions, nodes))
    for data, first, second in zip(nodes, alone, together, strict=True):
        require(np.array_equal(first, second), f"{data.name} come out differently in a thread.")


@demand(
    "is copied",
    "Learners and rules must survive pickle and copy.deepcopy.",
    needs=("leaves data alone", "repeats itself", "stays as it was"),
)
def is_copied(learner: SplitLearner) -> None:
    """Copy learner and rule in both ways."""
    data = noisy()
    rule = a_rule(learner, data)
    wanted = values(rule, data.X, data.name)
    for how, twin in (
        ("pickle", pickle.loads(pickle.dumps(learner))),
        ("deepcopy", copy.deepcopy(learner)),
    ):
        found = values(a_rule(twin, data), data.X, data.name)
        require(np.array_equal(found, wanted), f"the learner decides otherwise after {how}.")
    again = pickle.loads(pickle.dumps(rule))
    found = values(again, data.X, data.name)
    require(np.array_equal(found, wanted), "the rule decides otherwise after pickle.")


@demand("describes itself", "describe and describe_right return one line of text each.")
def describes_itself(learner: SplitLearner) -> None:
    """Ask for the text of a rule, with and without the names of levels."""
    names = ["first", "second", "third"]
    asked: list[tuple[SplitRule, list[str], Any]] = [(a_rule(learner, noisy()), names, None)]
    if learner.takes_categories:
        rule = a_rule(learner, category_nodes()[0])
        asked.append((rule, names[:2], [list("abcdef"), None]))
    for rule, columns, levels in asked:
        for left in (True, False):
            where = "describe" if left else "describe_right"
            text = described(rule, columns, levels, left=left)
            require(
                text.strip() and len(text.splitlines()) == 1,
                f"{where}{' with levels' * (levels is not None)} gave {text!r}.",
            )


@demand("credits columns", "credit() is empty, or gives shares of at least 0 that sum to 1.")
def credits_columns(learner: SplitLearner) -> None:
    """Add up the credit."""
    data = noisy()
    credit = a_rule(learner, data).credit()
    require(isinstance(credit, dict), f"credit gave a {type(credit).__name__}, not a dict.")
    if not credit:
        return
    columns = range(data.X.shape[1])
    require(
        all(isinstance(j, int) and j in columns for j in credit),
        f"credit names the columns {list(credit)}; there are 0 to {columns[-1]}.",
    )
    shares = np.array(list(credit.values()), dtype=np.float64)
    require(
        (shares >= 0.0).all() and abs(shares.sum() - 1.0) < 1e-9,
        f"the shares are {shares.tolist()}, with sum {shares.sum():.6g}.",
    )


@demand(
    "keeps quiet",
    "A line in every node drowns the user: catch the cause of a warning, and print nothing.",
)
def keeps_quiet(learner: SplitLearner) -> None:
    """Turn warnings into errors on ordinary nodes, and listen."""
    with warnings.catch_warnings(), captured_output() as printed:
        warnings.simplefilter("error")
        for data in (noisy(), separable(10), noisy(400, 5)):
            values(a_rule(learner, data), data.X, data.name)
    text = "".join(printed)
    require(not text.strip(), f"it printed {text.strip()[:80]!r}.")


@demand_of_kit(
    "keeps its time",
    "Do once in prepare what is the same for all nodes, or lower the learner's own settings; a "
    "larger time_budget accepts it.",
)
def keeps_its_time(learner: SplitLearner, kit: Kit) -> None:
    """Time a fit of 2,000 rows × 10 columns."""
    data = noisy(2_000, 10)
    start = kit.clock()
    ask(learner, data)
    spent = kit.clock() - start
    require(
        spent <= kit.time_budget,
        f"a fit of {data.name} took {spent:.1f} s, and {kit.time_budget:g} s is the budget. Every "
        "layer costs as much: a cross-validated tree of depth 6 on these rows would take some "
        f"{66 * spent / 60:.0f} minutes.",
    )


CHECKS = (
    repeats_itself,
    stays_as_it_was,
    works_in_threads,
    is_copied,
    describes_itself,
    credits_columns,
    keeps_quiet,
    keeps_its_time,
)


def _equal(first: Any, second: Any) -> bool:
    """Compare attributes that may hold arrays, containers or plain objects."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return bool(first.shape == second.shape and first.tobytes() == second.tobytes())
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_equal(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(_equal, first, second))
    if hasattr(first, "__dict__") and not isinstance(first, type) and not callable(first):
        return _equal(vars(first), vars(second))
    return bool(first == second) or first is second
