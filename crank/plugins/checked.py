"""A plugin's own splitter, held to its answers: sides that follow from the rules, leaves not small.

A splitter says twice where a row goes: by the side that it gives, which makes the tree, and by
the rule that it leaves, which scores new rows. If the two differ, the tree is not what it says.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crank.blame import blamed, broken, read_only
from crank.errors import PluginError
from crank.growing.matrix import TrainingMatrix
from crank.growing.passes import Passes
from crank.growing.rule import Split, SplitRule
from crank.growing.splitter import LayerSplits, LayerTask, Splitter
from crank.ranks import Ranks


class CheckedSplitter(Splitter):
    """Ask a plugin's splitter, on arrays that it cannot change, and check what it answers.

    Parameters
    ----------
    splitter : Splitter
    learner : type
        Whose splitter it is, for messages.
    data : TrainingMatrix
    """

    def __init__(self, splitter: Splitter, learner: type, data: TrainingMatrix) -> None:
        self.splitter, self.learner, self.data = splitter, learner, data

    def split(self, task: LayerTask) -> LayerSplits:
        """Split a layer, or raise `PluginError`."""
        layer = replace(task.layer, position=read_only(task.layer.position))
        safe = replace(task, layer=layer, score=read_only(task.score))
        with blamed(self.learner, "split of its splitter"):
            found = self.splitter.split(safe)
        problem = splits_problem(found, task, self.data)
        if problem is not None:
            raise broken(self.learner, f"has a splitter that {problem}")
        return LayerSplits(list(found.splits), np.asarray(found.left))

    def measure(self, ranks: Ranks) -> None:
        """Let the splitter measure what trees share."""
        with blamed(self.learner, "measure of its splitter"):
            self.splitter.measure(ranks)

    def passes(self, ranks: Ranks) -> Passes:
        """Take the passes that the splitter chooses."""
        with blamed(self.learner, "passes of its splitter"):
            found = self.splitter.passes(ranks)
        if not isinstance(found, Passes):
            raise broken(self.learner, f"gave {found!r} from passes. Allowed: Passes(ranks).")
        return found

    def close(self) -> None:
        """Let the splitter go."""
        with blamed(self.learner, "close of its splitter"):
            self.splitter.close()


def splits_problem(found: object, task: LayerTask, data: TrainingMatrix) -> str | None:
    """Say in what way a layer's splits cannot be true; None if they can."""
    if not isinstance(found, LayerSplits):
        return f"gave {type(found).__name__} from split. Allowed: LayerSplits(splits, left)."
    n_nodes, n_rows = len(task.layer.sizes), len(task.layer.position)
    left = np.asarray(found.left)
    if len(found.splits) != n_nodes or left.shape != (n_rows,) or left.dtype != np.bool_:
        return (
            f"gave {len(found.splits)} splits and sides of shape {left.shape} and type "
            f"{left.dtype} for {n_nodes} nodes and {n_rows} rows. Allowed: a Split or None a node "
            "and True or False a row."
        )
    bounds = task.layer.bounds.tolist()
    for k, split in enumerate(found.splits):
        here = slice(bounds[k], bounds[k + 1])
        rows = task.ranks.row[task.layer.position[here]]
        problem = _node_problem(split, left[here], rows, task.min_leaf, data, task.called(k))
        if problem is not None:
            return f"{problem} at {task.called(k)}."
    return None


def _node_problem(
    split: object,
    left: NDArray[np.bool_],
    rows: NDArray[np.intp],
    min_leaf: int,
    data: TrainingMatrix,
    where: str,
) -> str | None:
    if split is None:
        return "sends rows left though it gives no split" if left.any() else None
    if not isinstance(split, Split) or not isinstance(split.rule, SplitRule):
        return f"gave {split!r}, not a Split of a SplitRule,"
    smaller = min(int(left.sum()), len(left) - int(left.sum()))
    if smaller < min_leaf:
        return f"leaves {smaller} rows on one side, fewer than min_leaf = {min_leaf}"
    try:
        wrong = int(np.count_nonzero(split.goes_left(data.X, rows, where) != left))
    except PluginError as error:
        return f"leaves a rule that cannot be asked ({error})"
    if wrong:
        return f"sends {wrong} of {len(left)} rows elsewhere than its own rule does"
    return None
