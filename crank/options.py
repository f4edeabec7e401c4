"""The options of a fit: their defaults, and one form of message when a value is not allowed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal

from crank.criteria import get_criterion
from crank.errors import OptionError, did_you_mean, listed
from crank.kernels.threads import count
from crank.tree import MAX_DEPTH


@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown, validated and pruned.

    Attributes
    ----------
    criterion : {"crank", "kendall", "iauc", "spearman"}
        What a split maximises.
    max_depth : int
        Greatest depth; at most 50.
    min_samples_leaf : int
        Fewest training rows in a leaf.
    leaf_order : {"auto", "oriented", "rank"}
        The paper's order from left to right, or the order of the leaves' mean rank. "auto" keeps
        the first unless cross-validation puts the second ahead by more than one standard error;
        without cross-validation it means "rank" for the spearman criterion, else "oriented".
    prune : {"cv", "1se", None}
        Keep the subtree with the best cross-validated figure, the smallest one within a standard
        error of it, or the tree as grown (then no cross-validation is run).
    cv, cv_repeats : int
        Folds, and how often they are drawn anew.
    random_state : int or None
        Seeds folds and learners; None draws a seed.
    n_jobs : int
        Threads of the fit; −1 for one a core.
    """

    criterion: str = "crank"
    max_depth: int = 6
    min_samples_leaf: int = 5
    leaf_order: Literal["auto", "oriented", "rank"] = "auto"
    prune: Literal["cv", "1se"] | None = "cv"
    cv: int = 10
    cv_repeats: int = 1
    random_state: int | None = 0
    n_jobs: int = 1

    def __post_init__(self) -> None:
        get_criterion(self.criterion)
        whole("max_depth", self.max_depth, 1, MAX_DEPTH)
        whole("min_samples_leaf", self.min_samples_leaf, 1)
        one_of("leaf_order", self.leaf_order, ("auto", "oriented", "rank"))
        one_of("prune", self.prune, ("cv", "1se", None))
        whole("cv", self.cv, 2)
        whole("cv_repeats", self.cv_repeats, 1)
        if self.random_state is not None:
            whole("random_state", self.random_state, 0)
        if self.n_jobs != -1:
            whole("n_jobs", self.n_jobs, 1, remedy="Use -1 for one thread a core.")

    @property
    def threads(self) -> int:
        """Number of threads, resolved."""
        return count(self.n_jobs)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def one_of(option: str, value: object, allowed: Collection[object]) -> None:
    """Raise unless an option has one of the allowed values.

    Examples
    --------
    >>> one_of("type", "scores", ("score", "leaf"))
    Traceback (most recent call last):
        ...
    crank.errors.OptionError: type='scores' is not allowed. Allowed: 'score', 'leaf'. \
Did you mean 'score'?
    """
    try:
        known = value in allowed
    except (TypeError, ValueError):
        known = False
    if not known:
        raise OptionError(
            f"{option}={value!r} is not allowed. Allowed: {listed(map(repr, allowed))}."
            f"{did_you_mean(value, allowed)}"
        )


def whole(
    option: str, value: object, least: int, most: int | None = None, remedy: str = ""
) -> None:
    """Raise unless an option is an integer within bounds.

    Examples
    --------
    >>> whole("max_depth", 0, 1, 50)
    Traceback (most recent call last):
        ...
    crank.errors.OptionError: max_depth=0 is not allowed. Allowed: an integer from 1 to 50.
    """
    bad = isinstance(value, bool) or not isinstance(value, Integral)
    if bad or int(value) < least or (most is not None and int(value) > most):  # type: ignore[call-overload]  # narrowed by bad
        bounds = f"from {least}" + (f" to {most}" if most is not None else " up")
        raise OptionError(
            f"{option}={value!r} is not allowed. Allowed: an integer {bounds}. {remedy}".rstrip()
        )
