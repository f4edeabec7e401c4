"""The command line: from a data file to a model, its figures, scores and exports.

Only argparse is imported to answer ``--help``; each command imports what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from crank._version import __version__
from crank.errors import CrankError, OptionError

CRITERIA = ("crank", "kendall", "iauc", "spearman")
TYPES = ("score", "leaf", "quantile", "median")
DIALECTS = ("duckdb", "postgres", "sqlite")
BROKEN_PIPE = 141  # what shells report of a program that SIGPIPE ended
DATA_HELP = "CSV or Parquet, by its extension; - for CSV from standard input"


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

    def command(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help, parents=[shared])
        added.set_defaults(run=run)
        return added

    _add_fit(command("fit", run_fit, "fit a model to a data file"))

    summary = command("summary", run_summary, "describe a model")
    summary.add_argument("model", metavar="MODEL", help="a JSON model file")

    evaluate = command("evaluate", run_evaluate, "judge a model on data that it has not seen")
    evaluate.add_argument("model", metavar="MODEL", help="a JSON model file")
    evaluate.add_argument("data", metavar="DATA", help=DATA_HELP)
    evaluate.add_argument("--weights", metavar="COLUMN", help="case weights")
    evaluate.add_argument("--format", choices=("text", "csv", "json"), default="text")
    _add_reading(evaluate)

    score = command("score", run_score, "score a data file of any size, row by row, in order")
    score.add_argument("model", metavar="MODEL", help="a JSON model file or an ONNX graph")
    score.add_argument("data", metavar="DATA", help=DATA_HELP)
    score.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="CSV or Parquet (default: to stdout)"
    )
    score.add_argument("--type", choices=TYPES, default="score", help="default: score")
    score.add_argument("--name", help="of the new column (default: the type)")
    score.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN", help="pass a column on; repeatable"
    )
    _add_reading(score)

    export = command("export", run_export, "write a model for another program")
    export.add_argument("model", metavar="MODEL", help="a JSON model file")
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument("--onnx", metavar="OUT", help="an ONNX graph that takes the raw columns")
    form.add_argument("--sql", metavar="OUT", help="a SQL expression; - for stdout")
    export.add_argument("--dialect", choices=DIALECTS, help="of SQL (default: duckdb)")
    export.add_argument("--table", help="of SQL: write a whole query on this table")
    export.add_argument("--unknown", choices=("nan", "error"), help="of ONNX (default: nan)")

    command("learners", run_learners, "list the installed split learners")

    demo = command("demo", run_demo, "run the paper's experiment and a real data set")
    demo.add_argument("--output", default="demo", help="folder for the files (default: demo)")
    demo.add_argument(
        "--paper", action="store_true", help="the paper's table beside ours, and its two figures"
    )
    return top


def _add_fit(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("data", metavar="DATA", help=DATA_HELP)
    fit.add_argument("formula", metavar="FORMULA", help='for example "price ~ log(carat) + cut"')
    fit.add_argument("-o", "--output", required=True, metavar="OUT", help="the JSON model file")
    fit.add_argument("--learner", default="stump", help="see crank learners (default: stump)")
    fit.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="of the learner"
    )
    fit.add_argument("--criterion", choices=CRITERIA, default="crank", help="default: crank")
    fit.add_argument("--max-depth", type=int, default=6, metavar="N", help="default: 6")
    fit.add_argument("--min-samples-leaf", type=int, default=5, metavar="N", help="default: 5")
    fit.add_argument("--leaf-order", choices=("auto", "oriented", "rank"), default="auto")
    fit.add_argument("--prune", choices=("cv", "1se", "none"), default="cv", help="default: cv")
    fit.add_argument("--cv", type=int, default=10, metavar="FOLDS", help="default: 10")
    fit.add_argument("--cv-repeats", type=int, default=1, metavar="N", help="default: 1")
    fit.add_argument("--weights", metavar="COLUMN", help="case weights")
    fit.add_argument("--na-action", choices=("drop", "raise"), default="drop")
    fit.add_argument("--random-state", type=int, default=0, metavar="SEED", help="default: 0")
    fit.add_argument("--n-jobs", type=int, default=1, metavar="N", help="threads; -1 for all")
    fit.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="read a CSV column as text though it looks like numbers; repeatable",
    )
    fit.add_argument("--delimiter", metavar="CHAR", help="of a CSV file (default: comma)")
    fit.add_argument("--quiet", action="store_true", help="do not print the summary")


def _add_reading(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--unknown",
        choices=("error", "missing"),
        help="what a category level is that training did not have (default: error)",
    )
    command.add_argument("--delimiter", metavar="CHAR", help="of a CSV file (default: comma)")


def run_fit(arguments: argparse.Namespace) -> None:
    """Fit a model and write it."""
    from crank.datafiles import check_target, read_frame

    check_target(arguments.output)
    params = dict(map(_param, arguments.param))
    frame = read_frame(arguments.data, text=arguments.text, delimiter=arguments.delimiter)
    from crank.api import fit

    model = fit(
        frame,
        arguments.formula,
        learner=arguments.learner,
        learner_params=params,
        criterion=arguments.criterion,
        max_depth=arguments.max_depth,
        min_samples_leaf=arguments.min_samples_leaf,
        leaf_order=arguments.leaf_order,
        prune=None if arguments.prune == "none" else arguments.prune,
        cv=arguments.cv,
        cv_repeats=arguments.cv_repeats,
        weights=arguments.weights,
        na_action=arguments.na_action,
        random_state=arguments.random_state,
        n_jobs=arguments.n_jobs,
    )
    model.to_json(arguments.output)
    if not arguments.quiet:
        print(model.summary())
        print(f"Written to {arguments.output}")


def _param(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise OptionError(f"--param {text!r} is not allowed. Allowed: NAME=VALUE, such as C=0.5.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def run_summary(arguments: argparse.Namespace) -> None:
    """Print a model's summary."""
    from crank.export.json import load

    print(load(arguments.model).summary(), end="")


