"""A model fitted again: the stored call with some arguments changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper, wraps
from typing import Any, TypeVar, cast

from crank.checks import data_first
from crank.errors import OptionError, did_you_mean, listed
from crank.formula.update import updated
from crank.records.base import ModelRecord
from crank.records.kinds import named_function

Method = TypeVar("Method", bound=Callable[..., Any])


def update(
    model: ModelRecord, data: Any, formula: str | None, changes: Mapping[str, object]
) -> Any:
    """Fit again; see `RankingModel.update`."""
    data_first(data, formula, "model.update")
    call, allowed = model.asked, _arguments(model)
    for name in changes:
        if name not in allowed:
            raise OptionError(
                f"{call.function} has no argument {name!r}. Allowed: {listed(allowed)}."
                f"{did_you_mean(name, allowed)}"
            )
    old = dict(call.arguments)
    if "learner" in changes:  # settings belong to the learner that they were given for
        old.pop("learner_params", None)
    for name, shown in call.lost().items():
        if name in old and name not in changes:
            raise OptionError(
                f"{name} was given as {shown}, which the model does not keep. "
                f"Give {name}= again, or {name}=None to do without."
            )
    new = model.formula if formula is None else updated(model.formula, formula)
    return _function(model)(data, new, **{**old, **changes})


def _function(model: ModelRecord) -> Callable[..., Any]:
    function: Callable[..., Any] = named_function(model.asked.function, model.kind)
    return function


def _arguments(model: ModelRecord) -> dict[str, inspect.Parameter]:
    """Give the arguments that can be changed, with the values that the model's call had."""
    asked = model.asked.arguments
    return {
        name: one.replace(default=asked.get(name, one.default))
        for name, one in inspect.signature(_function(model)).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }


def shows_arguments(method: Method) -> Method:
    """Let a model's method show, in place of ``**changes``, what the model's own call takes.

    Notebooks then complete ``m.update(data, max_`` and show the value that the call had.
    """
    return cast(Method, _Shown(method))


class _Shown:
    """The method of a class; of a model, bound to it, with the arguments of its call."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        update_wrapper(cast(Any, self), method)

    def __get__(self, model: ModelRecord | None, owner: type) -> Callable[..., Any]:
        if model is None:
            return self._method

        @wraps(self._method)
        def bound(*given: Any, **changes: Any) -> Any:
            return self._method(model, *given, **changes)

        own = inspect.signature(self._method)
        first = [one for one in own.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        shown = own.replace(parameters=[*first[1:], *_arguments(model).values()])
        bound.__signature__ = shown  # type: ignore[attr-defined]
        return bound
