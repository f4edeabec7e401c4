"""The frame of a check: its name, its remedy, and how it says that a learner broke the contract."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.errors import CrankError
from crank.plugins.base import FloatArray, SplitLearner, SplitRule
from crank.testing.nodes import NodeData

FIT = "fit returns a SplitRule, or None if nothing tells the labels apart, and raises for no node."
DECISION = "decision returns one finite float64 a row, for any number of rows."
COPY = "Copy X, label and weight before changing them."


class BrokenContract(Exception):
    """The learner did what the contract forbids; an outcome of a check, never seen by users.

    Parameters
    ----------
    problem : str
    cause : str
        What lies behind it; several checks that meet one cause are reported once.
    remedy : str
        What to do about that cause, if it is not what the check is about.
    ends : bool
        Whether no other check could say more.
    """

    def __init__(
        self, problem: str, cause: str = "", remedy: str = "", *, ends: bool = False
    ) -> None:
        super().__init__(problem)
        self.cause, self.remedy, self.ends = cause, remedy, ends


class NotApplicable(Exception):
    """The learner does not claim what the check is about."""


@dataclass(frozen=True)
class Kit:
    """How the checks are run.

    Attributes
    ----------
    time_budget : float
        Seconds of processor time that a fit of 2,000 rows, or of a hard node, may take.
    new_process : bool
        Whether hard nodes are fitted, and a model is read, in processes of their own.
    clock : callable
        Seconds from some moment on, of the processor by default.
    """

    time_budget: float = 20.0
    new_process: bool = True
    clock: Callable[[], float] = time.process_time


@dataclass(frozen=True)
class Check:
    """One demand of the contract.

    Attributes
    ----------
    name, remedy : str
    run : callable
        ``(learner, kit) -> None``; it raises `BrokenContract` or `NotApplicable`.
    needs : tuple of str
        Checks without which this one would say nothing new.
    """

    name: str
    remedy: str
    run: Callable[[SplitLearner, Kit], None]
    needs: tuple[str, ...] = ()


def demand(
    name: str, remedy: str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[[SplitLearner], None]], Check]:
    """Turn a function of a learner into a check."""
    return lambda run: Check(name, remedy, lambda learner, kit: run(learner), needs)


def demand_of_kit(
    name: str, remedy: str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[[SplitLearner, Kit], None]], Check]:
    """Turn a function of a learner and the kit's options into a check."""
    return lambda run: Check(name, remedy, run, needs)


def require(condition: object, problem: str, cause: str = "", remedy: str = "") -> None:
    """Fail the check unless a condition holds."""
    if not condition:
        raise BrokenContract(problem, cause, remedy)


def values(rule: SplitRule, X: FloatArray, where: str) -> NDArray[np.float64]:
    """Ask for decision values and hold them to their form."""
    try:
        value = rule.decision(X)
    except (Exception, SystemExit) as error:
        problem = f"decision raised {error_text(error)} for {where}."
        if "read-only" in str(error):
            raise BrokenContract(problem, "in place", COPY) from error
        raise BrokenContract(problem, f"decision raised {key(error)}", DECISION) from error
    require(
        isinstance(value, np.ndarray) and value.dtype == np.float64,
        f"decision gave {form(value)} for {where}, not an array of float64.",
        *("decision's type", DECISION),
    )
    require(
        value.shape == (len(X),),
        f"decision gave shape {value.shape} for {where}.",
        *("decision's shape", DECISION),
    )
    odd = int(np.count_nonzero(~np.isfinite(value)))
    require(
        not odd,
        f"{odd} of {len(X)} decision values are NaN or infinite for {where}.",
        *("decision's values", DECISION),
    )
    return value


def error_text(error: BaseException) -> str:
    """Quote an error in a problem."""
    return f"{type(error).__name__} ({' '.join(str(error).split()).rstrip('.')})"


def key(error: BaseException) -> str:
    """Tell errors apart by class and message, not by the numbers in it."""
    return f"{type(error).__name__} {re.sub(r'[0-9.]+', '', str(error))[:60]}"


def ask(learner: Any, data: NodeData, seed: int = 0, *, copy: bool = True) -> SplitRule | None:
    """Fit a learner, on copies of a node's arrays if not told otherwise."""
    fresh = data.copy() if copy else data
    more: dict[str, Any] = {"levels": data.levels} if learner.takes_categories else {}
    rng = np.random.default_rng(seed)
    try:
        rule: SplitRule | None = learner.fit(fresh.X, fresh.label, fresh.weight, rng=rng, **more)
    except CrankError:
        raise  # a refusal in crank's own words
    except (Exception, SystemExit) as error:
        problem = f"fit raised {error_text(error)} for {data.name}."
        raise BrokenContract(problem, f"fit raised {key(error)}", FIT) from error
    require(
        rule is None or isinstance(rule, SplitRule),
        f"fit gave {form(rule)} for {data.name}.",
        *("fit's type", FIT),
    )
    return rule


def a_rule(learner: SplitLearner, data: NodeData, seed: int = 0) -> SplitRule:
    """Fit where there is something to learn, so that None is no answer."""
    rule = ask(learner, data, seed)
    require(
        rule is not None,
        f"fit gave None for {data.name}, whose labels can be told apart.",
        *("fit gives None", FIT),
    )
    assert rule is not None
    return rule


def agreement(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the share of rows that two decisions send to the same side."""
    return float(np.mean((first > 0.0) == (second > 0.0)))


def form(value: object) -> str:
    """Say what kind of thing a method gave."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"a {type(value).__name__}"
