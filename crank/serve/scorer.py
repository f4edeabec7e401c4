"""The scorer: a model file ready to score rows in one process, by many threads."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of, whole
from crank.errors import DataError, ModelFileError, OptionError, listed
from crank.frames.columns import MISSING_TEXT
from crank.frames.table import Table
from crank.kernels.threads import Threads, count
from crank.records.inputs import InputReport, inspected, require_schema
from crank.serve.feeds import Feeds, check_finite, read_feeds, salvaged_feeds
from crank.serve.graphfile import NUMBER, TEXT, open_graph
from crank.texts import is_broken

BATCH = 16_384
"""Rows scored at a time: intermediate results stay in cache, and memory bounded."""
SINGLE = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}
"""Types of a single number that can be scored as it is."""


@dataclass(frozen=True)
class RowScores:
    """Scores of rows of which some may be bad.

    Attributes
    ----------
    values : ndarray of shape (n,)
        NaN (a leaf: -1) for a bad row.
    errors : dict of int to str
        What is wrong with each bad row, by its number from 0.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> scorer = Scorer(m.to_onnx(), on_error="row")
    >>> found = scorer.rows([{"x": 0.2}, {"x": float("inf")}])
    >>> found.values.tolist(), list(found.errors)
    ([1.0, nan], [1])
    """

    values: NDArray[Any]
    errors: Mapping[int, str]


class Scorer:
    """A model file ready to score: thread-safe, and picklable because it keeps the content.

    Parameters
    ----------
    model : str, Path or bytes
        A file that `RankingModel.to_onnx` wrote, or its content. A file that was damaged is
        refused: it carries a digest.
    providers : sequence of str, optional
        Execution providers of ONNX Runtime; the CPU by default.
    threads : int
        Threads that share the rows of one call, if it has more than 16,384; 0 for all cores.
    on_error : {"raise", "row"}
        What a row with a value of the wrong type, an infinite number or (if the file was written
        with ``unknown="error"``) an unknown level does: fail the call, or score NaN (leaf -1).
        `rows` tells what was wrong.

    Attributes
    ----------
    columns : tuple of str
        The columns that rows must have; those of the design if the file takes a matrix.
    metadata : dict of str
        What the file says about itself.
    schema : dict or None
        A JSON Schema of the rows; None in files of earlier versions.
    session : onnxruntime.InferenceSession

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> scorer = Scorer(m.to_onnx())
    >>> scorer({"x": [0.1, 0.43, 0.99]}).tolist()
    [1.0, 2.0, 4.0]
    >>> scorer([{"x": 0.1}, {"x": 0.99}]).tolist()
    [1.0, 4.0]
    >>> scorer.leaf({"x": 0.99}).tolist()
    [0]
    >>> Scorer(m.to_onnx(), on_error="row").rows([{"x": 0.1}, {"x": "low"}])
    RowScores(values=array([ 1., nan]), errors={1: "column 'x' holds 'low', where a number is \
needed"})
    """

    def __init__(
        self,
        model: str | Path | bytes,
        providers: Sequence[str] | None = None,
        threads: int = 0,
        on_error: Literal["raise", "row"] = "raise",
    ) -> None:
        whole("threads", threads, 0)
        one_of("on_error", on_error, ("raise", "row"))
        content = model if isinstance(model, bytes) else _read(Path(model))
        given = None if providers is None else list(providers)
        self.__setstate__((content, given, threads, on_error))

    def __getstate__(self) -> tuple[bytes, list[str] | None, int, str]:
        return self._content, self._providers, self._threads, self.on_error

    def __setstate__(self, state: tuple[bytes, list[str] | None, int, str]) -> None:
        self._content, self._providers, self._threads, self.on_error = state
        self._file = open_graph(self._content, self._providers)
        self._team = Threads(count(self._threads or -1))
        self.session, self.schema = self._file.session, self._file.schema
        self.metadata: dict[str, str] = dict(self._file.metadata)
        self._outputs, types = self._file.outputs, self._file.types
        self._numbers = [name for name, type in types.items() if type == NUMBER]
        self._texts = [name for name, type in types.items() if type == TEXT]
        dates = any(column["kind"] == "date" for column in self._file.columns.values())
        self._matrix = not self._file.columns
        everything = len(self._numbers) + len(self._texts) == len(types)
        self._takes_one_row = everything and not dates and not self._matrix
        self.columns: tuple[str, ...] = tuple(self._file.design if self._matrix else types)

    def __call__(self, data: Any) -> NDArray[np.float64]:
        """Return the score of each row; higher is better."""
        return self.predict(data, "score")

    def leaf(self, data: Any) -> NDArray[np.int64]:
        """Return the leaf of each row, 0 for the best."""
        return self.predict(data, "leaf")

    def predict(self, data: Any, type: str = "score") -> NDArray[Any]:
        """Return one of the file's outputs for each row.

        Parameters
        ----------
        data : data frame, Arrow table or record batch, dict of columns, list of dicts or ndarray
            An array if the file takes the design matrix, otherwise raw columns; others than
            those needed are not looked at.
        type : {"score", "leaf", "quantile", "median", "lower", "upper"}
            As far as the file has it.
        """
        output = self._output(type)
        if self._takes_one_row:
            row = data if isinstance(data, dict) else self._only_row(data)
            score = None if row is None else self._one_row(row, output)
            if score is not None:
                return score
        if self.on_error == "row" and not self._matrix:
            return self.rows(data, type).values
        return self._batches(self._read(data), output, type)

    def rows(self, data: Any, type: str = "score") -> RowScores:
        """Score rows of which some may be bad, and say what is wrong with these.

        A column that all rows lack is an error all the same.
        """
        output = self._output(type)
        try:
            return RowScores(self._batches(self._read(data), output, type), {})
        except DataError:
            if self._matrix:
                raise
        problems: dict[int, str] = {}
        table = self._table(data, problems)
        feeds = salvaged_feeds(table, self._file, problems)
        values = np.empty(table.n_rows, dtype=np.int64 if type == "leaf" else np.float64)
        self._isolate(feeds, output, values, 0, problems)
        for row in problems:
            values[row] = -1 if type == "leaf" else math.nan
        return RowScores(values, dict(sorted(problems.items())))

    def inspect(self, data: Any) -> InputReport:
        """Count missing, unknown and out-of-range values of each column.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
        >>> print(Scorer(m.to_onnx()).inspect({"x": [0.5, None, 7.0]}))
        column  missing  unknown    below    above   (of 3 rows)
        x             1        0        0        1
        """
        return inspected(self._table(data, None), require_schema(self.schema))

    def feeds(self, data: Any) -> dict[str, NDArray[Any]]:
        """Return the tensors that a bare ONNX Runtime session needs for these rows."""
        feeds = self._read(data)
        if not self._matrix:
            check_finite(feeds)
        return feeds

    def _output(self, type: str) -> str:
        if type not in self._outputs:
            raise OptionError(
                f"the file gives no {type!r}. It gives: {listed(self._outputs)}. "
                f"Export with outputs=({type!r}, …)."
            )
        return self._outputs[type]

    def _batches(self, feeds: Feeds, output: str, type: str) -> NDArray[Any]:
        n = len(next(iter(feeds.values())))
        if 0 < n <= BATCH:
            if not self._matrix:  # a design may hold infinite values
                check_finite(feeds)
            return self._run(output, feeds)
        # translations of other libraries' classifiers may not take an empty batch
        scores = np.empty(n, dtype=np.int64 if type == "leaf" else np.float64)

        def fill(start: int, stop: int) -> None:
            if not self._matrix:
                check_finite({name: values[start:stop] for name, values in feeds.items()})
            for first in range(start, stop, BATCH):
                rows = slice(first, min(first + BATCH, stop))
                part = {name: values[rows] for name, values in feeds.items()}
                scores[rows] = self._run(output, part)

        shares = max(1, min(self._team.n_jobs, -(-n // BATCH)))
        self._team.run(fill, pairwise(n * k // shares for k in range(shares + 1)))
        return scores

    def _isolate(
        self,
        feeds: Feeds,
        output: str,
        values: NDArray[Any],
        first: int,
        problems: dict[int, str],
    ) -> None:
        """Score rows in halves, and halves of these, until only the bad ones are left out."""
        n = len(next(iter(feeds.values())))
        if not n:
            return
        try:
            values[first : first + n] = self._run(output, feeds)
        except DataError as error:
            if n == 1:
                problems.setdefault(first, str(error))
                return
            for start, stop in ((0, n // 2), (n // 2, n)):
                part = {name: column[start:stop] for name, column in feeds.items()}
                self._isolate(part, output, values, first + start, problems)

    def _run(self, output: str, feeds: Feeds) -> NDArray[Any]:
        try:
            scores: NDArray[Any] = self.session.run([output], feeds)[0]
        except Exception as error:  # the runtime's own classes differ between versions
            raise self._explained(error) from error
        return scores.reshape(-1)

    def _one_row(self, data: dict[Any, Any], output: str) -> NDArray[Any] | None:
        """Score one row of single values; None if it is not, or needs a closer look."""
        try:
            numbers = [data[name] for name in self._numbers]
            feeds: Feeds = {}
            for name in self._texts:
                text = data[name]
                if type(text) is not str or text == MISSING_TEXT or is_broken(text):
                    return None
                feeds[name] = np.array([[text]], dtype=object)
            if not SINGLE.issuperset(map(type, numbers)) or any(map(math.isinf, numbers)):
                return None
            cells = np.array(numbers, dtype=np.float64).reshape(-1, 1, 1)
        except (KeyError, OverflowError):  # absent, or an integer beyond all floats
            return None
        feeds.update(zip(self._numbers, cells, strict=True))
        try:
            return self._run(output, feeds)
        except DataError:
            if self.on_error == "row":
                return None
            raise

    def _only_row(self, data: Any) -> dict[Any, Any] | None:
        """Take the single row of a pandas frame as a dict: reading columns costs 20 µs each."""
        pandas = sys.modules.get("pandas")
        if pandas is None or type(data) is not pandas.DataFrame or len(data) != 1:
            return None
        names = data.columns.tolist()
        at = {name: k for k, name in enumerate(names)}
        if len(at) < len(names):
            return None
        if not self._texts:
            return dict(zip(names, data.to_numpy()[0].tolist(), strict=True))
        cell = data.iat  # where types are mixed, twice as quick as the whole row
        return {name: cell[0, at[name]] for name in self.columns if name in at}

    def _explained(self, error: Exception) -> DataError:
        if self.metadata["unknown"] == "error" and "out of" in str(error):
            return DataError(
                "a category has a value that the model does not know, and the file was "
                "written with unknown='error'. Correct the rows, or export with unknown='nan'."
            )
        return DataError(f"ONNX Runtime cannot score these rows: {error}")

    def _read(self, data: Any) -> Feeds:
        if self._matrix:
            return self._matrix_feed(data)
        return read_feeds(self._table(data, None), self._file)

    def _table(self, data: Any, problems: dict[int, str] | None) -> Table:
        """Read data of any kind; rows without a column are a problem of theirs if some have it."""
        if not isinstance(data, list | tuple):
            return Table.read(data)
        odd = {k: "it is no dict of columns" for k, r in enumerate(data) if not _is_dict(r)}
        if odd and len(odd) == len(data):
            return Table.read(data)
        for k in odd if problems is None else ():
            raise DataError(f"row {k} is no dict of columns.").at(k)
        rows = [{} if k in odd else row for k, row in enumerate(data)] if odd else data
        table = Table.of_records(rows, self.columns, problems)
        if problems is not None:
            problems |= odd
        return table

    def _matrix_feed(self, data: Any) -> Feeds:
        X = np.asarray(data, dtype=np.float64)
        width = len(self.columns)
        if X.ndim != 2 or X.shape[1] != width:
            raise DataError(
                f"the file takes a matrix of {width} design columns, got shape {X.shape}. "
                f"Columns: {listed(self.columns)}."
            )
        (name,) = self._file.types
        return {name: X}


def _is_dict(row: Any) -> bool:
    return isinstance(row, Mapping)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
