"""Checks of how a learner behaves: repeatable, without side effects, and fit to be stored."""

from __future__ import annotations

import copy
import json
import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from crank.growing.splitter import Splitter
from crank.plugins.base import NotExportableError, SplitLearner, SplitRule, TrainingMatrix
from crank.testing.check import NotApplicable, a_rule, ask, demand, require, values
from crank.testing.nodes import NodeData, category_nodes, missing_nodes, noisy, separable


@demand("declares itself", "Set the class attributes that crank.plugins.base.SplitLearner lists.")
def declares_itself(learner: SplitLearner) -> None:
    """Read the class attributes."""
    rule = getattr(type(learner), "rule", None)
    require(
        isinstance(rule, type) and issubclass(rule, SplitRule),
        f"rule is {rule!r}, not a class derived from SplitRule.",
    )
    text = learner.description
    require(
        isinstance(text, str) and text.strip() and len(text.splitlines()) == 1,
        f"description is {text!r}, not one line of text.",
    )
    for flag in ("takes_missing", "takes_categories", "takes_monotone", "exports_onnx"):
        stated = getattr(learner, flag)
        require(isinstance(stated, bool), f"{flag} is {stated!r}, not True or False.")
    own = getattr(rule, "to_onnx", None) is not SplitRule.to_onnx
    require(
        own or not learner.exports_onnx,
        "exports_onnx is True but rule has no to_onnx of its own.",
    )


@demand("repeats itself", "Draw random numbers from rng only, and from nothing else.")
def repeats_itself(learner: SplitLearner) -> None:
    """Fit twice with the same generator and different global ones."""
    held = random.getstate(), np.random.get_state()  # noqa: NPY002  # what learners must not use
    try:
        for data in (noisy(), noisy(400, 5)):
            seen = []
            for seed in (1, 2):
                random.seed(seed)
                np.random.seed(seed)  # noqa: NPY002  # as above
                seen.append(values(a_rule(learner, data), data.X, data.name))
            require(
                np.array_equal(seen[0], seen[1]),
                f"two fits with the same rng differ for {data.name}.",
            )
    finally:
        random.setstate(held[0])
        np.random.set_state(held[1])  # noqa: NPY002  # as above


@demand("leaves data alone", "Copy X, label and weight before changing them.")
def leaves_data_alone(learner: SplitLearner) -> None:
    """Compare the arrays before and after."""
    data = noisy() if not learner.takes_missing else missing_nodes()[0]
    given = data.copy()
    more: dict[str, Any] = {"levels": data.levels} if learner.takes_categories else {}
    rng = np.random.default_rng(0)
    rule = learner.fit(given.X, given.label, given.weight, rng=rng, **more)
    for name in ("X", "label", "weight"):
        before, after = getattr(data, name), getattr(given, name)
        require(np.array_equal(before, after, equal_nan=True), f"fit changed {name}.")
    if rule is not None:
        rule.decision(given.X)
        require(np.array_equal(data.X, given.X, equal_nan=True), "decision changed X.")


@demand(
    "stays as it was",
    "fit and prepare must not change the learner: keep what is learned in the rule, or in the "
    "copy that prepare returns.",
)
def stays_as_it_was(learner: SplitLearner) -> None:
    """Compare the learner's attributes before and after."""
    data = noisy()
    before = copy.deepcopy(vars(learner))
    a_rule(learner, data)
    require(_equal(before, vars(learner)), "fit changed the learner.")
    ready = learner.prepare(TrainingMatrix(data.X.copy(), data.levels))
    require(_equal(before, vars(learner)), "prepare changed the learner.")
    require(
        isinstance(ready, (SplitLearner, Splitter)),
        f"prepare gave a {type(ready).__name__}, not a SplitLearner or a Splitter.",
    )
    if isinstance(ready, SplitLearner):
        held = copy.deepcopy(vars(ready))
        values(a_rule(ready, data), data.X, f"{data.name}, prepared")
        values(a_rule(ready, separable(30)), data.X, "other rows than it was prepared for")
        require(_equal(held, vars(ready)), "fit changed the prepared learner.")


@demand("works in threads", "One learner serves several nodes at once: share nothing that changes.")
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


@demand("is copied", "Learners and rules must survive pickle and copy.deepcopy.")
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


@demand(
    "is stored as JSON",
    "to_dict gives dict, list, str, int, finite float, bool, None; rule.from_dict reads it back.",
)
def is_stored(learner: SplitLearner) -> None:
    """Write rules as JSON, read them with the learner's rule class, and compare."""
    nodes = [noisy(), separable(10)]
    nodes += missing_nodes()[:3] if learner.takes_missing else []
    nodes += category_nodes() if learner.takes_categories else []
    for data in nodes:
        rule = ask(learner, data)
        if rule is None:
            continue
        try:
            stored = rule.to_dict()
        except NotExportableError as reason:
            raise NotApplicable(f"the rule says so itself: {reason}") from None
        text = json.dumps(stored, allow_nan=False)
        again = type(learner).rule.from_dict(json.loads(text))
        require(isinstance(again, SplitRule), f"from_dict gave a {type(again).__name__}.")
        require(
            np.array_equal(values(again, data.X, data.name), values(rule, data.X, data.name)),
            f"a rule read back from JSON decides otherwise for {data.name}.",
        )
        require(again.to_dict() == stored, "a rule read back from JSON is written differently.")


@demand("describes itself", "describe(names) and describe_right(names) return one line each.")
def describes_itself(learner: SplitLearner) -> None:
    """Ask for the text of a rule."""
    names = ["first", "second", "third"]
    rule = a_rule(learner, noisy())
    texts = {"describe": rule.describe(names), "describe_right": rule.describe_right(names)}
    if learner.takes_categories:
        rule = a_rule(learner, category_nodes()[0])
        told: Any = rule.describe
        texts["describe with levels"] = told(names[:2], levels=[list("abcdef"), None])
    for where, text in texts.items():
        require(
            isinstance(text, str) and text.strip() and len(text.splitlines()) == 1,
            f"{where} gave {text!r}, not one line of text.",
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


@demand("keeps quiet", "A warning in every node drowns the user: catch the cause, not the warning.")
def keeps_quiet(learner: SplitLearner) -> None:
    """Turn warnings into errors on ordinary nodes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (noisy(), separable(10), noisy(400, 5)):
            values(a_rule(learner, data), data.X, data.name)


CHECKS = (
    declares_itself,
    repeats_itself,
    leaves_data_alone,
    stays_as_it_was,
    works_in_threads,
    is_copied,
    is_stored,
    describes_itself,
    credits_columns,
    keeps_quiet,
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
