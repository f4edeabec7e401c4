"""``crank summary``: describe a model."""

from __future__ import annotations

import argparse

HELP = "describe a model"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")


def run(arguments: argparse.Namespace) -> None:
    """Print a model's summary."""
    from crank.models.loading import load

    print(load(arguments.model).summary(), end="")
