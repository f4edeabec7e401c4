"""``crank export``: a model for another program."""

from __future__ import annotations

import argparse

from crank.errors import OptionError

EXAMPLES = """
examples:
  crank export m.json --onnx m.onnx
  crank export m.json --sql score.sql --dialect postgres --table patients
"""
DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "spark")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")
    form = command.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--onnx", metavar="OUT", help="an ONNX graph that takes the raw columns; - for stdout"
    )
    form.add_argument("--sql", metavar="OUT", help="a SQL expression; - for stdout")
    command.add_argument("--dialect", choices=DIALECTS, help="of SQL (default: duckdb)")
    command.add_argument("--table", help="of SQL: write a whole query on this table")
    command.add_argument("--unknown", choices=("nan", "error"), help="of ONNX (default: nan)")


def run(arguments: argparse.Namespace) -> None:
    """Write a model as ONNX or SQL."""
    from crank.datafiles import check_target
    from crank.files import write_bytes, write_text
    from crank.models.loading import load

    check_target(arguments.onnx or arguments.sql)
    for_sql = {"--dialect": arguments.dialect, "--table": arguments.table}
    wrong = for_sql if arguments.onnx else {"--unknown": arguments.unknown}
    for option, value in wrong.items():
        if value is not None:
            other = "--sql" if arguments.onnx else "--onnx"
            raise OptionError(f"{option} belongs to {other}. Leave it out.")
    model = load(arguments.model)
    if arguments.onnx:
        write_bytes(arguments.onnx, model.to_onnx(unknown=arguments.unknown or "nan") or b"")
        return
    text = model.to_sql(arguments.dialect or "duckdb", table=arguments.table, lineage=True) + "\n"
    write_text(arguments.sql, text)
