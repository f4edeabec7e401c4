"""The library of a blend: what may be a member, by name, and how each is fitted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from crank.errors import OptionError, did_you_mean, listed
from crank.records.base import DesignedRecord
from crank.records.kinds import KINDS, fitting_function

GROWTH = 0.75
"""Power of the number of values with which costs grow: rounds, curves and cuts are limited."""


def _nothing(model: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Recipe:
    """A way to fit a member.

    Attributes
    ----------
    name : str
    kind : str
        As in `crank.records.kinds`; empty for a function of the user's.
    options : mapping
        Arguments of the function that fits the kind.
    function : callable, optional
        A function of the user's: ``(data, formula, weights=…) -> RankingModel``.
    settled : callable
        Given the model of all rows, arguments for the models without a fold: what need not be
        chosen anew.
    cost : float
        CPU seconds of all its fits for a million values (rows × columns), measured with 20
        columns and five folds.
    """

    name: str
    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None
    settled: Callable[[Any], dict[str, Any]] = _nothing
    cost: float = 0.0

    @property
    def stops(self) -> bool:
        """Whether its fit ends early when it is told to."""
        return self.kind == "booster"

    def seconds(self, rows: int, columns: int) -> float:
        """CPU seconds of all its fits, as measured once; 0 if unknown.

        Of curves the cost of a value grows with the number of columns.
        """
        wide = math.pow(max(1.0, columns / 20), 1.5) if self.kind == "additive" else 1.0
        return self.cost * math.pow(rows * columns / 1e6, GROWTH) * wide

    @property
    def absent(self) -> str:
        """Say why it cannot be fitted here; empty if it can."""
        if self.function is not None:
            return ""
        if self.kind not in KINDS:
            return f"this crank has no {self.kind} models"
        if self.kind == "booster" and find_spec("lightgbm") is None:
            return "lightgbm is not installed: pip install 'crank-rank[lightgbm]'"
        return ""

    def fit(self, data: Any, formula: str, **given: Any) -> DesignedRecord:
        """Fit a model to a table."""
        function = self.function or fitting_function(self.kind)
        model = function(data, formula, **{**self.options, **given})
        if not isinstance(model, DesignedRecord):
            raise OptionError(
                f"member {self.name!r} gave a {type(model).__name__}. Allowed: a model with one "
                "design, such as crank.fit or crank.boost makes."
            )
        return model


def _booster(name: str, loss: str, trees: str, cost: float) -> Recipe:
    return Recipe(name, "booster", {"loss": loss, "trees": trees}, cost=cost)


def _pairs(model: Any) -> dict[str, Any]:
    """As many pairs as the whole has, which each fold chooses anew."""
    return {"pairs": len(model.chosen_pairs), "cv": None}


FEW = {"n_trees": 200, "max_features": 0.6}
"""Of forests, which do not try several ways to grow: their folds would do it five times more."""
LIBRARY: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _booster("concordance", "concordance", "small", 40.0),
        _booster("concordance-large", "concordance", "large", 42.0),
        _booster("rank", "rank", "small", 28.0),
        _booster("rank-large", "rank", "large", 29.0),
        _booster("y", "y", "large", 33.0),
        _booster("y-small", "y", "small", 30.0),
        Recipe(
            "extra-forest",
            "forest",
            {"thresholds": "random", "bootstrap": False} | FEW,
            cost=78.0,
        ),
        Recipe("forest", "forest", {"thresholds": "best"} | FEW, cost=140.0),
        Recipe("linear", "linear", {"penalty": 0.001, "cv": None}, cost=5.0),
        Recipe("additive", "additive", {}, settled=_pairs, cost=90.0),
        Recipe("tree", "tree", {"criterion": "kendall", "learner": "stump"}, cost=10.0),
    )
}
EFFORTS: Mapping[str, Sequence[str]] = {
    "quick": ("rank", "y", "linear"),
    "default": ("concordance", "rank", "y", "extra-forest", "linear", "additive"),
    "best": tuple(LIBRARY),
}

BUDGETS: dict[str, float] = {"quick": 300.0, "default": 900.0, "best": 7200.0}
"""CPU seconds that the library may cost, by effort, before members are left out."""


def affordable(recipes: Sequence[Recipe], effort: str, rows: int, columns: int) -> dict[str, str]:
    """Say which recipes are too dear for so many values, and why; the two cheapest are kept.

    Costs were measured once, so that the same data get the same members on any machine.

    Examples
    --------
    >>> library = [LIBRARY[name] for name in EFFORTS["default"]]
    >>> affordable(library, "default", 50_000, 20)
    {}
    >>> list(affordable(library, "default", 500_000, 20))
    ['extra-forest', 'additive']
    >>> list(affordable(library, "default", 5_000, 200))
    ['additive']
    """
    left, dear = BUDGETS[effort], {}
    for at, recipe in enumerate(sorted(recipes, key=lambda one: one.cost)):
        cost = recipe.seconds(rows, columns)
        left -= cost
        if at > 1 and left < 0.0:
            dear[recipe.name] = (
                f"about {cost:,.0f} CPU seconds for so many values are too many for "
                f"effort={effort!r}; name it in members= to have it"
            )
    return dear


def chosen(members: Any, effort: str) -> list[Recipe]:
    """Turn names and functions into recipes.

    Parameters
    ----------
    members : None, sequence of str, or mapping of str to callable, name or None
        A mapping names members of the user's own; None as a value takes the library's.
    effort : str
    """
    if members is None:
        return [LIBRARY[name] for name in EFFORTS[effort]]
    if isinstance(members, str) or not isinstance(members, Sequence | Mapping) or not members:
        raise OptionError(
            f"members={members!r} is not allowed. Allowed: names from the library "
            f"({listed(LIBRARY)}), or a mapping of names to functions (data, formula) -> model."
        )
    found = []
    for name in members:
        given = members[name] if isinstance(members, Mapping) else None
        if callable(given):
            found.append(Recipe(str(name), function=given))
            continue
        wanted = name if given is None else given
        if wanted not in LIBRARY:
            raise OptionError(
                f"members names {wanted!r}. Allowed: {listed(LIBRARY)}, or a function."
                f"{did_you_mean(wanted, LIBRARY)}"
            )
        found.append(LIBRARY[wanted])
    return found
