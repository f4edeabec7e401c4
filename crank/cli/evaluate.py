"""``crank evaluate``: a model on data that it has not seen."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_json, add_reading, marks

EXAMPLES = """
examples:
  crank evaluate m.json test.csv
  crank evaluate m.json test.parquet --weights w --json
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument("--weights", metavar="COLUMN", help="case weights")
    command.add_argument("--format", choices=("text", "csv", "json"), default="text")
    add_json(command)
    add_reading(command)


def run(arguments: argparse.Namespace) -> None:
    """Print a model's figures on a data file, which is read in pieces."""
    from crank.datafiles import expected_columns, open_source
    from crank.design.spec import Variable
    from crank.judging.evaluate import evaluate_pieces
    from crank.models.loading import load
    from crank.scoring import scored_pieces

    model = load(arguments.model)
    weights, unknown = arguments.weights, arguments.unknown or "error"
    others = [*model.response.variables, *([Variable(weights, "number")] if weights else [])]
    expected = expected_columns(*model.designs, others=others)
    reading = {"delimiter": arguments.delimiter, "marks": marks(arguments)}
    with open_source(arguments.data, expected, **reading) as source:
        pieces = scored_pieces(
            source.pieces, lambda t: model.values(t, unknown=unknown), arguments.data
        )
        table = evaluate_pieces(model, pieces, weights=weights)
    if arguments.format == "csv":
        print(table.to_csv(), end="")
    elif arguments.json or arguments.format == "json":
        print(table.reset_index().to_json(orient="records", double_precision=15))
    else:
        print(table.to_string(float_format="{:.4f}".format))
