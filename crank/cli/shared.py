"""What several commands take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from crank.errors import OptionError

if TYPE_CHECKING:
    from crank.models.base import RankingModel

DATA = "CSV, Parquet or Feather, by its extension; - for CSV from standard input"


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


def add_json(command: argparse.ArgumentParser) -> None:
    """Add what makes the output machine-readable."""
    command.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(value: Any) -> None:
    """Print a value as JSON; a table is a list of rows, what is missing is null."""
    import json

    import pandas as pd

    def plain(value: Any) -> Any:
        if isinstance(value, pd.DataFrame):
            return json.loads(value.to_json(orient="records", double_precision=15))
        raise TypeError(value)

    print(json.dumps(value, default=plain, allow_nan=False))


def as_json(model: RankingModel) -> dict[str, Any]:
    """Return a model's summary as what `print_json` prints."""
    return {"sections": [vars(section) for section in model.summary().sections]}


def add_models(command: argparse.ArgumentParser, least: str) -> None:
    """Add one model or several, named by their files, and rows to judge them on."""
    command.add_argument("models", metavar="MODEL", nargs=least, help="JSON model files")
    command.add_argument("--weights", metavar="COLUMN", help="case weights")
    add_reading(command)


def loaded_models(paths: Sequence[str]) -> dict[str, RankingModel]:
    """Load models, each under the name of its file."""
    from pathlib import Path

    from crank.models.loading import load

    # files are named in bytes, which need not be text
    shown = [path.encode("utf-8", "backslashreplace").decode() for path in paths]
    names = [Path(path).stem for path in shown]
    if len(set(names)) < len(names):
        names = shown
    if len(set(names)) < len(names):
        raise OptionError("a model file is given twice. Give each once.")
    return dict(zip(names, map(load, paths), strict=True))


def model_rows(
    models: Iterable[RankingModel], arguments: argparse.Namespace, *, text: str | None = None
) -> dict[str, Any]:
    """Read all that some models need of a data file, responses and weights included.

    ``text`` names one more column, which is read as it stands.
    """
    from crank.datafiles import expected_columns, read_rows
    from crank.design.spec import Variable

    some = list(models)
    others = [variable for model in some for variable in model.response.variables]
    if getattr(arguments, "weights", None):
        others.append(Variable(arguments.weights, "number"))
    if text is not None:
        others.append(Variable(text, "category"))
    expected = expected_columns(*(d for model in some for d in model.designs), others=others)
    return read_rows(
        arguments.data, expected, delimiter=arguments.delimiter, marks=marks(arguments)
    )


def marks(arguments: argparse.Namespace) -> frozenset[str] | None:
    """Return what --na says, or None for the usual marks."""
    return None if arguments.na is None else frozenset(arguments.na)


def print_bytes(content: bytes) -> None:
    """Write to standard output as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
