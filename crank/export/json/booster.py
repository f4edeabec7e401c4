"""The booster of a model file: its trees as a table of nodes, and how it was made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crank.design.spec import DesignSpec
from crank.errors import ModelFileError
from crank.export.json.nodes import read_nodes, write_nodes
from crank.export.json.schema import check_schema, ranker_schema
from crank.export.json.settings import read_setting, stored_setting
from crank.export.json.text import number, read_number
from crank.rankers.booster import EXACT, BoosterOptions, BoosterRanker, Rounds

OPTIONS = ("loss", "rounds", "max_rounds", "patience", "trees", "metric", "cv", "random_state")


def write(ranker: BoosterRanker) -> dict[str, Any]:
    """Return a booster as plain data."""
    options, found = ranker.options, ranker.validation
    return {
        **{name: getattr(options, name) for name in OPTIONS},
        "kappa": None if math.isinf(options.kappa) else float(options.kappa),
        "params": {name: stored_setting(value) for name, value in options.params.items()},
        "monotone": dict(options.monotone or {}),
        "interaction": options.interaction,
        "quantum": ranker.quantum,
        "gain": ranker.gain.tolist(),
        "validation": None
        if found is None
        else {
            "rounds": found.rounds.tolist(),
            "heldout": [[number(x) for x in row] for row in found.heldout.tolist()],
        },
        "nodes": write_nodes(ranker.nodes),
        **({} if ranker.cover is None else {"cover": ranker.cover.tolist()}),
    }


def read(stored: dict[str, Any], design: DesignSpec) -> BoosterRanker:
    """Build a booster from plain data, every value checked."""
    check_schema(stored, ranker_schema("booster"), where="ranker")
    levels = [0 if names is None else len(names) for names in design.levels]
    nodes = read_nodes(stored["nodes"], levels, whole=True)
    if np.abs(nodes.value).max() > EXACT:
        raise ModelFileError(f"ranker.nodes.value goes beyond ±{EXACT}.")
    if len(stored["gain"]) != len(design.names):
        raise ModelFileError(
            f"ranker.gain has {len(stored['gain'])} entries; the design has {len(design.names)} "
            "columns."
        )
    cover = stored.get("cover")
    if cover is not None and len(cover) != len(nodes.column):
        raise ModelFileError(
            f"ranker.cover has {len(cover)} entries; there are {len(nodes.column)} nodes."
        )
    if math.frexp(stored["quantum"])[0] != 0.5:
        raise ModelFileError(f"ranker.quantum is {stored['quantum']!r}, not a power of two.")
    return BoosterRanker(
        options=BoosterOptions(
            **{name: stored[name] for name in OPTIONS},
            kappa=math.inf if stored["kappa"] is None else float(stored["kappa"]),
            params={name: read_setting(value) for name, value in stored["params"].items()},
            monotone=stored["monotone"] or None,
            interaction=stored["interaction"],
        ),
        nodes=nodes,
        quantum=float(stored["quantum"]),
        gain=np.array(stored["gain"], dtype=np.float64),
        validation=_validation(stored["validation"]),
        cover=None if cover is None else np.array(cover, dtype=np.int64),
    )


def _validation(stored: dict[str, Any] | None) -> Rounds | None:
    if stored is None:
        return None
    rounds, heldout = stored["rounds"], stored["heldout"]
    if any(len(row) != len(rounds) for row in heldout):
        raise ModelFileError("ranker.validation.heldout has rows of other lengths than its rounds.")
    table = [[read_number(x) for x in row] for row in heldout]
    return Rounds(np.array(rounds, dtype=np.intp), np.array(table, dtype=np.float64))
