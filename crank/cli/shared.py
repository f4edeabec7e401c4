"""What several commands take."""

from __future__ import annotations

import argparse
import sys

DATA = "CSV or Parquet, by its extension; - for CSV from standard input"


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add what every command takes that reads data for a model."""
    command.add_argument(
        "--unknown",
        choices=("error", "missing"),
        help="what a category level is that training did not have (default: error)",
    )
    add_csv(command)


def add_csv(command: argparse.ArgumentParser) -> None:
    """Add what says how a CSV file is written."""
    command.add_argument("--delimiter", metavar="CHAR", help="of a CSV file (default: comma)")
    command.add_argument(
        "--na",
        action="append",
        metavar="TEXT",
        help="what stands for a missing value in a CSV file, in place of NA, NaN, null and the "
        "like; the empty field always does; repeatable",
    )


def marks(arguments: argparse.Namespace) -> frozenset[str] | None:
    """Return what --na says, or None for the usual marks."""
    return None if arguments.na is None else frozenset(arguments.na)


def print_bytes(content: bytes) -> None:
    """Write to standard output as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
