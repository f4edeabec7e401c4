"""Score the rows of a DuckDB query by a function of its own: any model, not only those in SQL.

python score.py m.onnx stones.csv
"""

from __future__ import annotations

import sys
from typing import Any

import duckdb
import pyarrow as pa

from crank.serve import Scorer

TYPES = {"tensor(string)": "VARCHAR", "tensor(double)": "DOUBLE"}


def register(connection: duckdb.DuckDBPyConnection, model: str, name: str = "crank_score") -> str:
    """Make a model a function of the database; return how a query calls it.

    DuckDB hands rows over as an Arrow array of structs, some thousands at a time. NULL is passed
    on, since a model knows what to do with a missing value.
    """
    scorer = Scorer(model)
    inputs = {given.name: TYPES.get(given.type, "DOUBLE") for given in scorer.session.get_inputs()}

    def score(rows: Any) -> Any:
        return pa.array(scorer(pa.Table.from_struct_array(rows)))

    connection.create_function(
        name, score, [duckdb.struct_type(inputs)], "DOUBLE", type="arrow", null_handling="special"
    )
    fields = (f"{quoted(column, SINGLE)}: {quoted(column, DOUBLE)}" for column in inputs)
    return f"{name}({{{', '.join(fields)}}})"


SINGLE, DOUBLE = "'", '"'


def quoted(name: str, quote: str) -> str:
    """Put a name between quotes."""
    return quote + name.replace(quote, 2 * quote) + quote


def main(model: str, data: str) -> None:
    """Print the rows of a CSV file with their scores, the best first."""
    with duckdb.connect() as connection:
        call = register(connection, model)
        connection.read_csv(data).create_view("rows")
        print(connection.sql(f"SELECT {call} AS score, * FROM rows ORDER BY score DESC"))


if __name__ == "__main__":
    main(*sys.argv[1:])
