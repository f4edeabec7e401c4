"""Checks of what a learner says of itself: class attributes and parameters."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from crank.errors import OptionError
from crank.plugins.base import SplitLearner, SplitRule
from crank.plugins.contract import abstract_problem, class_problem
from crank.plugins.parameters import constructor
from crank.plugins.registry import get_learner
from crank.testing.check import BrokenContract, demand, error_text, require

PLAIN = (bool, int, float, str, type(None))


@demand("declares itself", "Set the class attributes that crank.plugins.base.SplitLearner lists.")
def declares_itself(learner: SplitLearner) -> None:
    """Read the class attributes."""
    kind = type(learner)
    problem = abstract_problem(kind) or class_problem(kind)
    if problem is not None:
        raise BrokenContract(f"it {problem}", ends=True)
    for what in ("description", "url"):
        text = getattr(learner, what)
        require(
            isinstance(text, str) and len(text.splitlines()) <= 1,
            f"{what} is {text!r}, not one line of text.",
        )
    require(learner.description.strip(), "description is empty, not one line of text.")
    for flag in ("takes_missing", "takes_categories", "takes_monotone", "exports_onnx"):
        stated = getattr(learner, flag)
        require(isinstance(stated, bool), f"{flag} is {stated!r}, not True or False.")
    own = kind.rule.to_onnx is not SplitRule.to_onnx
    require(
        own or not learner.exports_onnx,
        "exports_onnx is True but rule has no to_onnx of its own.",
    )
    absent = [package for package in learner.requires if find_spec(package) is None]
    if absent:
        problem = f"requires names {', '.join(absent)}, which is not installed here."
        remedy = "Name packages as they are imported, and install them for the check."
        raise BrokenContract(problem, "requires", remedy, ends=True)


@demand(
    "keeps its parameters",
    "The constructor keeps each parameter as the attribute of its name, unchanged.",
    needs=("declares itself",),
)
def keeps_its_parameters(learner: SplitLearner) -> None:
    """Build the learner again: from its parameters, by scikit-learn's clone, and from its repr."""
    from sklearn.base import clone

    kind = type(learner)
    behind = [value for value in vars(learner).values() if isinstance(value, dict)]
    for name in constructor(kind):
        kept = hasattr(learner, name) or any(name in some for some in behind)
        require(kept, f"the parameter {name!r} is not kept as an attribute.")
    params = learner.get_params(deep=False)
    ways: dict[str, Callable[[], Any]] = {
        "the constructor": lambda: kind(**learner._given()),
        "clone": lambda: clone(learner),
    }
    for how, make in ways.items():
        try:
            twin = make()
        except (Exception, SystemExit) as error:
            require(False, f"it cannot be built from its parameters: {error_text(error)}.")
        again = twin.get_params(deep=False)
        changed = [name for name in params if repr(again.get(name)) != repr(params[name])]
        require(not changed, f"{how} changes {', '.join(changed)}.")
    if all(isinstance(value, PLAIN) for value in params.values()):
        text = repr(learner)
        try:
            same = eval(text, {kind.__name__: kind}).get_params(deep=False) == params
        except Exception as error:
            require(False, f"its repr, {text}, does not build it: {error_text(error)}.")
        require(same, f"its repr, {text}, builds another one.")
    try:
        get_learner(kind, {"no_such_parameter": 1})
    except OptionError:
        return
    require(False, "it takes a parameter that does not exist, no_such_parameter.")


CHECKS = (declares_itself, keeps_its_parameters)
