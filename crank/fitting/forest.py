"""Fit a forest to arrays: bags of rows, a tree each, figures from rows out of the bag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crank.criteria import AUTO, Criterion, choose_criterion, get_criterion
from crank.errors import OptionError
from crank.fitting.bag_trees import TreeMakers, column_trees
from crank.fitting.forest_ways import PILOT, best_of, ways_to_grow
from crank.fitting.rule_trees import rule_trees
from crank.fitting.validate import measurable
from crank.frames.profile import ColumnProfile, number_profile
from crank.growing.matrix import FloatArray, TrainingMatrix
from crank.metrics.figures import KENDALL
from crank.metrics.inference import figure_concordance
from crank.plugins.base import SplitLearner
from crank.plugins.nodewise import require_monotone
from crank.plugins.stump import Stump
from crank.progress import track
from crank.rankers.forest import MOST_RUNGS, ForestOptions
from crank.rankers.validation import Estimate
from crank.rankers.votes import ColumnTrees, RuleTrees, VoteTrees
from crank.rankers.ways import Choice
from crank.ranks import Ranks

J = TypeVar("J")
T = TypeVar("T")

MOST_LEVELS = 255
"""Levels of a factor beyond which its trees are grown by the ordinary grower."""


@dataclass(frozen=True)
class FittedForest:
    """A forest with what was learned of it; see `crank.rankers.forest.ForestRanker`."""

    trees: VoteTrees
    criterion: str
    because: str
    rungs: NDArray[np.float64]
    oob: dict[str, Estimate]
    n_oob: int
    choice: Choice
    scores: ColumnProfile | None = None


def fit_forest(
    X: FloatArray,
    ranks: Ranks,
    *,
    learner: SplitLearner,
    options: ForestOptions,
    levels: tuple[int, ...] | None = None,
    monotone: tuple[int, ...] = (),
    labels: NDArray[np.intp] | None = None,
    judge: bool = True,
    progress: bool | None = None,
) -> FittedForest:
    """Fit a forest to arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design; NaN is missing.
    ranks : Ranks
        Of the responses of its rows.
    learner : SplitLearner
    options : ForestOptions
    levels, monotone : tuple of int, optional
        See `crank.growing.matrix.TrainingMatrix`.
    labels : ndarray of shape (n,), optional
        Group of each row, numbered from 0: bags draw whole groups.
    judge : bool
        Whether all trees vote for the rows out of their bags, for figures of the forest. Trees by
        which a way to grow is chosen always do.
    progress : bool, optional
        By default a bar is shown on a terminal or in a notebook when it takes a while.
    """
    criterion, because = forest_criterion(options.criterion, ranks)
    data = TrainingMatrix(X, levels or (0,) * X.shape[1], 1, monotone)
    rung, rungs = response_rungs(ranks)
    bags = Bags(ranks, options, labels)
    # bins that all trees share, which the ordinary grower of other learners lacks
    shared = type(learner) is Stump and max(data.levels, default=0) <= MOST_LEVELS
    ways = ways_to_grow(options, len(ranks.row), X.shape[1], stumps=shared)
    if shared:
        makers = column_trees(data, ranks, rung, learner, criterion, options)
    else:
        makers = partial(rule_trees, data, ranks, rung, learner, criterion)
    trials = [Trial(options.settled(way), makers, bags, OutOfBag(ranks)) for way in ways]
    first = PILOT if len(ways) > 1 else 0
    taken = 0

    def grow(job: tuple[int, int]) -> tuple[int, int, Any]:
        at, k = job
        return at, k, trials[at].grow(k, voting=judge or k < first)

    def steps() -> Iterator[tuple[int, int, Any]]:
        """Grow the first trees of every way, choose one, and grow its other trees."""
        nonlocal taken
        yield from _each(grow, [(at, k) for k in range(first) for at in range(len(ways))], options)
        if first:
            kendalls = [trial.out.kendall() for trial in trials]
            ways[:] = [replace(way, kendall=k) for way, k in zip(ways, kendalls, strict=True)]
            taken = best_of(kendalls)
        yield from _each(grow, [(taken, k) for k in range(first, options.n_trees)], options)

    total = options.n_trees + (len(ways) - 1) * first
    found = {(at, k): tree for at, k, tree in track(steps(), total, "forest", show=progress)}
    ordered = [found[taken, k] for k in range(options.n_trees)]
    trees: VoteTrees = (ColumnTrees if shared else RuleTrees).joined(ordered)
    out = trials[taken].out
    oob, n_oob = out.figures(labels) if judge else ({}, 0)
    scores = out.profile(options.n_trees) if judge else None
    choice = Choice(tuple(ways), taken, first)
    return FittedForest(trees, criterion.name, because, rungs, oob, n_oob, choice, scores)


class Trial:
    """A forest that is grown in one way, tree by tree; which thread grows which does not matter.

    Parameters
    ----------
    options : ForestOptions
        None of them "auto".
    makers : callable
        Given options whose thresholds are not mixed, what grows a tree from a bag.
    bags : Bags
    out : OutOfBag
    """

    def __init__(
        self, options: ForestOptions, makers: TreeMakers, bags: Bags, out: OutOfBag
    ) -> None:
        self.makers = [makers(each) for each in options.in_turns]
        self.bags, self.out = bags, out

    def grow(self, k: int, voting: bool) -> VoteTrees:
        """Grow a tree, and count its votes out of bag if it is to vote."""
        draws, seed = self.bags.draw(k)
        tree, votes = self.makers[k % len(self.makers)](draws, seed, voting)
        if votes is not None:
            self.out.add(draws, votes)
        return tree


def check_learner(learner: SplitLearner, options: ForestOptions) -> None:
    """Refuse what a forest of a learner cannot do."""
    if options.monotone:
        require_monotone(learner)
    if options.thresholds in ("random", "mixed") and type(learner) is not Stump:
        raise OptionError(
            f"thresholds={options.thresholds!r} is for the learner 'stump': others choose their "
            "own. Allowed: 'auto', 'best'."
        )


def forest_criterion(name: str, ranks: Ranks) -> tuple[Criterion, str]:
    """Look the criterion up; "auto" is "spearman", measured in docs/design/forest.md."""
    found, because = get_criterion("spearman"), "the default of forests"
    if name != AUTO:
        found, because = choose_criterion(name, ranks)
    found.figure_for(ranks)  # refuses responses that it cannot rank, as a tree does
    return found, because


def _each(grow: Callable[[J], T], jobs: Sequence[J], options: ForestOptions) -> Iterator[T]:
    """Do the jobs in threads, and hand over what each gives when it is done; interrupts end it."""
    n_jobs = min(options.threads, len(jobs))
    if n_jobs < 2:
        yield from map(grow, jobs)
        return
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="crank") as pool:
        waiting = [pool.submit(grow, job) for job in jobs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            for future in waiting:  # none, unless a tree failed or the user interrupted
                future.cancel()


class Bags:
    """The rows of each tree: the same for a seed, whoever grows it and when.

    Parameters
    ----------
    ranks : Ranks
    options : ForestOptions
    labels : ndarray of int, optional
        Group of each row of the data.
    """

    def __init__(
        self, ranks: Ranks, options: ForestOptions, labels: NDArray[np.intp] | None
    ) -> None:
        self.n = len(ranks.row)
        self.labels = None if labels is None else labels[ranks.row]
        self.options = options

    def draw(self, k: int) -> tuple[NDArray[np.int32], int]:
        """Return how often each position in y order is drawn for a tree, and the tree's seed."""
        rng = _tree_rng(self.options, k)
        seed = int(rng.integers(2**63))
        n = self.n if self.labels is None else int(self.labels.max()) + 1
        size = max(1, round(n * self.options.share))
        if self.options.bootstrap:
            draws = np.bincount(rng.integers(n, size=size, dtype=np.int32), minlength=n)
        else:
            draws = np.zeros(n, dtype=np.int32)
            draws[rng.permutation(n)[:size]] = 1
        if self.labels is not None:
            draws = draws[self.labels]
        return draws.astype(np.int32), seed


