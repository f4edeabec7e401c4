"""``crank score``: scores of a data file of any size."""

from __future__ import annotations

import argparse
import sys

from crank.cli.engine import add_engine, check_engine, dask_client
from crank.cli.shared import DATA, add_reading, marks
from crank.errors import OptionError

EXAMPLES = """
examples:
  crank score m.json new.csv -o scores.csv
  crank score m.onnx new.parquet -o scores.feather --keep id
  zcat new.csv.gz | crank score m.json - | head
"""
TYPES = ("score", "leaf", "quantile", "median", "lower", "upper", "probability")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file or an ONNX graph")
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="CSV or Parquet (default: to stdout)"
    )
    command.add_argument("--type", choices=TYPES, default="score", help="default: score")
    command.add_argument("--name", help="of the new column (default: the type)")
    command.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN", help="pass a column on; repeatable"
    )
    command.add_argument(
        "--report",
        metavar="FILE",
        help="write, as JSON, how many values of each column are missing, unknown or out of the "
        "range of training; - for stdout",
    )
    add_engine(command)
    add_reading(command)


def run(arguments: argparse.Namespace) -> None:
    """Score a data file."""
    from crank.datafiles import check_target, format_of, same_target
    from crank.scoring import file_scorer, score_file

    check_engine(arguments)
    if arguments.engine == "dask":
        _score_parts(arguments)
        return
    check_target(arguments.output)
    format_of(arguments.output)
    if arguments.report is not None:
        check_target(arguments.report)
        if same_target(arguments.report, arguments.output):
            raise OptionError("--report and --output are one file. Give each a file of its own.")
    scorer = file_scorer(arguments.model, arguments.type, arguments.unknown)
    score_file(
        scorer,
        arguments.data,
        arguments.output,
        name=arguments.name or arguments.type,
        keep=arguments.keep,
        delimiter=arguments.delimiter,
        marks=marks(arguments),
        report=arguments.report,
    )


def _score_parts(arguments: argparse.Namespace) -> None:
    """Score a folder of Parquet files, one output for each."""
    from crank.folders import score_folder

    if arguments.output == "-" or arguments.report is not None:
        raise OptionError(
            "--engine dask writes a folder of Parquet files: give it as --output, and no --report."
        )
    with dask_client(arguments.scheduler) as client:
        done, before = score_folder(
            arguments.model,
            arguments.data,
            arguments.output,
            type=arguments.type,
            unknown=arguments.unknown,
            name=arguments.name or arguments.type,
            keep=arguments.keep,
            client=client,
        )
    there = f", {before} were there already" if before else ""
    print(f"{done} files scored into {arguments.output}{there}", file=sys.stderr)