def run_evaluate(arguments: argparse.Namespace) -> None:
    """Print a model's figures on a data file."""
    from crank.datafiles import expected_columns, read_columns
    from crank.design.spec import Variable
    from crank.export.json import load

    model = load(arguments.model)
    weights = arguments.weights
    others = [*model.response.variables, *([Variable(weights, "number")] if weights else [])]
    expected = expected_columns(model.design, others)
    data = read_columns(arguments.data, expected, delimiter=arguments.delimiter)
    table = model.evaluate(data, weights=weights, unknown=arguments.unknown or "error")
    if arguments.format == "csv":
        print(table.to_csv(), end="")
    elif arguments.format == "json":
        print(table.reset_index().to_json(orient="records", double_precision=15))
    else:
        print(table.to_string(float_format="{:.4f}".format))


def run_score(arguments: argparse.Namespace) -> None:
    """Score a data file."""
    from crank.datafiles import check_target, format_of
    from crank.scoring import file_scorer, score_file

    check_target(arguments.output)
    format_of(arguments.output)
    scorer = file_scorer(arguments.model, arguments.type, arguments.unknown)
    score_file(
        scorer,
        arguments.data,
        arguments.output,
        name=arguments.name or arguments.type,
        keep=arguments.keep,
        delimiter=arguments.delimiter,
    )


def run_export(arguments: argparse.Namespace) -> None:
    """Write a model as ONNX or SQL."""
    from crank.datafiles import check_target
    from crank.export.json import load
    from crank.files import write_text

    check_target(arguments.onnx or arguments.sql)
    for_sql = {"--dialect": arguments.dialect, "--table": arguments.table}
    wrong = for_sql if arguments.onnx else {"--unknown": arguments.unknown}
    for option, value in wrong.items():
        if value is not None:
            other = "--sql" if arguments.onnx else "--onnx"
            raise OptionError(f"{option} belongs to {other}. Leave it out.")
    model = load(arguments.model)
    if arguments.onnx:
        model.to_onnx(arguments.onnx, unknown=arguments.unknown or "nan")
        return
    text = model.to_sql(arguments.dialect or "duckdb", table=arguments.table) + "\n"
    if arguments.sql == "-":
        print(text, end="")
    else:
        write_text(arguments.sql, text)


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demonstration."""
    if arguments.paper:
        from crank.paper import run_paper

        run_paper(arguments.output)
        return
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
        0 if all went well, 1 after an error, 130 after an interrupt, 141 if nobody reads the
        output any more; a wrong command line exits with 2.
    """
    arguments = parser().parse_args(argv)
    try:
        with _stopped_by_sigterm():
            arguments.run(arguments)
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
    return 0


def _message(error: Exception) -> str:
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
