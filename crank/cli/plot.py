"""``crank plot``: a picture of a model."""

from __future__ import annotations

import argparse
from io import BytesIO
from os.path import splitext
from typing import TYPE_CHECKING, Any

from crank.cli.shared import DATA, add_models, loaded_models, model_rows
from crank.errors import OptionError, listed, require
from crank.files import is_stream, write_bytes

if TYPE_CHECKING:
    from crank.models.base import RankingModel

EXAMPLES = """
examples:
  crank plot m.json --kind tree -o tree.svg
  crank plot m.json --kind iroc --data test.csv -o iroc.png
  crank plot tree.json linear.json --kind iroc --data test.csv -o both.pdf
  crank plot m.json --kind score --feature bmi --data test.csv -o bmi.svg
"""
ENDINGS = (".svg", ".png", ".pdf")
NEEDS_DATA = ("iroc", "profile", "leaves", "calibration", "score")
KINDS = ("tree", "pruning", "importance", *NEEDS_DATA, "effects", "path", "rounds")
VERBS = {"tree": "plot", "rounds": "plot_rounds"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("--kind", choices=KINDS, required=True, help="what to draw")
    command.add_argument("--data", metavar="DATA", help=f"rows with y: {DATA}")
    command.add_argument("--feature", metavar="COLUMN", help="of --kind score: the column to move")
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help=f"by its ending: {', '.join(ENDINGS)}; - for SVG on standard output",
    )
    add_models(command, "+")


def run(arguments: argparse.Namespace) -> None:
    """Draw one picture."""
    from crank.datafiles import check_target

    kind = arguments.kind
    _check(arguments)
    check_target(arguments.output)
    require("matplotlib", "plot")
    models = loaded_models(arguments.models)
    model = next(iter(models.values()))
    verb = getattr(model, VERBS.get(kind, f"plot_{kind}"), None)
    if verb is None:
        raise OptionError(
            f"--kind {kind} is not for a {model.kind}. Allowed: {', '.join(_able(model))}."
        )
    given: list[Any] = []
    options: dict[str, Any] = {}
    if arguments.data:
        data = model_rows(models.values(), arguments)
        given = [arguments.feature, data] if kind == "score" else [data]
        options["unknown"] = arguments.unknown or "error"
        if arguments.weights and kind in ("iroc", "profile"):
            options["weights"] = arguments.weights
    if kind == "iroc":
        from crank.report.plots import plot_iroc

        drawn = plot_iroc(models if len(models) > 1 else model, *given, **options)
    else:
        drawn = verb(*given, **options)
    save(drawn, arguments.output)


def _check(arguments: argparse.Namespace) -> None:
    kind = arguments.kind
    picture_format("-o", arguments.output)
    if kind in NEEDS_DATA and not arguments.data:
        raise OptionError(f"--kind {kind} draws rows: give them with --data.")
    if kind not in NEEDS_DATA and arguments.data:
        raise OptionError(f"--kind {kind} draws the model alone. Leave --data out.")
    if (kind == "score") != bool(arguments.feature):
        raise OptionError("--feature and --kind score belong together: give both or neither.")
    if kind != "iroc" and len(arguments.models) > 1:
        raise OptionError(f"--kind {kind} draws one model; got {len(arguments.models)}.")


def _able(model: RankingModel) -> list[str]:
    return [kind for kind in KINDS if hasattr(model, VERBS.get(kind, f"plot_{kind}"))]


def picture_format(option: str, path: str) -> str:
    """Tell by its ending what a picture becomes; in a pipe, which has none, it is SVG."""
    ending = splitext(path)[1].lower()
    if path == "-" or (not ending and is_stream(path)):
        return "svg"
    if ending not in ENDINGS:
        raise OptionError(f"{option} {path!r} is not allowed. Allowed endings: {listed(ENDINGS)}.")
    return ending.removeprefix(".")


def check_beside_text(arguments: argparse.Namespace) -> None:
    """Check --plot of a command whose text goes to standard output."""
    from crank.datafiles import check_target

    if arguments.plot == "-":
        raise OptionError("--plot '-' is not allowed: the text goes to standard output.")
    if arguments.plot is not None:
        picture_format("--plot", arguments.plot)
        check_target(arguments.plot)
        require("matplotlib", "plot")


def save(drawn: Any, path: str) -> None:
    """Write a picture, axes or a whole figure, in one step."""
    page, buffer = getattr(drawn, "figure", drawn), BytesIO()
    page.savefig(buffer, format=picture_format("-o", path), dpi=150)
    write_bytes(path, buffer.getvalue())
