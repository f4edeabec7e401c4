"""``crank report``: a model, or several, as one HTML file."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_models, loaded_models, model_rows

EXAMPLES = """
examples:
  crank report m.json --data test.csv -o report.html
  crank report tree.json linear.json --data test.csv -o both.html
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument(
        "--data", metavar="DATA", help=f"rows that the model has not seen, with y: {DATA}"
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the HTML file; - for stdout"
    )
    command.add_argument("--title", help="of the page")
    add_models(command, "+")


def run(arguments: argparse.Namespace) -> None:
    """Write a report."""
    from crank.datafiles import check_target
    from crank.page import write_page

    check_target(arguments.output)
    models = loaded_models(arguments.models)
    data = model_rows(models.values(), arguments) if arguments.data else None
    write_page(
        models,
        arguments.output,
        data=data,
        weights=arguments.weights if arguments.data else None,
        unknown=arguments.unknown or "error",
        title=arguments.title,
    )
