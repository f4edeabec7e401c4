"""``crank verify``: model files give the same scores."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_csv, add_json, marks, print_json

EXAMPLES = """
examples:
  crank verify m.json m.onnx new.csv
"""
DIFFERENT = 3


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument(
        "models", metavar="MODEL", nargs="+", help="JSON models and ONNX graphs of one model"
    )
    command.add_argument("data", metavar="DATA", help=DATA)
    add_json(command)
    add_csv(command)


def run(arguments: argparse.Namespace) -> int:
    """Print for every route to a score whether it gives what the first file gives."""
    from crank.verification import verify

    found = verify(
        arguments.models, arguments.data, delimiter=arguments.delimiter, marks=marks(arguments)
    )
    if arguments.json:
        print_json(found.to_dict())
    else:
        print(found)
    return 0 if found.equal else DIFFERENT
