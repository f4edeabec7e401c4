"""``crank summary``: describe a model."""

from __future__ import annotations

import argparse

from crank.cli.shared import add_json, as_json, print_json

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

    model = load(arguments.model)
    if arguments.json:
        print_json(as_json(model))
    else:
        print(model.summary())
