"""``crank fit``: a model from a data file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crank.cli.shared import DATA, add_csv, marks
from crank.errors import OptionError

if TYPE_CHECKING:
    from crank.models.base import RankingModel

HELP = "fit a model to a data file"
ONLY: Mapping[str, Mapping[str, Any]] = {
    "tree": {
        "learner": "stump",
        "param": [],
        "criterion": "auto",
        "max_depth": 6,
        "min_samples_leaf": 5,
        "leaf_order": "auto",
        "prune": "cv",
        "cv_repeats": 1,
        "n_jobs": 1,
    },
    "linear": {"link": "logit", "penalty": 0.0, "l1_ratio": 0.0},
}
"""What is an option of one kind of model only, with its default."""
FOLDS = ("cv", "random_state")
"""Options of every kind."""


class Criteria:
    """The names of the criteria, looked up when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from crank.criteria import AUTO, criteria

        return iter((AUTO, *(criterion.name for criterion in criteria())))

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument(
        "formula", metavar="FORMULA", help='for example "price ~ log(carat) + cut"'
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="the JSON model file; - for stdout"
    )
    command.add_argument(
        "--model", choices=tuple(ONLY), default="tree", help="kind of ranker (default: tree)"
    )
    command.add_argument("--learner", default="stump", help="see crank learners (default: stump)")
    command.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="of the learner"
    )
    command.add_argument(
        "--criterion",
        choices=Criteria(),
        metavar="NAME",
        default="auto",
        help="one of %(choices)s (default: %(default)s)",
    )
    command.add_argument("--max-depth", type=int, default=6, metavar="N", help="default: 6")
    command.add_argument("--min-samples-leaf", type=int, default=5, metavar="N", help="default: 5")
    command.add_argument("--leaf-order", choices=("auto", "oriented", "rank"), default="auto")
    command.add_argument("--prune", choices=("cv", "1se", "none"), default="cv", help="default: cv")
    command.add_argument("--cv", type=int, default=10, metavar="FOLDS", help="default: 10")
    command.add_argument("--cv-repeats", type=int, default=1, metavar="N", help="default: 1")
    command.add_argument(
        "--link", choices=("logit", "probit"), default="logit", help="of a linear model"
    )
    command.add_argument(
        "--penalty",
        type=_number_or_name,
        default=0.0,
        metavar="X",
        help="of a linear model: a number, cv or 1se; default: 0",
    )
    command.add_argument(
        "--l1-ratio",
        type=float,
        default=0.0,
        metavar="X",
        help="share of the lasso in the penalty, 0 to 1; default: 0, ridge",
    )
    command.add_argument("--weights", metavar="COLUMN", help="case weights")
    command.add_argument(
        "--groups", metavar="COLUMN", help="rows that belong together, such as one patient's"
    )
    command.add_argument("--na-action", choices=("drop", "raise"), default="drop")
    command.add_argument("--random-state", type=int, default=0, metavar="SEED", help="default: 0")
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="threads; -1 for all")
    command.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="read a CSV column as text though it looks like numbers; repeatable",
    )
    add_csv(command)
    command.add_argument("--quiet", action="store_true", help="do not print the summary")
    for defaults in ONLY.values():
        command.set_defaults(**defaults)


def run(arguments: argparse.Namespace) -> None:
    """Fit a model and write it."""
    from crank.datafiles import check_target, placed, read_frame
    from crank.files import write_text

    check_target(arguments.output)
    options = _options(arguments)
    frame = read_frame(
        arguments.data,
        text=arguments.text,
        delimiter=arguments.delimiter,
        marks=marks(arguments),
    )
    from crank.api import fit, linear

    fitted: Callable[..., RankingModel] = linear if arguments.model == "linear" else fit
    with placed(arguments.data, arguments.delimiter):
        model = fitted(
            frame,
            arguments.formula,
            weights=arguments.weights,
            groups=arguments.groups,
            na_action=arguments.na_action,
            **options,
        )
    write_text(arguments.output, model.to_json() or "")
    if not arguments.quiet:
        beside = sys.stderr if arguments.output == "-" else sys.stdout
        print(model.summary(), file=beside)
        print(f"Written to {arguments.output}", file=beside)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Collect the options of the kind of model, and refuse those of others."""
    for kind, defaults in ONLY.items():
        for name, default in defaults.items():
            if kind != arguments.model and getattr(arguments, name) != default:
                option = f"--{name.replace('_', '-')}"
                raise OptionError(f"{option} belongs to --model {kind}. Leave it out.")
    options = {name: getattr(arguments, name) for name in (*ONLY[arguments.model], *FOLDS)}
    if arguments.model == "tree":
        options["learner_params"] = dict(map(_param, options.pop("param")))
        options["prune"] = None if options["prune"] == "none" else options["prune"]
    return options


def _number_or_name(text: str) -> float | str:
    """Read a number; a name is checked by the model."""
    try:
        return float(text)
    except ValueError:
        return text


def _param(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise OptionError(f"--param {text!r} is not allowed. Allowed: NAME=VALUE, such as C=0.5.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
