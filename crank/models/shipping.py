"""How every model leaves Python: JSON, ONNX, SQL, and the description of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, overload

from crank.errors import ModelFileError
from crank.records.base import ModelRecord
from crank.records.inputs import input_schema
from crank.records.kinds import reader


@dataclass(frozen=True, repr=False, kw_only=True)
class ShippedModel(ModelRecord):
    """A model that can be written for other programs."""

    @overload
    def to_json(self, path: None = None, *, metadata: Mapping[str, Any] | None = None) -> str: ...
    @overload
    def to_json(self, path: str | Path, *, metadata: Mapping[str, Any] | None = None) -> None: ...

    def to_json(
        self, path: str | Path | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> str | None:
        """Write the model as JSON into a file, or return the text (see `crank.load`).

        What its owner says about it, ``metadata=``, is kept by the loaded model.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> import json
        >>> json.loads(m.to_json())["kind"]
        'tree'
        """
        from crank.export.json import to_json

        return to_json(self, path, metadata=metadata)

    def schema(self) -> dict[str, Any]:
        """Describe the rows that it takes as a JSON Schema; see `crank.records.inputs`.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> list(m.schema()["properties"])
        ['x']
        """
        return input_schema(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model of this class from the text that `to_json` returned."""
        from crank.models.loading import from_json

        model = from_json(text)
        if not isinstance(model, cls):
            raise ModelFileError(
                f"it is a {type(model).__name__}, not a {cls.__name__}. Use crank.from_json."
            )
        return model

    @overload
    def to_onnx(
        self,
        path: None = None,
        *,
        form: Literal["columns", "matrix"] = "columns",
        unknown: Literal["nan", "missing", "error"] = "nan",
        outputs: Sequence[str] | Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> bytes: ...
    @overload
    def to_onnx(
        self,
        path: str | Path,
        *,
        form: Literal["columns", "matrix"] = "columns",
        unknown: Literal["nan", "missing", "error"] = "nan",
        outputs: Sequence[str] | Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None: ...

    def to_onnx(
        self,
        path: str | Path | None = None,
        *,
        form: Literal["columns", "matrix"] = "columns",
        unknown: Literal["nan", "missing", "error"] = "nan",
        outputs: Sequence[str] | Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> bytes | None:
        """Write the model as ONNX into a file, or return its content; see `crank.export.onnx`."""
        from crank.export.onnx import to_onnx

        return to_onnx(
            self,
            path,
            form=form,
            unknown=unknown,
            outputs=outputs,
            types=types,
            metadata=metadata,
        )

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        table: str | Sequence[str] | None = None,
        type: str = "score",
        lineage: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Write the model as SQL, if its kind has such a form; see `crank.export.sql`.

        With ``lineage=True`` or ``metadata=`` a comment before it says which model it is.

        Examples
        --------
        >>> import crank
        >>> train, test = crank.datasets.paper_sample()
        >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
        >>> print(m.to_sql()[:9])
        CASE WHEN
        """
        from crank.export.sql.lineage import commented

        wanted = metadata is not None if lineage is None else lineage
        text: str = reader(self.kind, "sql").to_sql(self, dialect, table=table, type=type)
        return commented(text, self, metadata or {}) if wanted else text
