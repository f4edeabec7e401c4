"""The frame of a check: its name, its remedy, and how it says that a learner broke the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.plugins.base import FloatArray, SplitLearner, SplitRule
from crank.testing.nodes import NodeData


class BrokenContract(Exception):
    """The learner did what the contract forbids; an outcome of a check, never seen by users."""


class NotApplicable(Exception):
    """The learner does not claim what the check is about."""


@dataclass(frozen=True)
class Check:
    """One demand of the contract."""

    name: str
    remedy: str
    run: Callable[[SplitLearner], None]


def demand(name: str, remedy: str) -> Callable[[Callable[[SplitLearner], None]], Check]:
    """Turn a function into a check."""
    return lambda run: Check(name, remedy, run)


def require(condition: object, problem: str) -> None:
    """Fail the check unless a condition holds."""
    if not condition:
        raise BrokenContract(problem)


def values(rule: SplitRule, X: FloatArray, where: str) -> NDArray[np.float64]:
    """Ask for decision values and hold them to their form."""
    try:
        value = rule.decision(X)
    except Exception as error:
        raise BrokenContract(f"decision raised {told(error)} for {where}.") from error
    require(
        isinstance(value, np.ndarray) and value.dtype == np.float64,
        f"decision gave {_form(value)} for {where}, not an array of float64.",
    )
    require(value.shape == (len(X),), f"decision gave shape {value.shape} for {where}.")
    odd = int(np.count_nonzero(~np.isfinite(value)))
    require(not odd, f"{odd} of {len(X)} decision values are NaN or infinite for {where}.")
    return value


def told(error: Exception) -> str:
    """Quote an error in a problem."""
    return f"{type(error).__name__} ({str(error).rstrip('.')})"


def ask(learner: Any, data: NodeData, seed: int = 0) -> SplitRule | None:
    """Fit a learner on copies of a node's arrays."""
    fresh = data.copy()
    more: dict[str, Any] = {"levels": data.levels} if learner.takes_categories else {}
    rng = np.random.default_rng(seed)
    try:
        rule: SplitRule | None = learner.fit(fresh.X, fresh.label, fresh.weight, rng=rng, **more)
    except Exception as error:
        raise BrokenContract(f"fit raised {told(error)} for {data.name}.") from error
    return rule


def a_rule(learner: SplitLearner, data: NodeData, seed: int = 0) -> SplitRule:
    """Fit where there is something to learn, so that None is no answer."""
    rule = ask(learner, data, seed)
    require(rule is not None, f"fit gave None for {data.name}, whose labels can be told apart.")
    require(isinstance(rule, SplitRule), f"fit gave {_form(rule)} for {data.name}.")
    assert rule is not None
    return rule


def agreement(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the share of rows that two decisions send to the same side."""
    return float(np.mean((first > 0.0) == (second > 0.0)))


def _form(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"a {type(value).__name__}"
