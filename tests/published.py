"""Plugins as pip would leave them in site-packages, written by tests."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

GOOD = """
from crank.plugins.logistic import Logistic

class Mine(Logistic):
    description = "mine"
"""


def publish(
    folder: Path,
    distribution: str,
    name: str,
    source: str,
    version: str = "1.0",
    attribute: str = "Mine",
    group: str = "crank.learners",
) -> None:
    """Write a distribution with one entry point into a folder that is on sys.path."""
    module = distribution.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    for old in folder.glob(f"{module}-*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    points = f"[{group}]\n{name} = {module}:{attribute}\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    importlib.invalidate_caches()  # they see what is new by its time, which moves in steps
