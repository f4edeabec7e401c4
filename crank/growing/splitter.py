"""What splits the nodes of a layer: the task, the answer, and who gives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crank.growing.passes import Passes
from crank.growing.rule import Split
from crank.kernels.cuts import Layer, Objective
from crank.ranks import Ranks


@dataclass(frozen=True)
class LayerTask:
    """The nodes of one depth, scored by the criterion and waiting to be split.

    Attributes
    ----------
    layer : Layer
    score : ndarray of float64
        The criterion's score of each row of the layer, case weights included.
    ranks : Ranks
    objective : {"sum", "variance"}
    min_leaf : int
        Fewest rows that a side may have.
    rng : callable
        ``rng(k)`` is the random generator of the k-th node of the layer.
    numbers : sequence of int
        How people call the nodes: 1 for the root, 2k and 2k + 1 for the children of k.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> ranks = rank(np.array([3.0, 1.0, 2.0]))
    >>> root = Layer(np.arange(3, dtype=np.int32), np.array([0, 3]))
    >>> score = np.array([-2.0, 0.0, 2.0])
    >>> task = LayerTask(root, score, ranks, "sum", 1, np.random.default_rng, numbers=[1])
    >>> task.called(0), task.layer.sizes.tolist()
    ('node 1', [3])
    """

    layer: Layer
    score: NDArray[np.float64]
    ranks: Ranks
    objective: Objective
    min_leaf: int
    rng: Callable[[int], np.random.Generator]
    numbers: Sequence[int] = ()

    def called(self, k: int) -> str:
        """Name a node of the layer in a message."""
        return f"node {self.numbers[k]}" if self.numbers else f"node {k} of its layer"


@dataclass(frozen=True)
class LayerSplits:
    """What became of the nodes of a layer: a split or None each, and the side of each row.

    Examples
    --------
    >>> answer = LayerSplits([None], left=np.zeros(3, dtype=bool))  # one node, a leaf
    >>> answer.splits
    [None]
    """

    splits: list[Split | None]
    left: NDArray[np.bool_]


class Splitter(ABC):
    """A learner bound to the training matrix of one tree.

    Examples
    --------
    >>> class Never(Splitter):
    ...     def split(self, task):
    ...         nothing = np.zeros(len(task.score), dtype=bool)
    ...         return LayerSplits([None] * len(task.layer.sizes), left=nothing)
    """

    @abstractmethod
    def split(self, task: LayerTask) -> LayerSplits:
        """Split every node of a layer that is worth splitting."""

    def measure(self, ranks: Ranks) -> None:  # noqa: B027 - most splitters measure nothing
        """Measure what trees on the matrix share, by these rows, if that has not been done."""

    def passes(self, ranks: Ranks) -> Passes:
        """Choose how the grower does its own work on each layer; in NumPy by default."""
        return Passes(ranks)

    def close(self) -> None:  # noqa: B027 - most splitters hold nothing
        """Let go of what the tree needed while it grew, such as threads."""
