"""``crank fit``: a model from a data file."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crank.cli.engine import add_engine, check_engine, dask_client
from crank.cli.shared import DATA, add_csv, add_json, as_json, marks, print_json
from crank.errors import OptionError

if TYPE_CHECKING:
    from crank.models.base import RankingModel

EXAMPLES = """
examples:
  crank fit train.csv                       (suggests a formula)
  crank fit train.csv "price ~ log(carat) + cut + depth" -o m.json
  crank fit train.csv "y ~ ." -o linear.json --model linear --penalty cv
  crank fit train.parquet "y ~ x1 + s(x2)" -o additive.json --model additive
"""
OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tree": (
        "fit",
        (
            *("learner", "param", "criterion", "max_depth", "min_samples_leaf", "leaf_order"),
            *("prune", "cv", "cv_repeats", "monotone", "random_state", "n_jobs"),
        ),
    ),
    "linear": ("linear", ("link", "penalty", "l1_ratio", "cv", "monotone", "random_state")),
    "forest": (
        "forest",
        (
            *("learner", "param", "criterion", "max_depth", "min_samples_leaf", "n_trees"),
            *("max_features", "thresholds", "max_samples", "monotone", "random_state", "n_jobs"),
        ),
    ),
    "additive": (
        "additive",
        ("link", "smoothing", "penalty", "pairs", "cv", "monotone", "random_state"),
    ),
    "boost": (
        "boost",
        (
            *("loss", "kappa", "rounds", "max_rounds", "trees", "param", "metric", "cv"),
            *("monotone", "random_state", "n_jobs"),
        ),
    ),
    "blend": (
        "blend",
        ("members", "effort", "time_limit", "metric", "cv", "random_state", "n_jobs"),
    ),
}
"""For each kind of ranker the function of `crank.api` that fits it, and its own options."""


class Criteria:
    """The names of the criteria, looked up when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from crank.criteria import criterion_names

        return iter(criterion_names())

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument(
        "formula",
        metavar="FORMULA",
        nargs="?",
        help='for example "price ~ log(carat) + cut"; without it one is suggested',
    )
    command.add_argument("-o", "--output", metavar="OUT", help="the JSON model file; - for stdout")
    command.add_argument(
        "--model", choices=tuple(OPTIONS), default="tree", help="kind of ranker (default: tree)"
    )
    command.add_argument("--learner", help="of trees; see crank learners (default: stump)")
    command.add_argument(
        "--param", action="append", metavar="NAME=VALUE", help="of the learner or the booster"
    )
    command.add_argument(
        "--criterion",
        choices=Criteria(),
        metavar="NAME",
        help="of a tree: one of %(choices)s (default: auto)",
    )
    command.add_argument("--max-depth", type=int, metavar="N", help="default: 6, of a forest 30")
    command.add_argument(
        "--min-samples-leaf", type=int, metavar="N", help="default: 5, of a forest 2"
    )
    command.add_argument("--leaf-order", choices=("auto", "oriented", "rank"))
    command.add_argument("--prune", choices=("cv", "1se", "none"), help="default: cv")
    command.add_argument(
        "--cv", type=int, metavar="FOLDS", help="default: 10; of a booster by size"
    )
    command.add_argument(
        "--monotone",
        action="append",
        metavar="COLUMN=WAY",
        help="increasing or decreasing, in which the score never turns; repeatable",
    )
    command.add_argument("--cv-repeats", type=int, metavar="N", help="default: 1")
    command.add_argument(
        "--link", choices=("logit", "probit"), help="of a linear or additive model (default: logit)"
    )
    command.add_argument(
        "--penalty",
        type=_number_or_name,
        metavar="X",
        help="of a linear model: a number, cv or 1se; default: 0",
    )
    command.add_argument(
        "--l1-ratio",
        type=float,
        metavar="X",
        help="share of the lasso in the penalty, 0 to 1; default: 0, ridge",
    )
    command.add_argument(
        "--smoothing",
        type=float,
        metavar="X",
        help="of an additive model (default: each term its own)",
    )
    command.add_argument(
        "--pairs",
        type=_number_or_name,
        metavar="N",
        help="surfaces of an additive model; default: auto, as held-out rows decide",
    )
    command.add_argument(
        "--loss", choices=("concordance", "rank", "y"), help="of a booster (default: concordance)"
    )
    command.add_argument(
        "--kappa", type=float, metavar="X", help="of its soft targets; inf for none (default: 10)"
    )
    command.add_argument(
        "--rounds", type=int, metavar="N", help="of a booster (default: by cross-validation)"
    )
    command.add_argument("--n-trees", type=int, metavar="N", help="of a forest (default: 500)")
    command.add_argument(
        "--max-features",
        type=_number_or_name,
        metavar="N",
        help="of a forest: columns a node, a number, a share or sqrt (default: chosen, or 0.6)",
    )
    command.add_argument(
        "--thresholds",
        choices=("auto", "best", "random", "mixed"),
        help="of a forest (default: auto, mixed below 10,000 rows)",
    )
    command.add_argument(
        "--max-samples", type=float, metavar="SHARE", help="of a forest: rows that a bag draws"
    )
    command.add_argument("--max-rounds", type=int, metavar="N", help="default: 1000")
    command.add_argument("--trees", choices=("small", "large"), help="default: small")
    command.add_argument("--metric", metavar="NAME", help="that chooses rounds (default: kendall)")
    command.add_argument(
        "--members", nargs="+", metavar="NAME", help="of a blend (default: by effort)"
    )
    command.add_argument(
        "--effort", choices=("quick", "default", "best"), help="of a blend (default: default)"
    )
    command.add_argument("--time-limit", type=float, metavar="SECONDS", help="of a blend")
    command.add_argument("--weights", metavar="COLUMN", help="case weights")
    command.add_argument(
        "--groups", metavar="COLUMN", help="rows that belong together, such as one patient's"
    )
    command.add_argument("--na-action", choices=("drop", "raise"), default="drop")
    command.add_argument("--random-state", type=int, metavar="SEED", help="default: 0")
    command.add_argument("--n-jobs", type=int, metavar="N", help="threads; -1 for all")
    command.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="read a CSV column as text though it looks like numbers; repeatable",
    )
    command.add_argument(
        "--sample", type=int, metavar="ROWS", help="with --engine dask: fit a sample, by any model"
    )
    add_engine(command)
    add_csv(command)
    command.add_argument("--quiet", action="store_true", help="do not print the summary")
    add_json(command)


