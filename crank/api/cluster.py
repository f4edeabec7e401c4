"""Fits on a Dask data frame: what the front door does there instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from crank.checks import one_of, whole
from crank.cluster.engine import Cluster
from crank.cluster.forest import fit_forest
from crank.cluster.formula import Learned, columns_with_values
from crank.cluster.linear import fit_linear, refuse_options
from crank.cluster.rows import Asked
from crank.cluster.sample import sample_rows
from crank.cluster.spread import Spread, learn_all
from crank.cluster.tree import ClusterTree, fit_tree
from crank.design.monotone import signs
from crank.errors import OptionError, absent_column, listed
from crank.fitting.forest import FittedForest
from crank.formula import columns_of_condition, has_smooths, parse_formula
from crank.plugins.base import SplitLearner
from crank.plugins.stump import Stump
from crank.progress import track
from crank.rankers.forest import ForestOptions
from crank.rankers.linear import LinearOptions, LinearRanker
from crank.rankers.options import TreeOptions
from crank.rankers.validation import Estimate
from crank.records.provenance import TrainingInfo

STEPS = 4
"""Steps of a fit besides the layers of the tree."""


def ask(
    data: Any,
    formula: str,
    *,
    weights: Any,
    subset: Any,
    na_action: str,
    context: Mapping[str, Callable[..., Any]] | None,
    groups: Any = None,
    takes_missing: bool = True,
) -> tuple[Asked, list[str]]:
    """Check what a fit on partitions is asked for; return it with the columns that it reads."""
    one_of("na_action", na_action, ("drop", "raise"))
    names = [str(name) for name in data.columns]
    by_name = {"weights": weights, "subset": subset}
    for option, value in by_name.items():
        if value is not None and not isinstance(value, str):
            what = "a column's name" if option == "weights" else "a condition such as 'age < 90'"
            raise OptionError(
                f"{option} of a Dask data frame must be {what}, got {type(value).__name__}. Put it "
                "into the frame as a column first."
            )
    if context:
        raise OptionError(
            f"context={listed(context)} cannot be used with a Dask data frame: workers do not know "
            "your functions. Compute the column first: frame.assign(...)."
        )
    if groups is not None:
        raise OptionError(
            "groups= cannot be used with a Dask data frame yet. Leave it out, or fit a sample of "
            "whole groups in memory."
        )
    if weights is not None and weights not in names:
        raise absent_column(f"weights column {weights!r}", weights, names)
    parsed = parse_formula(formula, names, hidden={weights} if weights else set())
    asked = Asked(parsed, weights, subset, na_action, takes_missing, columns_with_values(parsed))
    read = {*asked.variables, *([weights] if weights else [])}
    if subset is not None:
        read |= set(columns_of_condition(subset, names))
    return asked, [name for name in names if name in read]


def fitted_tree(
    data: Any,
    asked: Asked,
    columns: list[str],
    learner: Stump,
    options: TreeOptions,
    client: Any,
    progress: bool | None,
) -> tuple[Learned, ClusterTree, TrainingInfo]:
    """Fit a tree of stumps on the cluster that holds the data."""
    cluster = Cluster.of(data, columns, client)
    with closing(cluster), steps(options.max_depth + STEPS, progress) as done:
        cluster = cluster.hold()
        learned, spread = learn_all(cluster, asked, data._meta, native=True)
        done()
        directions = signs(learned.design, options.directions)
        found = fit_tree(
            cluster,
            learned,
            spread,
            options=options,
            directions=directions,
            discount=learner.discount_levels,
            done=done,
        )
    return learned, found, _training(learned, spread, found.figures, found.fitted.crossvalidated)


def fitted_forest(
    data: Any,
    asked: Asked,
    columns: list[str],
    options: ForestOptions,
    client: Any,
    progress: bool | None,
) -> tuple[Learned, FittedForest, TrainingInfo]:
    """Fit a forest of stumps on the cluster that holds the data."""
    cluster = Cluster.of(data, columns, client)
    with closing(cluster), steps(options.n_trees + STEPS, progress) as done:
        cluster = cluster.hold()
        learned, spread = learn_all(cluster, asked, data._meta, native=True)
        done()
        directions = signs(learned.design, options.directions)
        found = fit_forest(
            cluster, learned, spread, options=options, directions=directions, done=done
        )
    return learned, found, _training(learned, spread, {}, {})


def _training(
    learned: Learned,
    spread: Spread,
    figures: Mapping[str, Estimate],
    crossvalidated: Mapping[str, Estimate],
) -> TrainingInfo:
    survey = learned.survey
    return TrainingInfo(
        n=survey.used,
        n_dropped=survey.dropped,
        n_zero_weight=survey.seen - survey.used - survey.dropped,
        weighted=not spread.units.unweighted,
        figures=figures,
        crossvalidated=crossvalidated,
        missing=survey.missing,
        columns=spread.profiles,
        data=spread.fingerprint,
    )


def fitted_linear(
    data: Any, asked: Asked, columns: list[str], options: LinearOptions, client: Any
) -> tuple[Learned, LinearRanker, TrainingInfo]:
    """Fit a linear ranker on the cluster that holds the data."""
    refuse_options(options)
    if has_smooths(asked.parsed):
        raise OptionError(
            "smooth terms cannot be fitted on a Dask data frame. Use bs(x, df=5) instead, or fit a "
            "sample: sample=100_000."
        )
    cluster = Cluster.of(data, columns, client)
    with closing(cluster):
        cluster = cluster.hold()
        learned, spread = learn_all(cluster, asked, data._meta, native=False)
        ranker, figures = fit_linear(cluster, learned, spread, options, learned.design.names)
    return learned, ranker, _training(learned, spread, figures, {})


def require_stump(learner: SplitLearner) -> Stump:
    """Refuse learners that need all rows of a node at once."""
    if isinstance(learner, Stump):
        return learner
    raise OptionError(
        f"learner {learner!r} cannot be fitted on a Dask data frame: it needs all rows of a node "
        "in one process. Allowed: 'stump', or any learner on a sample of the rows: "
        "sample=100_000."
    )


def in_memory(data: Any, sample: int | None, columns: list[str], client: Any, seed: int) -> Any:
    """Draw a sample of a Dask data frame into this process."""
    assert sample is not None
    whole("sample", sample, 2)
    return sample_rows(Cluster.of(data, columns, client), sample, seed)


@contextmanager
def steps(total: int, progress: bool | None) -> Iterator[Callable[[], None]]:
    """Show a bar while a fit runs; call what is returned after each step."""
    bar = track(range(total), total, "fitting on the cluster", show=progress)
    next(bar)
    taken = 0

    def done() -> None:
        nonlocal taken
        taken += 1
        next(bar, None)

    try:
        yield done
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"fitting stopped after {taken} of {total} steps") from None
    finally:
        bar.close()  # type: ignore[attr-defined]  # a generator
