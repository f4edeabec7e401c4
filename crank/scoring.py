"""Score a file of any size in constant memory, with a JSON model or an ONNX graph."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of
from crank.datafiles import Expected, Piece, expected_columns, open_output, open_source
from crank.errors import DataError, OptionError
from crank.files import write_text
from crank.frames.table import Table
from crank.models.loading import is_onnx, loaded, read_content
from crank.progress import PATIENCE
from crank.records.inputs import inspected, report_of_nothing, require_schema

VALUES = 4_000_000
"""Numbers of a design held at a time: 32 MB."""
MOST_ROWS, FEWEST_ROWS = 50_000, 500


@dataclass(frozen=True)
class FileScorer:
    """What scoring a file needs of a model.

    Attributes
    ----------
    expected : dict of Expected
        The raw columns and how to read them.
    width : int
        Columns of the design, which bound the rows of a piece.
    score : callable
        From a piece's columns to one number a row.
    schema : mapping or None
        The contract of the inputs, if the file has it.
    """

    expected: Mapping[str, Expected]
    width: int
    score: Callable[[Any], NDArray[Any]]
    schema: Mapping[str, Any] | None = None


def file_scorer(
    model: str | Path, type: str = "score", unknown: Literal["error", "missing"] | None = None
) -> FileScorer:
    """Open a model, JSON or ONNX by its content, for scoring files.

    Parameters
    ----------
    model : str or Path
    type : {"score", "leaf", "quantile", "median", "lower", "upper"}
    unknown : {"error", "missing"}, optional
        What a category level is that training did not have; an ONNX graph has decided already.
    """
    content = read_content(model)
    if is_onnx(content):
        return _onnx_scorer(model, content, type, unknown)
    ranker = loaded(model, content)
    one_of("type", type, ranker.predictions)
    return FileScorer(
        expected_columns(*ranker.designs),
        sum(len(design.names) for design in ranker.designs),
        lambda data: ranker.predict(data, type, unknown=unknown or "error"),
        ranker.schema(),
    )


def _onnx_scorer(model: str | Path, content: bytes, type: str, unknown: str | None) -> FileScorer:
    from crank.serve import Scorer

    scorer = Scorer(content)
    if unknown is not None:
        raise OptionError(
            f"unknown={unknown!r} cannot be chosen for an ONNX graph: it was when the graph was "
            f"exported. Leave --unknown out, or score with the JSON model."
        )
    kinds = json.loads(scorer.metadata["columns"])
    if not kinds:
        raise OptionError(
            f"{str(model)!r} takes a matrix of design columns, not a data file. "
            f"Export it with form='columns'."
        )
    levels = json.loads(scorer.metadata["levels"])
    every = [v for known in levels.values() for v in known if isinstance(v, str)]
    expected = {}
    for column in scorer.session.get_inputs():
        if column.type == "tensor(string)":
            # a file of an earlier version says of no column which texts it knows
            texts = kinds[column.name].get("texts", every)
            expected[column.name] = Expected("text", frozenset(texts))
        else:
            kind = kinds[column.name]["kind"]
            expected[column.name] = Expected(kind if kind in ("boolean", "date") else "number")
    score = lambda data: scorer.predict(data, type)  # noqa: E731  # as for JSON models
    return FileScorer(expected, len(expected), score, scorer.schema)


def score_file(
    scorer: FileScorer,
    data: str | Path,
    output: str | Path,
    *,
    name: str = "score",
    keep: Sequence[str] = (),
    delimiter: str | None = None,
    marks: frozenset[str] | None = None,
    rows: int | None = None,
    show: bool | None = None,
    report: str | Path | None = None,
) -> int:
    """Score a file piece by piece, in order; the output appears when it is complete.

    Parameters
    ----------
    scorer : FileScorer
    data, output : str or Path
        CSV or Parquet; ``-`` is standard input or output.
    name : str
        Of the new column.
    keep : sequence of str
        Columns to pass on as they are.
    delimiter : str, optional
    marks : frozenset of str, optional
        What stands for a missing value in a CSV file, in place of the usual.
    rows : int, optional
        Rows of a piece; by default what fits into a bounded amount of memory.
    show : bool, optional
        Whether to show progress; by default on a terminal.
    report : str or Path, optional
        Where to write, as JSON, how many values of each column are missing, unknown or out of the
        range of training.

    Returns
    -------
    int
        The number of rows.
    """
    if name in keep:
        raise OptionError(
            f"the new column would have the name of a kept one, {name!r}. Choose another --name."
        )
    size = rows or _piece_rows(scorer)
    done = 0
    schema = None if report is None else require_schema(scorer.schema)
    counted = None if schema is None else report_of_nothing(schema)
    with (
        open_source(
            data, scorer.expected, keep=keep, rows=size, delimiter=delimiter, marks=marks
        ) as source,
        open_output(output) as out,
        RowCount(source.n_rows, show) as count,
    ):
        for piece in source.pieces:
            ((_, scores),) = scored_pieces(iter([piece]), scorer.score, data)
            if schema is not None and counted is not None:
                counted += inspected(Table.read(piece.data), schema)
            out.write({**piece.kept, name: np.asarray(scores)})
            done += piece.n_rows
            count.update(done)
    if report is not None and counted is not None:
        write_text(report, json.dumps(counted.to_dict(), indent=1) + "\n")
    return done


def located(
    error: DataError, score: Callable[[Any], Any], piece: Piece, data: str | Path
) -> DataError:
    """Say where in the file the first row is that cannot be scored."""
    table = Table.read(piece.data)
    good, bad = 0, piece.n_rows  # so many rows can be scored, and so many cannot
    while bad - good > 1:
        some = (good + bad) // 2
        if _failure(score, table.rows(range(some))) is None:
            good = some
        else:
            bad = some
    alone = _failure(score, table.rows([bad - 1])) if bad else None
    if alone is None:  # it is not one row's fault
        return DataError(f"{str(data)!r}: {error}")
    return DataError(f"{piece.where(bad - 1)} of {str(data)!r}: {alone}")


def scored_pieces(
    pieces: Iterator[Piece], score: Callable[[Any], NDArray[Any]], data: str | Path
) -> Iterator[tuple[Table, NDArray[Any]]]:
    """Score pieces of a file; if a row cannot be scored, say where in the file it is."""
    for piece in pieces:
        table = Table.read(piece.data)
        try:
            scores = score(table)
        except DataError as error:
            raise located(error, score, piece, data) from error
        yield table, scores


def _failure(score: Callable[[Any], Any], table: Table) -> DataError | None:
    try:
        score(table)
    except DataError as error:
        return error
    return None


def _piece_rows(scorer: FileScorer) -> int:
    held = scorer.width + 4 * len(scorer.expected)  # a raw text field takes as much as four numbers
    return min(MOST_ROWS, max(FEWEST_ROWS, VALUES // max(1, held)))


class RowCount:
    """A line on a terminal that counts rows; nothing in a pipe, or if the work is quick."""

    def __init__(self, total: int | None, show: bool | None = None, out: TextIO | None = None):
        self.total, self.out = total, out or sys.stderr
        self.visible = self.out.isatty() if show is None else show
        self.start, self.width = time.monotonic(), 0

    def __enter__(self) -> RowCount:
        return self

    def update(self, done: int) -> None:
        """Show how many rows are done."""
        if self.visible and time.monotonic() - self.start >= PATIENCE:
            of = f" of {self.total:,} ({done / max(1, self.total):.0%})" if self.total else ""
            line = f"{done:,}{of} rows scored"
            self.width = max(self.width, len(line))
            self.out.write("\r" + line.ljust(self.width))
            self.out.flush()

    def __exit__(self, *_: object) -> None:
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()
