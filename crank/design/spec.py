"""The design: which columns of numbers a formula makes of raw columns, stored as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from crank.design.expressions import Function
from crank.design.factors import Codes, Cross, Factor, NaturalSpline, Ordered, Poly, Powers
from crank.design.operations import Floats
from crank.design.reader import Reader
from crank.errors import DataError
from crank.frames.columns import Kind
from crank.frames.table import Table

_UNBOUNDED = Powers | Poly | NaturalSpline  # may be too large for a float where x is not
MOST_COLUMNS = 100_000  # of a dense matrix; more is a slip, such as a column of identifiers


class Variable(NamedTuple):
    """A raw column that a design reads, and what it held at fit."""

    name: str
    kind: Kind


class Block(NamedTuple):
    """Neighbouring columns of one formula term: the products of its factors' columns.

    The first factor's columns vary fastest. ``factors`` are positions in `DesignSpec.factors`.
    """

    term: str
    factors: tuple[int, ...]
    scale: float = 1.0


@dataclass(frozen=True)
class DesignSpec:
    """Everything needed to rebuild a design matrix from raw columns, and no data.

    Examples
    --------
    >>> from crank.formula import learn_design, parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [1.0, 2.0, 4.0], "g": ["a", "b", "a"]})
    >>> spec = learn_design(parse_formula("y ~ log2(x) + g", table.names), table, native=False)
    >>> spec.names
    ('log2(x)', 'g[T.b]')
    >>> spec.matrix({"x": [8.0], "g": ["b"]})
    array([[3., 1.]])
    >>> DesignSpec.from_dict(spec.to_dict()) == spec
    True
    """

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]
    blocks: tuple[Block, ...]
    functions: Mapping[str, Function] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name the columns, as formulaic does."""
        return tuple(label for block in self.blocks for label in self._labels(block))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Give for each column the formula term that it belongs to."""
        return tuple(block.term for block in self.blocks for _ in range(self.width(block)))

    @cached_property
    def levels(self) -> tuple[tuple[str, ...] | None, ...]:
        """Give for each column its level names if it holds category codes, else None.

        The codes of an ordered factor are numbers to learners, so it has None here.
        """
        return tuple(
            None if ordered else names
            for ordered, names in zip(self._ordered, self.level_names, strict=True)
        )

    @cached_property
    def level_names(self) -> tuple[tuple[str, ...] | None, ...]:
        """Give for each column its level names, those of ordered factors included, else None."""
        found: list[tuple[str, ...] | None] = []
        for block in self.blocks:
            factor = self.factors[block.factors[0]]
            names = factor.level_names if isinstance(factor, Codes | Cross) else None
            found += [names] * self.width(block)
        return tuple(found)

    @cached_property
    def _ordered(self) -> tuple[bool, ...]:
        firsts = (self.factors[block.factors[0]] for block in self.blocks)
        return tuple(
            isinstance(factor, Ordered)
            for factor, block in zip(firsts, self.blocks, strict=True)
            for _ in range(self.width(block))
        )

    @property
    def local_names(self) -> tuple[str, ...]:
        """List the user's functions that the design calls; with any, it cannot be saved."""
        return tuple(self.functions)

    def _parts(self, block: Block) -> list[Factor]:
        return [self.factors[i] for i in block.factors]

    def width(self, block: Block) -> int:
        """Count the columns of a block."""
        return prod(len(part.labels) for part in self._parts(block))

    def _labels(self, block: Block) -> list[str]:
        reversed_labels = [part.labels for part in reversed(self._parts(block))]
        return [":".join(reversed(labels)) for labels in product(*reversed_labels)]

    def matrix(self, table: Any, *, unknown: str = "error") -> Floats:
        """Build the design matrix of a table's rows.

        Parameters
        ----------
        table : Table, data frame or dict of columns
            Must hold the columns of `variables`; others are not looked at.
        unknown : {"error", "missing"}
            What a category's value is that was not there at fit.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            float64 in Fortran order; NaN is missing; category codes count from 0.
        """
        table = Table.read(table)
        for variable in self.variables:
            table.require(variable.name)
        reader = Reader(table, self.functions, unknown)
        out = np.empty((table.n_rows, len(self.names)), order="F")
        start = 0
        for block in self.blocks:
            width = self.width(block)
            _fill(self._parts(block), block, reader, out[:, start : start + width])
            start += width
        return out

    def to_dict(self) -> dict[str, Any]:
        """Write the design as JSON types; floats come back bit for bit."""
        from crank.design.stored import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, data: Any) -> DesignSpec:
        """Read a design from JSON types, checking every field; no code in it is run."""
        from crank.design.stored import from_dict

        return from_dict(data)


def _fill(parts: list[Factor], block: Block, reader: Reader, out: Floats) -> None:
    if len(parts) == 1 and block.scale == 1 and not isinstance(parts[0], _UNBOUNDED):
        parts[0].fill(reader, out)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        _multiply(parts, reader, out)
        out *= block.scale
    if np.isinf(out).any():
        raise DataError(
            f"the term {block.term!r} is too large for a floating point number in some rows. "
            f"Divide its columns by a large number."
        )


def _multiply(parts: list[Factor], reader: Reader, out: Floats) -> None:
    """Fill ``out`` with all products of the parts' columns, the first part's fastest."""
    parts[0].fill(reader, out[:, : len(parts[0].labels)])
    if len(parts) == 1:
        return
    filled = [out[:, : len(parts[0].labels)].copy(order="F")]
    for part in parts[1:]:
        filled.append(np.empty((reader.n_rows, len(part.labels)), order="F"))
        part.fill(reader, filled[-1])
    widths = [range(columns.shape[1]) for columns in reversed(filled)]
    for k, chosen in enumerate(product(*widths)):
        columns = [part[:, i] for part, i in zip(filled, reversed(chosen), strict=True)]
        out[:, k] = columns[0]
        for column in columns[1:]:
            out[:, k] *= column
