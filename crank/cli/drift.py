"""``crank drift``: whether new data are like the training data."""

from __future__ import annotations

import argparse

from crank.cli.shared import DATA, add_csv, add_json, marks

EXAMPLES = """
examples:
  crank drift m.json new.csv
  crank drift m.json new.csv --json --plot drift.svg
"""
DRIFTED = 3


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="a JSON model file")
    command.add_argument("data", metavar="DATA", help=DATA)
    command.add_argument("--alpha", type=float, default=0.01, help="level of tests (default: 0.01)")
    command.add_argument("--weights", metavar="COLUMN", help="case weights, for d_tau")
    command.add_argument("--format", choices=("text", "json"), default="text")
    add_json(command)
    command.add_argument("--plot", metavar="FILE", help="draw the indices: .png, .svg or .pdf")
    add_csv(command)


def run(arguments: argparse.Namespace) -> int:
    """Print what has changed since training."""
    import json

    from crank.cli.plot import check_beside_text, save
    from crank.datafiles import expected_columns, open_source
    from crank.design.spec import Variable
    from crank.models.loading import load
    from crank.monitor.changes import drawn, drift

    check_beside_text(arguments)
    model = load(arguments.model)
    others = [Variable(arguments.weights, "number")] if arguments.weights else []
    expected = expected_columns(*model.designs, others=others)
    reading = {
        "optional": expected_columns(others=model.response.variables),
        "delimiter": arguments.delimiter,
        "marks": marks(arguments),
    }
    with open_source(arguments.data, expected, **reading) as source:
        pieces = (piece.data for piece in source.pieces)
        found = drift(model, pieces, weights=arguments.weights, alpha=arguments.alpha)
    if arguments.plot:
        save(drawn(found), arguments.plot)
    if arguments.json or arguments.format == "json":
        print(json.dumps(found.to_dict(), allow_nan=False))
    else:
        print(found)
    return DRIFTED if found.drifted else 0