def run(arguments: argparse.Namespace) -> None:
    """Fit a model and write it."""
    from crank.datafiles import check_target, placed, read_frame

    _data_first(arguments.data, arguments.formula)
    if arguments.output is None and arguments.formula is not None:
        raise OptionError("a fit needs -o FILE for its model. Allowed: a path, or - for stdout.")
    if arguments.json and arguments.output == "-":
        raise OptionError("--json and -o - both write to standard output. Give the model a file.")
    check_target(arguments.output or "-")
    check_engine(arguments)
    options = _options(arguments)
    if "learner" in options:
        _check_saved(options["learner"], options.get("learner_params"))
    if arguments.sample is not None:
        options["sample"] = arguments.sample
    if arguments.engine == "dask":
        _fit_parts(arguments, options)
        return
    frame = read_frame(
        arguments.data,
        text=arguments.text,
        delimiter=arguments.delimiter,
        marks=marks(arguments),
    )
    from crank import api

    if arguments.formula is None:
        arguments.formula = _suggested(frame, arguments)
        if arguments.output is None:
            return
    fitted: Callable[..., RankingModel] = getattr(api, OPTIONS[arguments.model][0])
    with placed(arguments.data, arguments.delimiter):
        model = fitted(
            frame,
            arguments.formula,
            weights=arguments.weights,
            groups=arguments.groups,
            na_action=arguments.na_action,
            **options,
        )
    _write(arguments, model)


def _data_first(data: str, formula: str | None) -> None:
    """Refuse a formula where the data belongs."""
    if "~" in data and formula is not None and "~" not in formula:
        raise OptionError(
            f"DATA is {data!r}, which looks like a formula. The data comes first, then the "
            f"formula: crank fit {shlex.quote(formula)} {shlex.quote(data)}."
        )


