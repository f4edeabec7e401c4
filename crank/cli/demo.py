"""``crank demo``: the paper's experiment and a real data set."""

from __future__ import annotations

import argparse

EXAMPLES = """
examples:
  crank demo
  crank demo --paper --output paper
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("--output", default="demo", help="folder for the files (default: demo)")
    command.add_argument(
        "--paper", action="store_true", help="the paper's table beside ours, and its two figures"
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the demonstration."""
    if arguments.paper:
        from crank.paper import run_paper

        run_paper(arguments.output)
        return
    from crank.demo import run_demo

    run_demo(arguments.output)
