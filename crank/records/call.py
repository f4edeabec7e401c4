"""The call that made a model, as plain data: printed by summaries, repeated by `update`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, repr=False)
class Shown:
    """An argument that is not kept: what is left of it is how it was shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Call:
    """What a user asked for.

    Attributes
    ----------
    function : str
        As it is called, for instance ``"crank.fit"``.
    formula : str
    arguments : mapping
        Those that differ from their defaults: plain values, or `Shown` for arrays and objects.
    then : str
        What was done to the model afterwards, for instance ``".prune(n_leaves=4)"``.

    Examples
    --------
    >>> print(Call("crank.fit", "y ~ x", {"weights": Shown("<array of 240>"), "cv": 5}))
    crank.fit(data, 'y ~ x', weights=<array of 240>, cv=5)
    """

    function: str
    formula: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    then: str = ""

    def __str__(self) -> str:
        given = [repr(self.formula), *(f"{name}={v!r}" for name, v in self.arguments.items())]
        return f"{self.function}(data, {', '.join(given)}){self.then}"

    def lost(self) -> dict[str, Shown]:
        """Find the arguments that were only shown, and so cannot be given again."""
        return {
            name: part
            for name, value in self.arguments.items()
            for part in _parts(value)
            if isinstance(part, Shown)
        }


def _parts(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, Mapping):
        yield from value.values()


def recorded(
    function: Callable[..., Any], name: str, formula: str, given: Mapping[str, Any]
) -> Call:
    """Record a call: the arguments that differ from their defaults, in their order.

    Examples
    --------
    >>> def fit(data, formula, *, cv=10, weights=None): ...
    >>> print(recorded(fit, "fit", "y ~ x", {"cv": 10, "weights": np.ones(3)}))
    fit(data, 'y ~ x', weights=<array of 3>)
    """
    arguments = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in given and parameter.kind is parameter.KEYWORD_ONLY:
            value = kept(given[parameter.name])
            if repr(value) != repr(parameter.default):
                arguments[parameter.name] = value
    return Call(name, formula, arguments)


def kept(value: Any) -> Any:
    """Keep a plain value as it is, of others how they are shown: of rows, how many."""
    if _is_plain(value):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Shown):
        return value
    if isinstance(value, Mapping):
        return {str(name): _setting(part) for name, part in value.items()} or None
    if isinstance(value, list | tuple) and all(isinstance(part, list | tuple) for part in value):
        return [_setting(part) for part in value]  # names in pairs or sets; none at all is plain
    return Shown(f"<array of {len(value)}>" if hasattr(value, "__len__") else _short(value))


def _setting(value: Any) -> Any:
    """Keep one of several settings, lists of plain values among them."""
    if isinstance(value, list | tuple) and all(map(_is_plain, value)):
        return [kept(part) for part in value]
    return kept(value) if _is_plain(value) or isinstance(value, Shown) else Shown(_short(value))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.bool_ | np.number)


def _short(value: Any) -> str:
    """Show an object in one line, a function by its name."""
    return getattr(value, "__name__", None) or " ".join(repr(value).split())
