"""``crank diagnose``: whether one order serves all thresholds."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_json, add_reading, model_rows, print_json

EXAMPLES = """
examples:
  crank diagnose m.json data.csv
  crank diagnose m.json data.csv --cv 10 --plot diagnosis.svg
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument("--weights", metavar="COLUMN", help="case weights")
    command.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="default: 5")
    command.add_argument("--margin", type=float, default=0.01, help="AUC (default: 0.01)")
    command.add_argument("--alpha", type=float, default=0.05, help="level of tests (default: 0.05)")
    command.add_argument("--plot", metavar="FILE", help="draw it: .png, .svg or .pdf")
    add_json(command)
    add_reading(command)


def run(arguments: argparse.Namespace) -> None:
    """Print a diagnosis."""
    from crank.cli.plot import check_beside_text, save
    from crank.models.loading import load

    check_beside_text(arguments)
    model = load(arguments.model)
    found = model.diagnose(
        model_rows([model], arguments),
        cv=arguments.cv,
        margin=arguments.margin,
        alpha=arguments.alpha,
        weights=arguments.weights,
        unknown=arguments.unknown or "error",
    )
    if arguments.plot:
        save(found.plot(), arguments.plot)
    if arguments.json:
        print_json(
            {
                "one_order_serves": found.one_order_serves,
                "verdict": found.verdict,
                "n": found.n,
                "folds": found.folds,
                "table": found.table,
            }
        )
    else:
        print(found)
