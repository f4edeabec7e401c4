"""Grow an oriented ranking tree layer by layer (theory §4–§5): score, split, part, go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from crank.criteria import Criterion
from crank.growing.passes import Passes, edges
from crank.growing.rule import Split
from crank.growing.splitter import LayerTask, Splitter
from crank.growing.tree import NOTHING, Node, Tree
from crank.kernels.cuts import Layer
from crank.ranks import Ranks


def grow_layers(
    splitter: Splitter,
    ranks: Ranks,
    criterion: Criterion,
    *,
    max_depth: int,
    min_leaf: int,
    seed: Callable[[], int],
) -> Tree:
    """Grow a tree until no split improves, or the limits are reached.

    The criterion scores the rows of a layer, the splitter cuts its nodes, the passes part them:
    none of the three knows the others. See `crank.fitting.grow.grow` for the parameters.
    """
    passes = splitter.passes(ranks)
    n = len(ranks.row)
    layer = Layer(np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.intp))
    sketch = _Sketch(passes)
    here = sketch.add(layer, depth=0, places=[0])
    for depth in range(max_depth):
        open_ = _splittable(ranks, layer, min_leaf)
        if not open_.any():
            break
        layer = passes.keep(layer, open_)
        here = [i for i, kept in zip(here, open_.tolist(), strict=True) if kept]
        places = [sketch.place[i] for i in here]

        def rng(k: int, depth: int = depth, places: list[int] = places) -> np.random.Generator:
            return np.random.default_rng([seed(), depth, places[k]])

        score = passes.scores(layer, criterion)
        numbers = [2**depth + place for place in places]
        found = splitter.split(
            LayerTask(layer, score, ranks, criterion.objective, min_leaf, rng, numbers)
        )
        split = np.array([s is not None for s in found.splits])
        if not split.any():
            break
        children = passes.partition(layer, found.left, split)
        layer = children.layer
        parents = [k for k, s in enumerate(found.splits) if s is not None]
        below = [2 * places[k] + side for side in (0, 1) for k in parents]
        born = sketch.add(layer, depth + 1, below)
        for k, left, right in zip(parents, born, born[len(parents) :], strict=False):
            gains = {name: float(gain[k]) for name, gain in children.gains.items()}
            sketch.split[here[k]] = (found.splits[k], left, right, gains)
        here = born
    totals = {figure.name: figure.total(ranks) for figure in passes.figures}
    return Tree(sketch.nodes(), max(sketch.depth), totals)


MANY_ROWS = 2**16
"""Rows that wait for their cells to be summed up; layers of small data are best done at once."""


class _Sketch:
    """The nodes of a tree while it grows, in the order in which they were born."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.depth: list[int] = []
        self.place: list[int] = []
        self.about: list[tuple[int, float, float, float, float, float]] = []
        self.split: dict[int, tuple[Split | None, int, int, Mapping[str, float]]] = {}
        self.waiting: list[Layer] = []

    def add(self, layer: Layer, depth: int, places: list[int]) -> list[int]:
        """Record the cells of a layer; return their numbers."""
        first = len(self.depth)
        self.depth += [depth] * len(places)
        self.place += places
        self.waiting.append(layer)
        if sum(len(layer.position) for layer in self.waiting) > MANY_ROWS:
            self.summarise()
        return list(range(first, len(self.depth)))

    def summarise(self) -> None:
        """Describe the cells of the layers that wait for it."""
        layer = self.waiting[0]
        if len(self.waiting) > 1:
            position = np.concatenate([layer.position for layer in self.waiting])
            layer = Layer(position, edges(*(layer.sizes for layer in self.waiting)))
        summary = self.passes.summarise(layer)
        self.about += zip(
            layer.sizes.tolist(),
            (summary.weight * self.passes.ranks.unit).tolist(),
            summary.quantile.tolist(),
            *summary.quartiles.T.tolist(),
            strict=True,
        )
        self.waiting = []

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes as the tree keeps them."""
        if self.waiting:
            self.summarise()
        leaf = (None, -1, -1, NOTHING)
        return tuple(
            Node(depth, place, *about, *self.split.get(i, leaf))
            for i, (depth, place, about) in enumerate(
                zip(self.depth, self.place, self.about, strict=True)
            )
        )


def _splittable(ranks: Ranks, layer: Layer, min_leaf: int) -> NDArray[np.bool_]:
    """Tell which nodes are large enough and have two distinct responses."""
    large: NDArray[np.bool_] = layer.sizes >= 2 * min_leaf
    if not ranks.tied:
        return large
    lowest = ranks.group[layer.position[layer.starts]]
    highest = ranks.group[layer.position[layer.bounds[1:] - 1]]
    return np.asarray(large & (lowest != highest))
