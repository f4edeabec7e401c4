"""The options of a tree: their defaults, and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from crank.checks import one_of, whole
from crank.criteria import check_criterion
from crank.errors import OptionError
from crank.growing.tree import MAX_DEPTH
from crank.kernels.threads import count
from crank.rankers.directions import in_words, signs_of


@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown, validated and pruned.

    Attributes
    ----------
    criterion : {"auto", "crank", "kendall", "iauc", "spearman"}
        What a split maximises. "auto" is "kendall" if y has two values, or if more than a tenth of
        all pairs of rows are tied in y, else "crank".
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
        Folds, at most 6 below 200 rows and at least 10 rows each, and how often they are drawn
        anew.
    random_state : int or None
        Seeds folds and learners; None draws a seed.
    monotone : mapping of str, optional
        "increasing" or "decreasing" (also 1 or −1) for columns in which the score must be
        monotone. It needs the order from left to right: "auto" means that, "rank" is refused.
    n_jobs : int
        Threads of the fit; −1 for one a core.
    """

    criterion: str = "auto"
    max_depth: int = 6
    min_samples_leaf: int = 5
    leaf_order: Literal["auto", "oriented", "rank"] = "auto"
    prune: Literal["cv", "1se"] | None = "cv"
    cv: int = 10
    cv_repeats: int = 1
    random_state: int | None = 0
    n_jobs: int = 1
    monotone: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check_criterion(self.criterion)
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
        object.__setattr__(self, "monotone", in_words(self.monotone))
        if self.monotone:
            self._keep_order()

    def _keep_order(self) -> None:
        """Keep the order in which the score is monotone (theory §11)."""
        if self.leaf_order == "rank":
            raise OptionError(
                "leaf_order='rank' is not allowed with monotone=: the order of mean ranks can "
                "break it. Allowed: 'auto', 'oriented'."
            )
        object.__setattr__(self, "leaf_order", "oriented")

    @property
    def directions(self) -> dict[str, int]:
        """1 or −1 for each column in which the score must be monotone."""
        return signs_of(self.monotone)

    @property
    def threads(self) -> int:
        """Number of threads, resolved."""
        return count(self.n_jobs)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain data; without `monotone` if no column is."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.monotone is None:
            del options["monotone"]
        return options
