"""``crank learners``: the installed split learners."""

from __future__ import annotations

import argparse

HELP = "list the installed split learners"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Take nothing."""


def run(arguments: argparse.Namespace) -> None:
    """Print one line for each installed split learner."""
    from crank.plugins.registry import learners

    print(learners().to_string(index=False))
