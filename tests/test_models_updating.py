"""Fitting again: what may be changed is named, for editors and in notebooks."""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pandas as pd
import pytest

import crank
from crank.errors import OptionError
from crank.models.arguments import Arguments
from crank.plugins.base import SplitLearner
from crank.records.kinds import KINDS, fitting_function


def keywords(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one for one in parameters if one.kind is one.KEYWORD_ONLY}


def alternatives(hint: Any) -> set[Any]:
    """Take a union apart, and the values of a `Literal`."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return {each for part in get_args(hint) for each in alternatives(part)}
    return {hint}


def test_every_argument_of_every_kind_is_named_with_its_type() -> None:
    named = get_type_hints(Arguments, localns={"SplitLearner": SplitLearner})
    wanted: dict[str, set[Any]] = {}
    for kind in KINDS:
        function = fitting_function(kind)
        hints = get_type_hints(function)
        for name in keywords(function):
            wanted.setdefault(name, set()).update(alternatives(hints[name]))
    assert {name: alternatives(hint) for name, hint in named.items()} == wanted


MODELS: dict[str, Callable[[Any], Any]] = {
    "tree": lambda rows: crank.fit(rows, "y ~ x1", max_depth=2, prune=None),
    "linear": lambda rows: crank.linear(rows, "y ~ x1", cv=None),
    "forest": lambda rows: crank.forest(rows, "y ~ x1", n_trees=2),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_shows_the_arguments_of_its_own_call(kind: str, toy: pd.DataFrame) -> None:
    model = MODELS[kind](toy)
    shown = inspect.signature(model.update).parameters
    assert list(shown)[:2] == ["data", "formula"]
    assert not [one for one in shown.values() if one.kind is one.VAR_KEYWORD]
    changed = model.asked.arguments
    defaults = {name: one.default for name, one in keywords(fitting_function(kind)).items()}
    assert {name: one.default for name, one in keywords(model.update).items()} == {
        **defaults,
        **changed,
    }
    assert changed
    assert model.update.__doc__ == type(model).update.__doc__


def test_a_name_that_the_call_does_not_have_is_refused(toy: pd.DataFrame) -> None:
    model = MODELS["tree"](toy)
    with pytest.raises(OptionError, match=r"crank\.fit has no argument 'max_dept'.*'max_depth'\?"):
        model.update(toy, max_dept=3)
    with pytest.raises(OptionError, match="has no argument 'n_trees'"):
        model.update(toy, n_trees=3)
