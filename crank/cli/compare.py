"""``crank compare``: which of several models ranks better."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_json, add_models, loaded_models, model_rows, print_json
from crank.errors import OptionError

EXAMPLES = """
examples:
  crank compare tree.json linear.json --data test.csv
  crank compare a.json b.json c.json --data test.parquet --metric kendall --json
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("--data", required=True, metavar="DATA", help=DATA)
    command.add_argument(
        "--metric", choices=("iauc", "kendall"), default="iauc", help="default: iauc"
    )
    command.add_argument("--groups", metavar="COLUMN", help="rows that belong together")
    add_json(command)
    add_models(command, "+")


def run(arguments: argparse.Namespace) -> None:
    """Print estimates and paired tests."""
    from crank.judging.comparison import compare

    if len(arguments.models) < 2:
        raise OptionError("crank compare takes two model files or more; got 1.")
    models = loaded_models(arguments.models)
    data = model_rows(models.values(), arguments, text=arguments.groups)
    found = compare(
        models,
        data=data,
        metric=arguments.metric,
        weights=arguments.weights,
        groups=arguments.groups,
        unknown=arguments.unknown or "error",
    )
    if arguments.json:
        print_json(
            {
                "metric": found.metric,
                "n": found.n,
                "estimates": found.estimates,
                "tests": found.tests,
            }
        )
    else:
        print(found)
