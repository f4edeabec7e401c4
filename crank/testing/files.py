"""Checks of rules in files: on the path that real models take, JSON and ONNX."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd

from crank.api.fit_tree import fit
from crank.errors import MissingExtraError, NotExportableError
from crank.models.loading import from_json
from crank.models.tree import TreeModel
from crank.plugins.base import SplitLearner
from crank.plugins.discovery import announced
from crank.serve import Scorer
from crank.testing.check import (
    BrokenContract,
    Kit,
    NotApplicable,
    ask,
    demand,
    demand_of_kit,
    require,
    values,
)
from crank.testing.nodes import category_nodes, missing_nodes, noisy, separable

GROWS = (
    *("decides", "leaves data alone", "prepares", "separates", "survives"),
    *("takes missing values", "takes categories", "splits layers", "grows trees"),
)
"""Checks without which no model comes to be."""

CHILD = """
import importlib, json, sys
absent, path, target, model, rows = json.load(sys.stdin)
sys.path[:] = path

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r} (in requires)", name=name)

sys.meta_path.insert(0, Absent())
from crank.models.loading import from_json
from crank.plugins.discovery import announced
module, _, names = target.partition(":")
kind = importlib.import_module(module)
for name in names.split("."):
    kind = getattr(kind, name)
with announced(kind):
    scores = from_json(model).predict(rows)
print("scores", json.dumps([float(s).hex() for s in scores]))
"""


@demand(
    "is stored as JSON",
    "to_dict gives dict, list, str, int, finite float, bool, None; rule.from_dict reads it back.",
    needs=("leaves data alone",),
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
        require(
            np.array_equal(values(again, data.X, data.name), values(rule, data.X, data.name)),
            f"a rule read back from JSON decides otherwise for {data.name}.",
        )
        require(
            json.dumps(again.to_dict()) == text, "a rule read back from JSON is written otherwise."
        )


@demand_of_kit(
    "saves models",
    "A model file holds all that scoring needs, and is read without the packages in requires: "
    "import them inside fit.",
    needs=("is stored as JSON", "describes itself", "credits columns", *GROWS),
)
def saves_models(learner: SplitLearner, kit: Kit) -> None:
    """Fit by formula, save, and read the file here and in a process without ``requires``."""
    frame = training_frame(learner)
    with announced(type(learner)):
        model = fitted(learner, frame)
        wanted = model.predict(frame)
        try:
            text = model.to_json()
        except NotExportableError as reason:
            raise NotApplicable(f"the rule says so itself: {reason}") from None
        assert text is not None
        again = from_json(text)
        require(
            np.array_equal(again.predict(frame), wanted),
            "a model scores otherwise after it has been saved and read.",
        )
    kind = type(learner)
    if not kit.new_process or kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        return
    scores = _in_new_process(kind, text, frame)
    require(
        scores == [float(value).hex() for value in wanted],
        "a model scores otherwise in a new process.",
    )


def _in_new_process(kind: type[SplitLearner], text: str, frame: pd.DataFrame) -> list[str]:
    target = f"{kind.__module__}:{kind.__qualname__}"
    rows = frame.drop(columns="y").to_dict("list")
    absent = [package.partition(".")[0] for package in kind.requires]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD],
        input=json.dumps([absent, sys.path, target, text, rows]),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        message = lines[-1] if lines else f"exit code {done.returncode}"
        raise BrokenContract(f"a new process cannot read the model: {message}.")
    last = done.stdout.strip().splitlines()[-1]
    found: list[str] = json.loads(last.partition(" ")[2])
    return found


@demand(
    "exports ONNX",
    "to_onnx gives a double [N, 1] that computes what decision does, missing values included.",
    needs=("declares itself", *GROWS),
)
def exports_onnx(learner: SplitLearner) -> None:
    """Run the exported model with ONNX Runtime on the training rows and on others."""
    if not learner.exports_onnx:
        raise NotApplicable("exports_onnx is False.")
    frame = training_frame(learner)
    model = fitted(learner, frame)
    try:
        scorer = Scorer(model.to_onnx() or b"")
    except MissingExtraError as reason:
        raise NotApplicable(str(reason)) from None
    except NotExportableError as reason:
        if getattr(type(learner), "exports_onnx", None) is True:
            raise BrokenContract(f"exports_onnx is True, but {reason}") from reason
        raise NotApplicable(f"the rule says so itself: {reason}") from None
    wide = frame.assign(**{name: frame[name] * 30.0 for name in "abc"})
    for rows in (frame, wide, frame[:1]):
        wanted, given = model.predict(rows), scorer(rows)
        wrong = int(np.count_nonzero(np.asarray(given) != wanted))
        require(not wrong, f"{wrong} of {len(rows)} scores differ in ONNX Runtime.")


def training_frame(learner: SplitLearner) -> pd.DataFrame:
    """Make a data frame up with a category, and with missing values if the learner takes them."""
    rng = np.random.default_rng(21)
    columns: dict[str, Any] = {name: rng.normal(size=150) for name in "abc"}
    columns["g"] = rng.choice(["u", "v", "w"], 150)
    noise = 0.3 * rng.normal(size=150)
    columns["y"] = columns["a"] + (columns["g"] == "u") + 0.5 * columns["b"] ** 2 + noise
    frame = pd.DataFrame(columns)
    if learner.takes_missing:
        frame.loc[::9, "a"] = np.nan
    return frame


def fitted(learner: SplitLearner, frame: pd.DataFrame) -> TreeModel:
    """Fit a tree of depth 2 by formula."""
    model = fit(frame, "y ~ a + b + c + g", learner=learner, max_depth=2, prune=None)
    require(model.tree.n_leaves > 1, "a model by formula has one leaf only.")
    return model


CHECKS = (is_stored, saves_models, exports_onnx)
