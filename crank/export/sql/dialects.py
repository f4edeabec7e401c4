"""What differs between databases: names, texts, numbers, casts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crank.errors import DataError, OptionError
from crank.frames.columns import LARGEST_WHOLE, Kind, LevelValue
from crank.texts import HALF, is_broken

MOST_DIGITS = 15
"""A decimal of so many digits is read exactly by every database; SQLite may round longer ones."""


@dataclass(frozen=True)
class Dialect:
    """What differs between databases.

    Attributes
    ----------
    double, literal : str
        How a value becomes a double, and how a number is written as one.
    nan : str or None
        NaN, where the database has it.
    quote : str
        Around names.
    """

    double: str
    literal: str
    nan: str | None
    quote: str = '"'

    def name(self, text: str) -> str:
        """Quote an identifier."""
        return self.quote + _writable(text).replace(self.quote, self.quote * 2) + self.quote

    def text(self, value: str) -> str:
        """Quote a text."""
        return "'" + _writable(value).replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Write a double so that the database reads the same double."""
        return self.literal.format(repr(value))

    def absent(self, x: str) -> list[str]:
        """Return tests, one of which holds where a double is missing."""
        return [f"{x} IS NULL", *([f"{x} = {self.nan}"] if self.nan else [])]

    def not_nan(self, x: str) -> list[str]:
        """Return tests that hold where a double is not NaN; none where there is no NaN."""
        return [f"{x} <> {self.nan}"] if self.nan else []

    def nan_as_null(self, x: str) -> str:
        """Write a double with NULL in place of NaN."""
        return f"NULLIF({x}, {self.nan})" if self.nan else x

    def whole(self, x: str, found: str) -> str:
        """Write what floor or ceil has found of a double as a double."""
        return found

    def as_double(self, name: str, kind: Kind) -> str:
        """Read a column as the double that Python compares."""
        quoted = self.name(name)
        return self.double.format(f"{quoted}::int" if kind == "boolean" else quoted)


class DuckDB(Dialect):
    """DuckDB: a number without an exponent is a decimal, which rounds when it becomes a double."""

    def number(self, value: float) -> str:
        """Write the number with an exponent."""
        written = repr(value)
        return written if "e" in written else f"{written}e0"


class SQLite(Dialect):
    """SQLite: no NaN, no truth values, and long decimals may be read one unit off."""

    def number(self, value: float) -> str:
        """Write a short decimal as it is, any other number as a fraction of whole numbers."""
        digits = f"{value:.{MOST_DIGITS}g}"
        if float(digits) == value and (value == 0.0 or 1e-5 < abs(value) < 1e15):
            return digits if any(c in digits for c in ".e") else f"{digits}.0"
        numerator, denominator = value.as_integer_ratio()
        twos = (numerator & -numerator).bit_length() - 1
        written = self.double.format(numerator >> twos)
        for sign, power in (("*", twos), ("/", denominator.bit_length() - 1)):
            for step in [62] * (power // 62) + [power % 62] * (power % 62 > 0):
                written += f" {sign} {self.double.format(2**step)}"
        return f"({written})"

    def as_double(self, name: str, kind: Kind) -> str:
        """Read a column as a double."""
        return self.double.format(self.name(name))


class Escaped(Dialect):
    """Databases in whose texts a backslash is an escape."""

    def text(self, value: str) -> str:
        """Quote a text."""
        return "'" + _writable(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


class Spark(Escaped):
    """Spark SQL: NaN equals itself and is the largest number, as in PostgreSQL."""

    def whole(self, x: str, found: str) -> str:
        """Make a double of a whole number of 64 bits, whose products wrap beyond 2^63."""
        limit = self.number(float(LARGEST_WHOLE))  # from where on doubles are whole
        return f"IF(abs({x}) < {limit}, {self.double.format(found)}, {x})"

    def absent(self, x: str) -> list[str]:
        """Ask for NaN by its function, which Spark plans in half of the time."""
        return [f"{x} IS NULL", f"isnan({x})"]

    def not_nan(self, x: str) -> list[str]:
        """Exclude NaN by its function."""
        return [f"NOT isnan({x})"]

    def as_double(self, name: str, kind: Kind) -> str:
        """Read a column as a double; of a truth value that is 1 or 0."""
        return self.double.format(self.name(name))


class BigQuery(Escaped):
    """BigQuery: NaN equals nothing, itself included."""

    def name(self, text: str) -> str:
        """Quote an identifier, in which a backslash is an escape too."""
        return "`" + _writable(text).replace("\\", "\\\\").replace("`", "\\`") + "`"

    def as_double(self, name: str, kind: Kind) -> str:
        """Read a column as a double; truth values become whole numbers first."""
        quoted = self.name(name)
        return self.double.format(f"CAST({quoted} AS INT64)" if kind == "boolean" else quoted)

    def absent(self, x: str) -> list[str]:
        """Ask for NaN by its function."""
        return [f"{x} IS NULL", f"IS_NAN({x})"]

    def not_nan(self, x: str) -> list[str]:
        """Say it though NaN exceeds nothing: the query then means the same everywhere."""
        return [f"NOT IS_NAN({x})"]

    def nan_as_null(self, x: str) -> str:
        """Write a double with NULL in place of NaN."""
        return f"IF(IS_NAN({x}), NULL, {x})"


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": DuckDB("{}::DOUBLE", "{}", "'NaN'::DOUBLE"),
    "postgres": Dialect("{}::float8", "{}::float8", "'NaN'::float8"),
    # in SQLite a double-quoted name that is no column silently becomes a text
    "sqlite": SQLite("CAST({} AS REAL)", "{}", None, "`"),
    "bigquery": BigQuery("CAST({} AS FLOAT64)", "{}", None, "`"),
    # a number in the text of a query is a decimal there, of limited digits
    "snowflake": Escaped("{}::DOUBLE", "'{}'::DOUBLE", "'NaN'::DOUBLE"),
    "spark": Spark("CAST({} AS DOUBLE)", "{}D", "CAST('NaN' AS DOUBLE)", "`"),
}


def selected(
    expression: str, dialect: Dialect, table: str | Sequence[str] | None, name: str
) -> str:
    """Return an expression, or with a table the query that adds it to the table's columns."""
    if table is None:
        return expression
    parts = [table] if isinstance(table, str) else list(table)
    if not parts or not all(parts):
        raise OptionError(f"table is {table!r}. Allowed: a name, or the parts of a qualified name.")
    source = ".".join(dialect.name(part) for part in parts)
    return f"SELECT *, {expression} AS {dialect.name(name)}\nFROM {source}"


def is_large(level: LevelValue) -> bool:
    """Say whether a double may stand for this level and for others."""
    return not isinstance(level, str) and abs(level) >= LARGEST_WHOLE


def _writable(text: str) -> str:
    if "\0" in text:
        raise DataError(
            f"{text!r} cannot be written in SQL: it holds a NUL character. Rename it in the data."
        )
    if is_broken(text):
        raise DataError(f"{text!a} cannot be written in SQL: it holds {HALF}.")
    return text