def _tree_rng(options: ForestOptions, k: int) -> np.random.Generator:
    seed = np.random.SeedSequence(options.random_state).generate_state(2).tolist()
    return np.random.default_rng([*seed, k])


def tree_seed(options: ForestOptions, k: int) -> int:
    """Return the seed of a tree, which its nodes draw columns by."""
    return int(_tree_rng(options, k).integers(2**63))


class OutOfBag:
    """Votes of each tree for the rows that its bag lacks, added up as whole numbers.

    Arrays are by position in y order.
    """

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.votes = np.zeros(len(ranks.row), dtype=np.int64)
        self.voters = np.zeros(len(ranks.row), dtype=np.int64)
        self.lock = Lock()

    def add(self, draws: NDArray[np.int32], votes: NDArray[np.int64]) -> None:
        """Count the votes of a tree, 0 for rows that were drawn."""
        absent = draws == 0
        with self.lock:  # whole numbers: the order of the trees does not matter
            self.votes += votes
            self.voters += absent

    def profile(self, n_trees: int) -> ColumnProfile | None:
        """Describe how scores of rows that trees have not seen are spread; None without such rows.

        A row's score is its mean vote out of bag, times all trees.
        """
        known = self.voters > 0
        if not known.any():
            return None
        return number_profile(n_trees * (self.votes[known] / self.voters[known]))

    def kendall(self) -> float:
        """Return d_τ of the mean votes of the rows that have any; NaN if there are no pairs."""
        known = self.voters > 0
        kept = self.ranks.subset(known) if known.any() else None
        if kept is None or KENDALL.total(kept) <= 0.0:
            return float("nan")
        weights = None if self.ranks.unweighted else self.ranks.weight[known]
        mean = self.votes[known] / self.voters[known]
        return KENDALL.estimate(self.ranks.y[known], mean, weights)

    def figures(self, labels: NDArray[np.intp] | None) -> tuple[dict[str, Estimate], int]:
        """Judge the mean votes of the rows that have any."""
        ranks, known = self.ranks, self.voters > 0
        n = int(np.count_nonzero(known))
        if n < 2:
            return {}, n
        kept = ranks.subset(known)
        if KENDALL.total(kept) <= 0.0:
            return {}, n
        score = self.votes[known] / self.voters[known]
        weights = None if ranks.unweighted else ranks.weight[known]
        groups = None if labels is None else labels[ranks.row[known]]
        if groups is not None and len(np.unique(groups)) < 2:
            return {}, n
        y, judged = ranks.y[known], measurable(kept, KENDALL)
        sample = max(judged, key=lambda figure: figure.members).read(y, score, weights)
        found = {}
        for figure in judged:
            each = figure_concordance(figure, y, score, groups=groups, sample=sample)
            found[figure.name] = Estimate(each.estimate, each.se, each.ci_low, each.ci_high)
        return found, n


def response_rungs(ranks: Ranks) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the rung of each position in y order, and the response that each rung stands for.

    Examples
    --------
    >>> from crank.ranks import rank
    >>> rung, rungs = response_rungs(rank(np.array([3.0, 1.0, 3.0])))
    >>> rung.tolist(), rungs.tolist()
    ([0, 1, 1], [1.0, 3.0])
    """
    n = ranks.n_distinct
    first = np.searchsorted(ranks.group, np.arange(n))
    if n <= MOST_RUNGS:
        return ranks.group.astype(np.int32), ranks.y[first]
    rung = ranks.group.astype(np.int64) * MOST_RUNGS // n
    middle = (
        np.searchsorted(rung, np.arange(MOST_RUNGS))
        + np.searchsorted(rung, np.arange(MOST_RUNGS), side="right")
        - 1
    ) // 2
    return rung.astype(np.int32), ranks.y[middle]
