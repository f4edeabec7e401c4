"""What the members of a blend need of memory, roughly, and what is free."""

from __future__ import annotations

import math
from pathlib import Path

from crank.api.rows import TrainingRows
from crank.formula import learn_design

COPIES = {"booster": 10.0, "forest": 10.0, "tree": 10.0, "linear": 5.0, "additive": 5.0}
"""Matrices of the size of the design that a fit has at its peak, those of its folds included."""
FOREST_ROW = 16_000.0
"""Bytes for each row in the nodes of two forests of 200 trees: of all rows, and without a fold."""
CURVE = 9
"""Columns of a curve."""
MEMORY, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def needed(kind: str, rows: TrainingRows) -> float:
    """Bytes that a fit of a kind needs at its peak, as far as its design tells; 0 if unknown."""
    if kind not in COPIES:
        return 0.0
    dummies = kind in ("linear", "additive")
    design = learn_design(rows.parsed, rows.table, native=not dummies)
    width = len(design.names) * (CURVE if kind == "additive" else 1)
    nodes = FOREST_ROW if kind == "forest" else 0.0
    return (8.0 * COPIES[kind] * width + nodes) * rows.table.n_rows


def free() -> float:
    """Bytes that can be had: of the machine, or of the container; infinite if nobody says."""
    found = math.inf
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        found = 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        most = (GROUP / "memory.max").read_text().strip()
        if most != "max":
            found = min(found, int(most) - int((GROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return found
