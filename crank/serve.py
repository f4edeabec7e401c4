"""Score with ONNX Runtime: a model file, rows of any data frame in, an array out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import whole
from crank.design.reader import surely_finite
from crank.errors import DataError, ModelFileError, OptionError, listed
from crank.frames.columns import MISSING_TEXT
from crank.frames.table import Table
from crank.graphs.runtime import session
from crank.kernels.threads import Threads, count

__all__ = ["Scorer"]

BATCH = 16_384
"""Rows scored at a time: intermediate results stay in cache, and memory bounded."""
SINGLE = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}
"""Types of a single number that can be scored as it is."""
NUMBER, TEXT = "tensor(double)", "tensor(string)"


class Scorer:
    """A model file ready to score: thread-safe, and picklable because it keeps the content.

    Parameters
    ----------
    model : str, Path or bytes
        A file that `RankingModel.to_onnx` wrote, or its content.
    providers : sequence of str, optional
        Execution providers of ONNX Runtime; the CPU by default.
    threads : int
        Threads that share the rows of one call, if it has more than 16,384; 0 for all cores.

    Attributes
    ----------
    columns : tuple of str
        The columns that rows must have; those of the design if the file takes a matrix.
    metadata : dict of str
        What the file says about itself.
    session : onnxruntime.InferenceSession

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> scorer = Scorer(m.to_onnx())
    >>> scorer({"x": [0.1, 0.43, 0.99]}).tolist()
    [1.0, 2.0, 4.0]
    >>> scorer.leaf({"x": 0.99}).tolist()
    [0]
    """

    def __init__(
        self,
        model: str | Path | bytes,
        providers: Sequence[str] | None = None,
        threads: int = 0,
    ) -> None:
        whole("threads", threads, 0)
        content = model if isinstance(model, bytes) else _read(Path(model))
        self.__setstate__((content, None if providers is None else list(providers), threads))

    def __getstate__(self) -> tuple[bytes, list[str] | None, int]:
        return self._content, self._providers, self._threads

    def __setstate__(self, state: tuple[bytes, list[str] | None, int]) -> None:
        self._content, self._providers, self._threads = state
        self.session = session(self._content, self._providers)
        self._team = Threads(count(self._threads or -1))
        self.metadata: dict[str, str] = dict(self.session.get_modelmeta().custom_metadata_map)
        if "crank_version" not in self.metadata:
            raise ModelFileError(
                "this ONNX file was not written by crank. "
                "Allowed: files that RankingModel.to_onnx wrote."
            )
        try:
            self._outputs: dict[str, str] = json.loads(self.metadata["outputs"])
            columns = json.loads(self.metadata["columns"])
            design = json.loads(self.metadata["design"])
            self._marks = {name: column.get("missing", "") for name, column in columns.items()}
            self._dates = {name for name, column in columns.items() if column["kind"] == "date"}
        except (KeyError, ValueError, AttributeError) as error:
            raise ModelFileError(
                "the metadata of this ONNX file are damaged, or from a newer version of crank. "
                "Export the model again."
            ) from error
        self._types = {i.name: i.type for i in self.session.get_inputs()}
        self._numbers = [name for name, type in self._types.items() if type == NUMBER]
        self._texts = [name for name, type in self._types.items() if type == TEXT]
        self._matrix = not self._marks
        self.columns: tuple[str, ...] = tuple(design if self._matrix else self._types)

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
        data : data frame, dict of columns or ndarray
            An array if the file takes the design matrix, otherwise raw columns; others than
            those needed are not looked at.
        type : {"score", "leaf", "quantile", "median", "lower", "upper"}
            As far as the file has it.
        """
        if type not in self._outputs:
            raise OptionError(
                f"the file gives no {type!r}. It gives: {listed(self._outputs)}. "
                f"Export with outputs=({type!r}, …)."
            )
        if isinstance(data, dict) and not self._matrix and not self._dates:
            score = self._one_row(data, self._outputs[type])
            if score is not None:
                return score
        feeds = self._read(data)
        n = len(next(iter(feeds.values())))
        if 0 < n <= BATCH:
            self._check(feeds)
            return self._run(self._outputs[type], feeds)
        # translations of other libraries' classifiers may not take an empty batch
        scores = np.empty(n, dtype=np.int64 if type == "leaf" else np.float64)

        def fill(start: int, stop: int) -> None:
            self._check({name: values[start:stop] for name, values in feeds.items()})
            for first in range(start, stop, BATCH):
                rows = slice(first, min(first + BATCH, stop))
                part = {name: values[rows] for name, values in feeds.items()}
                scores[rows] = self._run(self._outputs[type], part)

        shares = max(1, min(self._team.n_jobs, -(-n // BATCH)))
        self._team.run(fill, pairwise(n * k // shares for k in range(shares + 1)))
        return scores

    def _run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[Any]:
        try:
            scores: NDArray[Any] = self.session.run([output], feeds)[0]
        except Exception as error:  # the runtime's own classes differ between versions
            raise self._explained(error) from error
        return scores.reshape(-1)

    def _one_row(self, data: dict[Any, Any], output: str) -> NDArray[Any] | None:
        """Score one row of single values; None if it is not, or needs a closer look."""
        try:
            numbers = [data[name] for name in self._numbers]
            texts = {name: data[name] for name in self._texts}
            single = SINGLE.issuperset(map(type, numbers)) and not any(map(math.isinf, numbers))
            if not single or not all(type(t) is str and t != MISSING_TEXT for t in texts.values()):
                return None
            cells = np.array(numbers, dtype=np.float64).reshape(-1, 1, 1)
        except (KeyError, OverflowError):  # absent, or an integer beyond all floats
            return None
        feeds: dict[str, NDArray[Any]] = dict(zip(self._numbers, cells, strict=True))
        feeds |= {name: np.array([[text]], dtype=object) for name, text in texts.items()}
        return self._run(output, feeds) if len(feeds) == len(self._types) else None

    def _explained(self, error: Exception) -> DataError:
        if self.metadata["unknown"] == "error" and "out of" in str(error):
            return DataError(
                "a category has a value that the model does not know, and the file was "
                "written with unknown='error'. Correct the rows, or export with unknown='nan'."
            )
        return DataError(f"ONNX Runtime cannot score these rows: {error}")

    def feeds(self, data: Any) -> dict[str, NDArray[Any]]:
        """Return the tensors that a bare ONNX Runtime session needs for these rows."""
        feeds = self._read(data)
        self._check(feeds)
        return feeds

    def _read(self, data: Any) -> dict[str, NDArray[Any]]:
        if self._matrix:
            return self._matrix_feed(data)
        table = Table.read(data)
        return {
            name: table.days(name).reshape(-1, 1)
            if name in self._dates
            else _READERS[type](table, name, self._marks[name]).reshape(-1, 1)
            for name, type in self._types.items()
        }

    def _check(self, feeds: Mapping[str, NDArray[Any]]) -> None:
        """Refuse the raw columns that `predict` refuses; a design may hold infinite values."""
        if self._matrix:
            return
        for name, values in feeds.items():
            if values.dtype.kind != "f" or surely_finite(values):
                continue
            if np.isinf(values).any():
                raise DataError(
                    f"column {name!r} holds infinite values. Replace them by numbers, or by "
                    "missing values (NaN)."
                )

    def _matrix_feed(self, data: Any) -> dict[str, NDArray[Any]]:
        X = np.asarray(data, dtype=np.float64)
        width = len(self.columns)
        if X.ndim != 2 or X.shape[1] != width:
            raise DataError(
                f"the file takes a matrix of {width} design columns, got shape {X.shape}. "
                f"Columns: {listed(self.columns)}."
            )
        (name,) = self._types
        return {name: X}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error


def _double(table: Table, name: str, mark: str) -> NDArray[np.float64]:
    """Read a column of numbers."""
    try:
        return table.numeric(name).astype(np.float64, copy=False)
    except DataError:
        codes, levels = table.codes(name)
        if any(isinstance(level, str) for level in levels):
            raise
        return np.array([*map(float, levels), np.nan])[codes]  # categories of numbers


def _float(table: Table, name: str, mark: str) -> NDArray[np.float32]:
    return _narrowed(_double(table, name, mark), np.float32, name)


def _int64(table: Table, name: str, mark: str) -> NDArray[np.int64]:
    return _narrowed(_double(table, name, mark), np.int64, name)


def _bool(table: Table, name: str, mark: str) -> NDArray[np.bool_]:
    return _narrowed(_double(table, name, mark), np.bool_, name)


def _narrowed(values: NDArray[np.float64], dtype: Any, name: str) -> NDArray[Any]:
    """Convert to the type that the file declares, if that loses nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = values.astype(dtype)
    if not np.array_equal(narrow.astype(np.float64), values, equal_nan=True):
        raise DataError(
            f"column {name!r} does not fit the type {np.dtype(dtype).name} that the file "
            "declares for it (a missing value fits floating-point types only). Convert the "
            f"column, or export with types={{{name!r}: 'double'}}."
        )
    return narrow


def _text(table: Table, name: str, mark: str) -> NDArray[np.object_]:
    """Read a column of text, a missing value as the file's mark for it."""
    codes, levels = table.codes(name)
    if levels and not isinstance(levels[0], str):
        raise DataError(
            f"column {name!r} holds numbers (dtype {table.dtype(name)}) where text is expected. "
            "Convert the column to text."
        )
    texts: NDArray[np.object_] = np.array([*levels, mark], dtype=object)
    return texts[codes]


_READERS: Mapping[str, Callable[[Table, str, str], NDArray[Any]]] = {
    NUMBER: _double,
    "tensor(float)": _float,
    "tensor(int64)": _int64,
    "tensor(bool)": _bool,
    TEXT: _text,
}
