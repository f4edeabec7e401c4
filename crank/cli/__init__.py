"""The command line: from a data file to a model, its figures, scores and exports.

One file a command, which is imported when it is asked for; it imports in turn what it needs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from io import TextIOWrapper

from crank._version import __version__
from crank.cli.stopping import Stop, Stopped, stopped_by_signals
from crank.errors import (
    CrankError,
    DataError,
    OptionError,
    UnknownLearnerError,
    columns_there,
    not_for_scoring,
)
from crank.texts import broken

COMMANDS = {
    "fit": "fit a model to a data file",
    "summary": "describe a model",
    "report": "write an HTML report of a model, or of several side by side",
    "plot": "draw a model: its tree, curves, importance, the score over a column",
    "evaluate": "judge a model on data that it has not seen",
    "compare": "test which of several models ranks better, on rows that none has seen",
    "diagnose": "ask whether one order serves all thresholds of y",
    "drift": "compare new data with the training data; exit with 3 if they differ much",
    "score": "score a data file of any size, row by row, in order",
    "serve": "answer scoring requests over HTTP until stopped; SIGHUP reloads the model",
    "export": "write a model for another program",
    "verify": "compare the scores of model files on rows; exit with 3 if they differ",
    "learners": "list the installed split learners; show or check one, or begin a plugin",
    "demo": "run the paper's experiment and a real data set; leave a model, a report and data",
    "completion": "print what makes a shell complete commands, options and their values",
}
"""What each does; `crank.cli.NAME` does it, and is imported for that alone."""
NAMING = ("keep", "weights", "groups", "text")
"""Options that name columns of the data."""
PATHS = ("model", "models", "data", "output", "report", "plot", "onnx", "sql", "folder", "formula")
"""Arguments that are files; a formula is checked where it is read."""
BROKEN_PIPE = 141  # what shells report of a program that SIGPIPE ended


def parser(words: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser; each command names the function that runs it.

    Parameters
    ----------
    words : collection of str, optional
        Those of a command line: only the command that is among them is imported and learns its
        options.
    """
    top = argparse.ArgumentParser(
        prog="crank",
        description="Continuous ranking: put rows in the order of a number.",
        epilog="Begin with: crank demo. Every command has examples: crank fit --help.",
    )
    top.add_argument("--version", action="version", version=f"crank {__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    for some in (top, shared):  # it may stand before the command or after it
        default = False if some is top else argparse.SUPPRESS
        some.add_argument(
            "--debug", action="store_true", default=default, help="show the traceback of an error"
        )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, what in COMMANDS.items():
        added = commands.add_parser(
            name,
            help=what,
            description=what,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[shared],
        )
        if words is None or name in words:
            module = import_module(f"crank.cli.{name}")
            module.add_arguments(added)
            added.epilog = module.EXAMPLES
            added.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns
    -------
    int
        0 if all went well, 1 after an error, 2 if the command line is wrong, 3 if data have
        drifted or files differ, 129 or 143 after a hangup or SIGTERM, 130 after an interrupt,
        141 if nobody reads the output any more.
    """
    debug, stop, code = False, Stop(), 0
    arguments = argparse.Namespace()
    try:
        with stopped_by_signals(stop):
            arguments = parser(sys.argv[1:] if argv is None else argv).parse_args(argv)
            debug = arguments.debug
            _check_texts(arguments)
            if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
                sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does
            code = arguments.run(arguments) or 0
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        print(f"crank: interrupted{f', {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        return 130
    except Stopped:
        pass
    except BrokenPipeError:
        # what is still buffered would fail again when Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if debug:
            raise
        if stop.number is None:  # else an import made another error of the signal
            error = _of_option(arguments, error)
            print(f"crank: {_message(error)}", file=sys.stderr)
            return 2 if isinstance(error, OptionError | UnknownLearnerError) else 1
    if stop.number is None:
        return code
    if stop.number == signal.SIGINT:
        print("crank: interrupted", file=sys.stderr)
    return 128 + stop.number


def _check_texts(arguments: argparse.Namespace) -> None:
    """Refuse bytes of a command line that are no text; names of files may hold what they want."""
    for option, value in vars(arguments).items():
        given = value if isinstance(value, list) else [value]
        if option not in PATHS and (half := broken(given)) is not None:
            raise OptionError(f"--{option.replace('_', '-')} {half!a} is no text in UTF-8.")


def _of_option(arguments: argparse.Namespace, error: Exception) -> Exception:
    """Say of a column that the data lack which option names it, if one does."""
    if not isinstance(error, DataError) or error.absent is None:
        return error
    for option in NAMING:
        given = getattr(arguments, option, None)
        if error.absent in ([given] if isinstance(given, str) else given or ()):
            there = columns_there(error.absent, error.columns)
            return OptionError(f"--{option} {error.absent!r} is no column of the data. {there}")
    return error


def _message(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        error = not_for_scoring(error) or error
    if isinstance(error, CrankError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        named = error.filename is not None
        return f"{error.strerror}: {error.filename!r}" if named else error.strerror
    return (
        f"unexpected {type(error).__name__}: {error}. This is an error in crank or in a plugin; "
        f"--debug shows where."
    )


if __name__ == "__main__":
    sys.exit(main())
