"""Parameters as scikit-learn's estimators have them: read from the constructor's signature.

A parameter is kept as the attribute of its name. Names behind ``**kwargs`` are those that the
classes above take, or the ones that `Parameters.parameter_names` adds; their values may be kept in
a dict under the name of the ``**kwargs``.
"""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Iterable
from functools import cache
from typing import Any, Self

from crank.errors import OptionError, listed


class Parameters:
    """What learners share: they can be read, changed, copied and printed by their parameters.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> learner = Logistic(C=0.1)
    >>> learner, learner.set_params(C=2.0).get_params()["C"]
    (Logistic(C=2.0), 2.0)
    """

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Name the parameters; override it to add what ``**kwargs`` takes beyond them."""
        return tuple(constructor(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``deep`` adds those of parameters that have some themselves."""
        found: dict[str, Any] = {}
        for name in self.parameter_names():
            value = kept_value(self, name)
            found[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params(deep=True)
                found |= {f"{name}__{key}": part for key, part in inner.items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they are checked as if the learner were built anew."""
        if not params:
            return self
        outer = {name.partition("__")[0]: None for name in params}
        check_names(type(self), outer, type(self).__name__)
        changed = self._given()
        changed |= {name: value for name, value in params.items() if "__" not in name}
        for own in {name.partition("__")[0] for name in params if "__" in name}:
            if not hasattr(changed[own], "set_params"):
                raise OptionError(
                    f"{own} of {type(self).__name__} is {changed[own]!r}, which has no parameters "
                    f"of its own. Allowed: {own}=value."
                )
            changed[own] = _copied(changed[own])
        for name, value in params.items():
            own, nested, inner = name.partition("__")
            if nested:
                changed[own] = changed[own].set_params(**{inner: value})
        fresh = type(self)(**changed)
        self.__dict__.clear()
        self.__dict__.update(fresh.__dict__)
        return self

    def _given(self) -> dict[str, Any]:
        """Return the parameters that the constructor needs, those of ``**kwargs`` if given."""
        optional = set(self.parameter_names()) - set(constructor(type(self)))
        values = self.get_params(deep=False)
        return {n: v for n, v in values.items() if n not in optional or v is not None}

    def __sklearn_clone__(self) -> Self:
        # without scikit-learn's demand that the constructor keeps the very same objects
        return type(self)(**{name: _copied(value) for name, value in self._given().items()})

    def __repr__(self) -> str:
        inside = ", ".join(f"{n}={v!r}" for n, v in constructor_arguments(self).items())
        return f"{type(self).__name__}({inside})"


def _copied(value: Any) -> Any:
    """Copy a parameter as scikit-learn's ``clone`` does: what it was made with, not what it is."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        from sklearn.base import clone

        return clone(value)
    return copy.deepcopy(value)


def constructor(kind: type) -> dict[str, inspect.Parameter]:
    """Return the named parameters of a constructor, and behind ``**kwargs`` those of its bases."""
    hashable: Any = kind
    return _constructor(hashable)


@cache  # a third of a millisecond, and estimators ask for their learner at every call
def _constructor(kind: Any) -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for base in kind.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        parameters = [*inspect.signature(base.__init__).parameters.values()][1:]
        for p in parameters:
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                found.setdefault(p.name, p)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found


@cache
def _kwargs_name(kind: Any) -> str | None:
    """Return the name of the constructor's ``**kwargs``, if it has some."""
    for p in inspect.signature(kind).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            return p.name
    return None


def kept_value(learner: object, name: str) -> Any:
    """Return what a parameter was set to: its attribute, or its place among the ``**kwargs``."""
    missing = object()
    value = getattr(learner, name, missing)
    if value is not missing:
        return value
    kind: Any = type(learner)
    behind = getattr(learner, _kwargs_name(kind) or "", None)
    if isinstance(behind, dict) and name in behind:
        return behind[name]
    default = constructor(type(learner)).get(name)
    return None if default is None or default.default is default.empty else default.default


def check_names(kind: type[Parameters], given: Iterable[str], label: str) -> tuple[str, ...]:
    """Refuse parameters that a class does not have; return those that it has.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> check_names(Logistic, ["c"], "Logistic")
    Traceback (most recent call last):
    ...
    crank.errors.OptionError: Logistic has no parameter 'c'. Allowed: C. Did you mean 'C'?
    """
    names = kind.parameter_names()
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name).lower(), [n.lower() for n in names], n=1)
            hint = next((f" Did you mean {n!r}?" for n in names if [n.lower()] == near), "")
            raise OptionError(f"{label} has no parameter {name!r}. Allowed: {listed(names)}.{hint}")
    return names


def constructor_arguments(learner: Parameters) -> dict[str, Any]:
    """Read back what a learner was made with, where that differs from the defaults.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> constructor_arguments(Logistic(C=0.01)), constructor_arguments(Logistic())
    ({'C': 0.01}, {})
    """
    known = constructor(type(learner))
    found = {}
    for name, value in learner.get_params(deep=False).items():
        default = known[name].default if name in known else None
        if repr(value) != repr(default):
            found[name] = value
    return found
