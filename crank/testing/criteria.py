"""The conformance kit of criteria: what a tree takes for granted of its scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crank.blame import read_only
from crank.criteria import Criterion, form_problem, scores_problem
from crank.errors import CrankError, OptionError
from crank.fitting.grow import grow
from crank.growing.matrix import TrainingMatrix
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.plugins.stump import Stump
from crank.ranks import Ranks, rank
from crank.testing.check import BrokenContract, NotApplicable, error_text, require
from crank.testing.report import CriterionCheckError, Finding, Report

Array = NDArray[np.float64]

CLOSE = 1e-9
"""Share of the largest score within which scores count as equal."""


@dataclass(frozen=True)
class CriterionCheck:
    """One demand on a criterion."""

    name: str
    remedy: str
    run: Callable[[Criterion], None]


def check_criterion(criterion: Criterion, *, raise_on_failure: bool = True) -> Report:
    """Tell whether a criterion keeps the contract of `crank.criteria.Criterion`.

    It takes a fraction of a second and goes through all checks even if one fails.

    Parameters
    ----------
    criterion : Criterion
    raise_on_failure : bool
        Whether to raise if a check fails, or to return the report in any case.

    Returns
    -------
    Report

    Raises
    ------
    CriterionCheckError
        A check failed; the message lists each with what happened and what to do.

    Examples
    --------
    >>> from crank.criteria import get_criterion
    >>> print(check_criterion(get_criterion("kendall")))
    kendall: 8 checks passed, 0 skipped, 0 failed.
    """
    problem = form_problem(criterion)
    if problem is not None:
        raise OptionError(f"the kit got a criterion that {problem}")
    passed: list[str] = []
    skipped: list[str] = []
    failures: list[Finding] = []
    for check in CHECKS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                check.run(criterion)
        except NotApplicable as reason:
            skipped.append(f"{check.name}: {reason}")
        except BrokenContract as broken:
            failures.append(Finding(check.name, str(broken), check.remedy))
            if check is CHECKS[0]:  # the others would repeat it
                skipped += [f"{c.name}: {check.name!r} failed." for c in CHECKS[1:]]
                break
        except CrankError as error:
            failures.append(Finding(check.name, str(error), check.remedy))
        else:
            passed.append(check.name)
    report = Report(criterion.name, tuple(passed), tuple(skipped), tuple(failures))
    if failures and raise_on_failure:
        raise CriterionCheckError(report)
    return report


def samples(distinct: int = 2) -> Iterator[tuple[str, Array, Array | None]]:
    """Make responses up, each with a name and weights: distinct, tied, weighted, few."""
    rng = np.random.default_rng(21)
    y = rng.normal(size=40)
    tied = np.round(2.0 * y)
    weight = rng.integers(1, 5, 40) / 2.0
    yield "distinct y", y, None
    yield "tied y", tied, None
    yield "weights", y, weight
    yield "tied y and weights", tied, weight
    yield "the fewest values", np.arange(40.0) % distinct, weight


def nodes_of(ranks: Ranks, nodes: list[NDArray[np.intp]]) -> Layer:
    """Make a layer of sets of positions."""
    bounds = np.concatenate(([0], np.cumsum([len(node) for node in nodes])))
    position = np.concatenate([np.sort(node) for node in nodes]).astype(np.int32)
    return Layer(position, bounds.astype(np.intp))


def scores(criterion: Criterion, ranks: Ranks, layer: Layer, where: str) -> Array:
    """Ask for scores and hold them to their form."""
    try:
        found = criterion.scores(ranks, layer, LocalMass(ranks, layer))
    except (Exception, SystemExit) as error:
        raise BrokenContract(f"scores raised {error_text(error)} for {where}.") from error
    problem = scores_problem(found, len(layer.position))
    require(problem is None, f"scores gave {problem} ({where})")
    return found


def layers_of(ranks: Ranks) -> Iterator[tuple[str, Layer]]:
    """Give the root, and a layer of three unequal nodes."""
    everything = np.arange(len(ranks.row))
    yield "the root", nodes_of(ranks, [everything])
    parts = [everything[::2], everything[1::4], everything[3::4]]
    yield "three nodes", nodes_of(ranks, parts)


def settings(criterion: Criterion) -> Iterator[tuple[str, Ranks, Layer]]:
    """Give every sample as a root and as a layer of three nodes."""
    for name, y, weight in samples(criterion.least_distinct):
        ranks = rank(y, weight)
        for part, layer in layers_of(ranks):
            yield f"{name}, {part}", ranks, layer


def gives_scores(criterion: Criterion) -> None:
    """Ask for scores of every kind of sample, with arrays that cannot be written to."""
    for where, ranks, layer in settings(criterion):
        fixed = replace(
            ranks,
            row=read_only(ranks.row),
            y=read_only(ranks.y),
            weight=read_only(ranks.weight),
            group=read_only(ranks.group),
            below=read_only(ranks.below),
            upto=read_only(ranks.upto),
        )
        held = Layer(read_only(layer.position), read_only(layer.bounds), layer.n_from_left)
        scores(criterion, fixed, held, where)


def ranks_upwards(criterion: Criterion) -> None:
    """Compare the scores of each node, for a weight of one, with the order of y."""
    for where, ranks, layer in settings(criterion):
        each = scores(criterion, ranks, layer, where) / ranks.weight[layer.position]
        step = np.diff(each)
        inside = np.ones(len(step), dtype=bool)
        inside[layer.starts[1:] - 1] = False
        group = ranks.group[layer.position]
        slack = CLOSE * max(float(np.abs(each).max()), 1.0)
        require(
            not (step[inside] < -slack).any(),
            f"in a node a row of larger y has a smaller score for its weight ({where}).",
        )
        equal = inside & (group[1:] == group[:-1])
        require(
            not (np.abs(step[equal]) > slack).any(),
            f"rows of the same y have different scores for their weight ({where}).",
        )


def is_antisymmetric(criterion: Criterion) -> None:
    """Look at nodes of two rows, and of all rows where scores add up."""
    for name, y, weight in samples(criterion.least_distinct):
        ranks = rank(y, weight)
        pairs = [
            np.array(pair)
            for pair in combinations(range(0, len(y), 3), 2)
            if ranks.weight[pair[0]] == ranks.weight[pair[1]]
            and ranks.group[pair[0]] != ranks.group[pair[1]]
        ]
        found = scores(criterion, ranks, nodes_of(ranks, pairs), f"{name}, pairs").reshape(-1, 2)
        off = np.abs(found.sum(axis=1)).max()
        require(
            off <= CLOSE * max(float(np.abs(found).max()), 1.0),
            f"the scores of two rows alone in a node sum to {off:.3g}, not to 0 ({name}).",
        )


def ignores_scale(criterion: Criterion) -> None:
    """Transform y by increasing functions."""
    for name, y, weight in samples(criterion.least_distinct):
        ranks = rank(y, weight)
        for way, moved in (("exp(y)", np.exp(y)), ("y³ − 7", y**3 - 7.0), ("y / 1000", y / 1e3)):
            other = rank(moved, weight)
            for part, layer in layers_of(ranks):
                first = scores(criterion, ranks, layer, f"{name}, {part}")
                second = scores(criterion, other, layer, f"{way}, {name}, {part}")
                require(
                    np.array_equal(first, second),
                    f"{way} instead of y changes the scores ({name}, {part}).",
                )


def keeps_nodes_apart(criterion: Criterion) -> None:
    """Score a node alone and beside others."""
    for name, y, weight in samples(criterion.least_distinct):
        ranks = rank(y, weight)
        *_, (_, layer) = layers_of(ranks)
        together = scores(criterion, ranks, layer, f"{name}, three nodes")
        for k in range(len(layer.sizes)):
            here = slice(layer.bounds[k], layer.bounds[k + 1])
            one = nodes_of(ranks, [layer.position[here].astype(np.intp)])
            alone = scores(criterion, ranks, one, f"{name}, node {k} alone")
            require(
                alike(alone, together[here]),
                f"a node scores otherwise alone than beside others in its layer ({name}).",
            )


def weighs_like_copies(criterion: Criterion) -> None:
    """Compare whole weights with rows that are repeated."""
    rng = np.random.default_rng(22)
    copies = rng.integers(1, 4, 30)
    y = np.round(3.0 * rng.normal(size=30))
    sums = []
    for ranks in (rank(y, copies.astype(np.float64)), rank(np.repeat(y, copies))):
        layer = nodes_of(ranks, [np.arange(len(ranks.row))])
        found = scores(criterion, ranks, layer, "weights 1, 2, 3")
        sums.append(np.asarray(np.bincount(ranks.group, found), dtype=np.float64))
    require(alike(*sums), "a row of weight 2 does not score like two rows.")


def adds_up(criterion: Criterion) -> None:
    """Compare a node's scores with the sums over its pairs, each alone in a node."""
    if not criterion.additive:
        raise NotApplicable("additive is False.")
    for name, y, weight in samples(criterion.least_distinct):
        ranks = rank(y, weight)
        n = len(y)
        whole = scores(criterion, ranks, nodes_of(ranks, [np.arange(n)]), f"{name}, the root")
        pairs = list(combinations(range(n), 2))
        layer = nodes_of(ranks, [np.array(pair) for pair in pairs])
        found = scores(criterion, ranks, layer, f"{name}, pairs")
        summed = np.asarray(np.bincount(layer.position, found, minlength=n), dtype=np.float64)
        require(
            alike(whole, summed),
            f"a row's score is not the sum over the pairs that it forms in its node ({name}).",
        )


