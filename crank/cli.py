"""The command line: ``crank demo`` and ``crank learners``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from crank._version import __version__
from crank.errors import CrankError


def parser() -> argparse.ArgumentParser:
    """Build the parser; each command names the function that runs it."""
    top = argparse.ArgumentParser(prog="crank", description="Continuous ranking.")
    top.add_argument("--version", action="version", version=f"crank {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run the paper's experiment and a real data set")
    demo.add_argument("--output", default="demo", help="folder for the files (default: demo)")
    demo.set_defaults(run=run_demo)

    learners = commands.add_parser("learners", help="list the installed split learners")
    learners.set_defaults(run=run_learners)
    return top


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demonstration."""
    from crank.demo import run_demo

    run_demo(arguments.output)


def run_learners(arguments: argparse.Namespace) -> None:
    """Print one line for each installed split learner."""
    from crank.plugins.registry import learners

    print(learners().to_string(index=False))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns
    -------
    int
        0 if all went well, 1 after an error of the user's, 130 after an interrupt; a wrong
        command line exits with 2.
    """
    arguments = parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (CrankError, OSError) as error:
        if arguments.debug:
            raise
        print(f"crank: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("crank: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