def _fit_parts(arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    """Fit on a Dask cluster, or with Dask in this process."""
    from crank import api
    from crank.datafiles.parts import read_parts

    if arguments.formula is None:
        raise OptionError("--engine dask needs a formula, such as 'y ~ x1 + x2'.")
    fitted: Callable[..., RankingModel] = getattr(api, OPTIONS[arguments.model][0])
    if arguments.model == "tree":
        options.pop("n_jobs", None)
    with dask_client(arguments.scheduler) as client:
        if arguments.model in ("tree", "linear", "forest"):
            options["client"] = client
        model = fitted(
            read_parts(arguments.data),
            arguments.formula,
            weights=arguments.weights,
            groups=arguments.groups,
            na_action=arguments.na_action,
            **options,
        )
    _write(arguments, model)


def _write(arguments: argparse.Namespace, model: RankingModel) -> None:
    from crank.files import write_text

    write_text(arguments.output, model.to_json() or "")
    if arguments.json:
        print_json({"model": arguments.output, "formula": model.formula, **as_json(model)})
    elif not arguments.quiet:
        beside = sys.stderr if arguments.output == "-" else sys.stdout
        print(model.summary(), file=beside)
        print(f"Written to {arguments.output}", file=beside)


def _suggested(frame: Any, arguments: argparse.Namespace) -> str:
    """Suggest a formula, and say what it rests on: to stderr if the fit goes on."""
    from crank.formula.suggest import suggest_formula

    found = suggest_formula(frame)
    if arguments.json:
        if arguments.output is None:
            print_json({"formula": found.formula, "assumed": found.assumed})
        return found.formula
    beside = sys.stdout if arguments.output is None else sys.stderr
    print(f"Suggested: {found.formula}", *(f"  {line}" for line in found.assumed), sep="\n",
          file=beside)  # fmt: skip
    if arguments.output is None:
        data, formula = shlex.quote(arguments.data), shlex.quote(found.formula)
        print(f"Fit it with:\n  crank fit {data} {formula} -o model.json")
    return found.formula


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Collect the options that were given, and refuse those of other kinds of model."""
    own = OPTIONS[arguments.model][1]
    owners: dict[str, list[str]] = {}
    for kind, (_, names) in OPTIONS.items():
        for name in names:
            owners.setdefault(name, []).append(kind)
    options = {name: getattr(arguments, name) for name in owners}
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in own:
            option, kinds = f"--{name.replace('_', '-')}", " and ".join(owners[name])
            raise OptionError(f"{option} belongs to --model {kinds}. Leave it out.")
    if "param" in options:
        target = "learner_params" if "learner" in own else "params"
        options[target] = dict(map(_param, options.pop("param")))
    if "monotone" in options:
        options["monotone"] = dict(map(_direction, options["monotone"]))
    if options.get("prune") == "none":
        options["prune"] = None
    return options


def _check_saved(name: str, params: Mapping[str, Any] | None) -> None:
    """Refuse a learner whose models cannot be written, before any data are read."""
    from crank.plugins.registry import get_learner

    if not get_learner(name, params).saves_json:
        raise OptionError(
            f"--learner {name} cannot be used here: its models cannot be saved as JSON, and the "
            "command line has no other use for them. Allowed: learners whose rules are plain data "
            "(crank learners show NAME says so); in Python, crank.fit keeps such a model in memory."
        )


def _number_or_name(text: str) -> float | str:
    """Read a number; a name is checked by the model."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def _direction(text: str) -> tuple[str, str]:
    """Read COLUMN=WAY; the model checks the way."""
    name, equals, way = text.rpartition("=")
    if not equals or not name:
        raise OptionError(
            f"--monotone {text!r} is not allowed. Allowed: COLUMN=increasing, COLUMN=decreasing."
        )
    return name, way


def _param(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise OptionError(f"--param {text!r} is not allowed. Allowed: NAME=VALUE, such as C=0.5.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
