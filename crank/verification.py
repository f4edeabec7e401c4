"""One truth in every runtime: all routes from rows to scores, compared row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.datafiles import Expected, Piece, expected_columns, open_source
from crank.errors import NotExportableError, OptionError
from crank.export.json.text import parse
from crank.frames.table import Table
from crank.models.loading import is_onnx, loaded, read_content
from crank.serve import Scorer

TOLERANCE = 1e-12
"""Relative difference of sums that counts as rounding; scores of trees are looked up."""
SINGLE_ROWS = 200
"""Rows of a piece that are scored one by one as well."""


@dataclass
class Route:
    """One way from rows to scores, and how it compares with the first.

    Attributes
    ----------
    name : str
    score : callable
        From a table to scores.
    fingerprint : str or None
        Of the model file that it comes from.
    rows, different : int
    largest : float
        Relative difference.
    first : str
        Where the first difference is.
    """

    name: str
    score: Callable[[Table], NDArray[Any]]
    fingerprint: str | None
    rows: int = 0
    different: int = 0
    largest: float = 0.0
    first: str = ""

    def compare(self, values: NDArray[Any], wanted: NDArray[Any], piece: Piece) -> None:
        """Count rows whose scores are not the same."""
        n = len(values)
        with np.errstate(invalid="ignore"):
            scale = np.maximum(1.0, np.abs(wanted[:n]))
            gap = np.abs(values - wanted[:n]) / scale
        same = (values == wanted[:n]) | (np.isnan(values) & np.isnan(wanted[:n]))
        gap = np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
        bad = np.flatnonzero(gap > TOLERANCE)
        if len(bad) and not self.different:
            k = int(bad[0])
            self.first = f"{piece.where(k)}: {values[k]} here, {wanted[k]} there"
        self.rows += n
        self.different += len(bad)
        self.largest = max(self.largest, float(gap.max(initial=0.0)))


@dataclass
class Verification:
    """What was compared; print it.

    Attributes
    ----------
    routes : list of Route
        The first is what the others are compared with.
    """

    routes: list[Route] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain data; a difference without bound is null."""
        routes = [
            {
                "route": route.name,
                "rows": route.rows,
                "different": route.different,
                "largest": route.largest if np.isfinite(route.largest) else None,
                "first": route.first,
            }
            for route in self.routes
        ]
        return {"equal": self.equal, "one_model": self.one_model, "routes": routes}

    @property
    def equal(self) -> bool:
        """Whether all routes give the same scores, and all files come from one model."""
        return self.one_model and not any(route.different for route in self.routes)

    @property
    def one_model(self) -> bool:
        """Whether all files that know their model's fingerprint know the same."""
        return len({r.fingerprint for r in self.routes if r.fingerprint is not None}) <= 1

    def __str__(self) -> str:
        first, *others = self.routes
        lines = [f"{first.name}: {first.rows} rows"]
        for route in others:
            state = "equal" if not route.different else f"{route.different} rows differ"
            if not route.different and route.largest:
                state += f" to {route.largest:.0e}"
            at = f", the first in {route.first}" if route.first else ""
            lines.append(f"{route.name}: {route.rows} rows, {state}{at}")
        if not self.one_model:
            lines.append("The files come from different models: their fingerprints differ.")
        lines.append("All equal." if self.equal else "NOT equal.")
        return "\n".join(lines)


def verify(
    models: Sequence[str | Path],
    data: str | Path,
    *,
    delimiter: str | None = None,
    marks: frozenset[str] | None = None,
) -> Verification:
    """Score rows by every route that the files allow, and compare with the first file.

    A graph is run on batches and row by row; a JSON model that has a form in SQL is run by SQLite
    as well. Levels that training did not have count as missing, as in a graph.
    """
    found, expected = Verification(), dict[str, Expected]()
    for model in models:
        content = read_content(model)
        if is_onnx(content):
            found.routes += _graph_routes(model, content)
            continue
        ranker = loaded(model, content)
        expected |= expected_columns(*ranker.designs)
        found.routes += _json_routes(model, content, ranker)
    if not expected:
        raise OptionError("no JSON model is among the files. Give the JSON model that they are of.")
    with open_source(data, expected, delimiter=delimiter, marks=marks) as source:
        for piece in source.pieces:
            table = Table.read(piece.data)
            wanted = found.routes[0].score(table)
            for route in found.routes:
                route.compare(np.asarray(route.score(table)), wanted, piece)
    return found


def _json_routes(path: str | Path, content: bytes, model: Any) -> list[Route]:
    stated = parse(content)["fingerprint"]
    routes = [Route(str(path), lambda t: model.predict(t, unknown="missing"), stated)]
    try:
        query = model.to_sql("sqlite", table="rows")
    except NotExportableError:
        return routes
    return [*routes, Route(f"{path} as SQL in SQLite", lambda t: _by_sqlite(query, t), stated)]


def _graph_routes(path: str | Path, content: bytes) -> list[Route]:
    scorer = Scorer(content)
    stated = scorer.metadata.get("fingerprint")

    def one_by_one(table: Table) -> NDArray[Any]:
        n = min(SINGLE_ROWS, table.n_rows)
        columns = {name: table.values(name)[:n] for name in scorer.columns}
        rows = ({name: values[k] for name, values in columns.items()} for k in range(n))
        return np.array([scorer(row).item() for row in rows], dtype=np.float64)

    return [
        Route(str(path), scorer, stated),
        Route(f"{path}, row by row", one_by_one, stated),
    ]


def _by_sqlite(query: str, table: Table) -> NDArray[np.float64]:
    """Run a query on rows in memory."""
    import sqlite3
    from contextlib import closing

    names = list(table.names)
    quoted = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE rows ({quoted})")
        marks = ", ".join("?" for _ in names)
        values = zip(*(table.values(name) for name in names), strict=True)
        base.executemany(f"INSERT INTO rows VALUES ({marks})", values)
        return np.array([row[-1] for row in base.execute(query)], dtype=np.float64)
