"""Plugins' rules in a graph, run before a file is written: they must decide as they do in Python.

A wrong translation would score wrongly in production for ever, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crank.blame import blamed, broken, is_foreign, read_only
from crank.design.probes import probe_rows
from crank.design.spec import DesignSpec
from crank.errors import CrankError, NotExportableError
from crank.export.onnx.design import MatrixColumns
from crank.graphs.graph import Element, Graph
from crank.graphs.runtime import session
from crank.growing.rule import Split

TOLERANCE = 1e-9
"""Difference of decision values, against the largest of them, that counts as rounding."""

REMEDY = (
    "Compute in double what decision computes; NaN of a row that decision takes is a value too."
)


def prove(splits: Sequence[tuple[str, Split]], design: DesignSpec, *, missing: bool) -> None:
    """Raise `PluginError` unless plugins' rules give the same decision values in a graph.

    Parameters
    ----------
    splits : sequence of (str, Split)
        Each with the node that it splits, for messages.
    design : DesignSpec
    missing : bool
        Whether rows may have missing values.
    """
    counts = [0 if names is None else len(names) for names in design.levels]
    X = read_only(probe_rows(counts, missing=missing))
    for where, split in splits:
        kind = type(split.rule)
        if is_foreign(kind):
            problem = parity_problem(split, design, X, where)
            if problem is not None:
                raise broken(kind, f"lies in ONNX at {where}: {problem}", REMEDY)


def parity_problem(
    split: Split, design: DesignSpec, X: NDArray[np.float64], where: str = ""
) -> str | None:
    """Say how a rule's decision values in a graph differ from those in Python; None if not."""
    rule, kind = split.rule, type(split.rule)
    right = ~split.goes_left(X, where=where)
    wanted = rule.decision(X)
    graph = Graph(reserved=["X", "value"])
    graph.attach(MatrixColumns(graph, design, "X"))
    with blamed(kind, "to_onnx", where):
        name = rule.to_onnx(graph, graph.columns(range(len(design.names))))
        if not isinstance(name, str):
            return f"to_onnx gave {name!r}, not the name of a tensor."
        graph.op("Identity", name, out="value")
    graph.output("value", Element.DOUBLE)
    try:
        given = session(graph.serialise({}, "")).run(None, {"X": X})[0]
    except NotExportableError:
        raise
    except CrankError as error:
        return f"the graph cannot be opened ({_short(error)})"
    except Exception as error:  # checker and runtime raise classes of their own
        return f"the graph is not valid ({_short(error)})"
    return _difference(np.asarray(given), np.asarray(wanted, dtype=np.float64), right)


def _difference(
    given: NDArray[np.float64], wanted: NDArray[np.float64], right: NDArray[np.bool_]
) -> str | None:
    n = len(wanted)
    if given.dtype != np.float64 or given.shape != (n, 1):
        return f"it gave {given.dtype} of shape {given.shape} for {n} rows, not double [N, 1]."
    value = given[:, 0]
    value = np.where(np.isnan(value) & right, wanted, value)  # NaN goes right, as they do
    lost = int(np.count_nonzero(np.isnan(value)))
    if lost:
        return f"{lost} of {n} values are NaN and go right; in Python these rows go left."
    scale = np.abs(wanted).max(initial=0.0)
    off = np.flatnonzero(np.abs(value - wanted) > TOLERANCE * scale)
    if len(off):
        k = off[0]
        return f"{len(off)} of {n} values differ, for instance {value[k]:.9g} for {wanted[k]:.9g}."
    return None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
