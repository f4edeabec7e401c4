"""What several commands take."""

from __future__ import annotations

import argparse

DATA = "CSV or Parquet, by its extension; - for CSV from standard input"


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add what every command takes that reads data for a model."""
    command.add_argument(
        "--unknown",
        choices=("error", "missing"),
        help="what a category level is that training did not have (default: error)",
    )
    command.add_argument("--delimiter", metavar="CHAR", help="of a CSV file (default: comma)")