def grows_trees(criterion: Criterion) -> None:
    """Grow a small tree and order rows that it has not seen."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    data = TrainingMatrix(X[:200], (0, 0, 0))
    tree = grow(data, rank(y[:200]), Stump(), criterion, max_depth=2, min_samples_leaf=10)
    score = tree.score(X[200:])
    above = np.sign(y[200:, None] - y[200:]) * np.sign(score[:, None] - score)
    rate = float(0.5 + 0.5 * above.sum() / (100 * 99))
    require(rate > 0.6, f"a tree of stumps orders {rate:.0%} of new pairs rightly; guessing: 50%.")


def alike(first: Array, second: Array) -> bool:
    """Tell whether scores agree but for rounding."""
    scale = max(float(np.abs(first).max()), float(np.abs(second).max()))
    return bool(np.abs(first - second).max() <= CLOSE * scale)


CHECKS = (
    CriterionCheck(
        "gives scores",
        "scores returns one finite float64 a row of the layer and changes no argument.",
        gives_scores,
    ),
    CriterionCheck(
        "ranks upwards",
        "Within a node scores rise with y, and tied rows score alike, each times its weight.",
        ranks_upwards,
    ),
    CriterionCheck(
        "is antisymmetric",
        "What a pair adds to the score of its higher row it takes from the lower one.",
        is_antisymmetric,
    ),
    CriterionCheck(
        "ignores the scale of y",
        "Use ranks.below, ranks.upto and mass, never ranks.y: only the order of y counts.",
        ignores_scale,
    ),
    CriterionCheck(
        "keeps nodes apart",
        "Sum within nodes: np.add.reduceat at layer.starts, or crank.mass.running_sums.",
        keeps_nodes_apart,
    ),
    CriterionCheck(
        "weighs like copies",
        "Multiply by mass.weight, and count other rows by their weight.",
        weighs_like_copies,
    ),
    CriterionCheck(
        "adds up",
        "Say additive=False, or let the weight of a pair depend on the whole sample alone.",
        adds_up,
    ),
    CriterionCheck("grows trees", "Positive scores are for rows that belong above.", grows_trees),
)
