"""Continuous ranking: learn a score that puts objects in the order of a continuous label.

>>> import crank
>>> train, test = crank.datasets.paper_sample()
>>> m = crank.fit(train.frame, "y ~ x", max_depth=3, prune=None)
>>> round(float(crank.metrics.iauc(test.y, m.predict(test.frame))), 3)
0.938
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from crank._version import __version__

if TYPE_CHECKING:
    from crank import datasets, errors, metrics, serve, testing
    from crank.api import fit
    from crank.comparison import compare
    from crank.errors import CrankError
    from crank.estimators import RankingTree
    from crank.export.json import from_json, load
    from crank.model import RankingModel
    from crank.plugins.registry import learners

__all__ = [
    "CrankError",
    "RankingModel",
    "RankingTree",
    "__version__",
    "compare",
    "datasets",
    "errors",
    "fit",
    "from_json",
    "learners",
    "load",
    "metrics",
    "serve",
    "testing",
]

# Loaded on first use: importing crank must stay as light as importing nothing.
_HOME = {
    "CrankError": "crank.errors",
    "RankingModel": "crank.model",
    "RankingTree": "crank.estimators",
    "compare": "crank.comparison",
    "fit": "crank.api",
    "from_json": "crank.export.json",
    "learners": "crank.plugins.registry",
    "load": "crank.export.json",
}
_MODULES = {"datasets", "errors", "metrics", "serve", "testing"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"crank.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'crank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
