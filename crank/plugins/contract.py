"""What is asked of a learner's class before it is used: a version, a form, a `fit` to call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from crank.errors import PluginError, listed
from crank.plugins.base import SplitLearner, SplitRule

CONTRACTS = (1,)
"""Versions of the contract that this crank keeps; see docs/plugin-contract.md."""


def checked(found: Any, label: str, distribution: str = "its distribution") -> type[SplitLearner]:
    """Return a class if it is a learner's that can be used, or say what is wrong with it."""
    if not (isinstance(found, type) and issubclass(found, SplitLearner)):
        got = f"the class {found.__name__}" if isinstance(found, type) else repr(found)
        raise PluginError(
            f"split learner {label} is {got}. Allowed: a class derived from "
            f"crank.plugins.base.SplitLearner."
        )
    problem = class_problem(found)
    if problem is not None:
        raise PluginError(f"split learner {label} {problem} Ask for a new version: {distribution}.")
    return found


@cache  # half a millisecond, and estimators ask for their learner at every call
def class_problem(kind: type[SplitLearner]) -> str | None:
    """Say what keeps a class from being used as a learner; None if nothing does.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> class_problem(Logistic) is None
    True
    """
    return (
        _contract_problem(kind.contract)
        or abstract_problem(kind)
        or _signature_problem(kind)
        or requires_problem(kind.requires)
    )


def _contract_problem(contract: object) -> str | None:
    if type(contract) is int and contract in CONTRACTS:
        return None
    known = listed(CONTRACTS)
    if type(contract) is not int:
        return f"has contract = {contract!r}. Allowed: {known}, as an integer."
    newer = contract > max(CONTRACTS)
    remedy = "Install a newer crank, or" if newer else "It is too old for this crank:"
    return (
        f"was written for version {contract} of the contract; this crank keeps {known}. {remedy} "
        "another version of the plugin."
    )


def abstract_problem(kind: type[SplitLearner]) -> str | None:
    """Say which methods a learner or its rule still lacks."""
    rule: Any = getattr(kind, "rule", None)
    for part, role in ((kind, ""), (rule, ", its rule,")):
        if inspect.isabstract(part):
            lacks = listed(sorted(part.__abstractmethods__))
            return f"is abstract: {part.__name__}{role} lacks {lacks}."
    if not (isinstance(rule, type) and issubclass(rule, SplitRule)):
        return f"has rule = {rule!r}. Allowed: a class derived from SplitRule."
    return None


def _signature_problem(kind: type[SplitLearner]) -> str | None:
    """Try the arguments with which `fit` will be called."""
    more = {"rng": None}
    more |= {"levels": None} if kind.takes_categories is True else {}
    more |= {"monotone": None} if kind.takes_monotone is True else {}
    try:
        signature = inspect.signature(kind.fit)
        signature.bind(None, None, None, None, **more)
    except (TypeError, ValueError) as cause:
        names = ", ".join(["X", "label", "weight", "*", *more])
        return f"cannot be asked to fit: {cause}. Allowed: fit(self, {names})."
    return None


def requires_problem(requires: object) -> str | None:
    """Say what is wrong with the packages that a class says it needs."""
    if isinstance(requires, Mapping) and all(
        isinstance(name, str) and name.replace(".", "_").isidentifier() and isinstance(source, str)
        for name, source in requires.items()
    ):
        return None
    return (
        f"has requires = {requires!r}. Allowed: a mapping of package names to what to pip "
        "install, for instance {'torch': 'my-plugin[torch]'}."
    )
