"""``crank summary``: describe a model."""

from __future__ import annotations

import argparse

from crank.cli.shared import add_json, print_json

HELP = "describe a model"
EXAMPLES = """
examples:
  crank summary m.json
  crank summary m.json --json
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")
    add_json(command)


def run(arguments: argparse.Namespace) -> None:
    """Print a model's summary."""
    from crank.models.loading import load

    summary = load(arguments.model).summary()
    if arguments.json:
        print_json({"sections": [vars(section) for section in summary.sections]})
    else:
        print(summary, end="")
