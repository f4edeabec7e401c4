"""The command line: from a data file to a model, its figures, scores and exports.

One file a command. Only argparse is imported to answer ``--help``; each command imports what it
needs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from crank._version import __version__
from crank.cli import demo, drift, evaluate, export, fit, learners, score, summary
from crank.errors import CrankError, not_for_scoring

COMMANDS = {
    "fit": fit,
    "summary": summary,
    "evaluate": evaluate,
    "drift": drift,
    "score": score,
    "export": export,
    "learners": learners,
    "demo": demo,
}
BROKEN_PIPE = 141  # what shells report of a program that SIGPIPE ended


def parser() -> argparse.ArgumentParser:
    """Build the parser; each command names the function that runs it."""
    top = argparse.ArgumentParser(prog="crank", description="Continuous ranking.")
    top.add_argument("--version", action="version", version=f"crank {__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    for some in (top, shared):  # it may stand before the command or after it
        default = False if some is top else argparse.SUPPRESS
        some.add_argument(
            "--debug", action="store_true", default=default, help="show the traceback of an error"
        )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        added = commands.add_parser(
            name, help=module.HELP, description=module.HELP, parents=[shared]
        )
        module.add_arguments(added)
        added.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns
    -------
    int
        0 if all went well, 1 after an error, 3 if data have drifted, 130 after an interrupt, 141
        if nobody reads the output any more; a wrong command line exits with 2.
    """
    arguments = parser().parse_args(argv)
    try:
        with _stopped_by_sigterm():
            code: int = arguments.run(arguments) or 0
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        print(f"crank: interrupted{f', {stop}' if str(stop) else ''}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # what is still buffered would fail again when Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if arguments.debug:
            raise
        print(f"crank: {_message(error)}", file=sys.stderr)
        return 1
    return code


def _message(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        error = not_for_scoring(error) or error
    if isinstance(error, CrankError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename!r}" if error.filename else error.strerror
    return (
        f"unexpected {type(error).__name__}: {error}. This is an error in crank or in a plugin; "
        f"--debug shows where."
    )


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let a polite kill unwind the stack, so that temporary files are removed."""

    def stop(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, where no signal arrives anyhow
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
