"""Weakest-link pruning on τ or IAUC: exact, because gains add up over nodes (theory §5)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from crank.growing.tree import Tree
from crank.metrics.figures import Figure


@dataclass(frozen=True)
class PruningStep:
    """One subtree of the nested sequence.

    Attributes
    ----------
    alpha : float
        Least gain of the figure per leaf that every branch of the subtree still earns exceeds
        this: the complexity price at which the subtree becomes the best one.
    n_leaves : int
    figure : float
        Training d_τ or IAUC of the subtree, in the order of the path's leaves.
    removed : frozenset of int
        Nodes of the full tree that this step turned into leaves.
    """

    alpha: float
    n_leaves: int
    figure: float
    removed: frozenset[int]


@dataclass(frozen=True)
class PruningPath:
    """The nested sequence of subtrees, from the tree as grown down to its root.

    Gains choose the sequence, and they are those of the order from left to right. The figures of
    the steps may be those of the order by rank.

    Attributes
    ----------
    tree : Tree
        As grown.
    figure : Figure
    steps : tuple of PruningStep
    by_rank : mapping
        By name of the figure, training figures of the steps with their leaves in the order by
        rank; empty if the leaves stand from left to right, where gains give them.
    """

    tree: Tree
    figure: Figure
    steps: tuple[PruningStep, ...]
    by_rank: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def ordered_by_rank(self, figures: Mapping[str, tuple[float, ...]]) -> PruningPath:
        """Return the path with training figures of the order by rank."""
        steps = zip(self.steps, figures[self.figure.name], strict=True)
        return replace(
            self,
            steps=tuple(replace(step, figure=found) for step, found in steps),
            by_rank=figures,
        )

    @cached_property
    def alphas(self) -> tuple[float, ...]:
        """Price at which each step begins; strictly increasing, the first is 0."""
        return tuple(step.alpha for step in self.steps)

    def collapsed(self, step: int) -> set[int]:
        """Nodes of the full tree that are leaves at a step, or lie below one."""
        return set().union(*(s.removed for s in self.steps[: step + 1]))

    def subtree(self, step: int) -> Tree:
        """Return the subtree of a step."""
        return self.tree.collapse(self.collapsed(step))

    def step_at_alpha(self, alpha: float) -> int:
        """Return the step that is best when each leaf costs ``alpha``."""
        return int(np.searchsorted(self.alphas, alpha, side="right")) - 1

    def step_with_leaves(self, n_leaves: int) -> int:
        """Return the largest subtree of the sequence with at most so many leaves."""
        return next(k for k, step in enumerate(self.steps) if step.n_leaves <= n_leaves)

    @property
    def typical_alphas(self) -> tuple[float, ...]:
        """A price inside each step's interval: the geometric mean of its ends, as in CART."""
        ends = [*self.alphas[1:], np.inf]
        return tuple(
            float(np.sqrt(a * b)) if np.isfinite(b) else b
            for a, b in zip(self.alphas, ends, strict=True)
        )


def weakest_links(tree: Tree, figure: Figure) -> PruningPath:
    """Collapse the tree branch by branch, the least useful first.

    A branch is worth its gain divided by the leaves it costs, g(t) = gain(t) / (leaves(t) − 1).
    Branches that gain nothing go before the first step.

    References
    ----------
    Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, ch. 3; the
    gains are those of Clémençon & Achab (2017) trees, which CART's proof covers because they add.
    """
    total = tree.totals[figure.name]
    scale = 0.5 / total if total > 0 else 0.0
    gain = [node.gain(figure) * scale for node in tree.nodes]
    leaves = [1] * len(tree.nodes)
    parent = [-1] * len(tree.nodes)
    for i in range(len(tree.nodes) - 1, -1, -1):  # parents come before children
        node = tree.nodes[i]
        if not node.is_leaf:
            gain[i] += gain[node.left] + gain[node.right]
            leaves[i] = leaves[node.left] + leaves[node.right]
            parent[node.left] = parent[node.right] = i

    gone = [node.is_leaf for node in tree.nodes]
    queue = [(gain[i] / (leaves[i] - 1), i) for i, leaf in enumerate(gone) if not leaf]
    heapq.heapify(queue)

    def weakest() -> tuple[float, int] | None:
        while queue:
            worth, i = queue[0]
            if not gone[i] and worth == gain[i] / (leaves[i] - 1):
                return worth, i
            heapq.heappop(queue)  # the branch is gone, or has changed and stands further down
        return None

    def collapse(i: int) -> None:
        lost_gain, lost_leaves = gain[i], leaves[i] - 1
        below = [i]
        while below:  # all below a branch that is gone are gone
            j = below.pop()
            if not gone[j]:
                gone[j] = True
                below += tree.nodes[j].left, tree.nodes[j].right
        while i >= 0:
            gain[i] -= lost_gain
            leaves[i] -= lost_leaves
            if leaves[i] > 1:
                heapq.heappush(queue, (gain[i] / (leaves[i] - 1), i))
            i = parent[i]

    steps: list[PruningStep] = []
    price, rounding = 0.0, 1e-12
    while True:
        removed = set()
        while (link := weakest()) is not None and link[0] <= price + rounding:
            removed.add(link[1])
            collapse(link[1])
        steps.append(PruningStep(price, leaves[0], 0.5 + gain[0], frozenset(removed)))
        if link is None:
            return PruningPath(tree, figure, tuple(steps))
        price = link[0]
