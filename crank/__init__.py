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
    from crank import datasets, errors, metrics, monitor, serve, testing
    from crank.api import additive, blend, boost, distill, fit, forest, linear
    from crank.errors import CrankError
    from crank.estimators import (
        RankingAdditive,
        RankingBlend,
        RankingBooster,
        RankingForest,
        RankingLinear,
        RankingTree,
    )
    from crank.judging.comparison import compare
    from crank.models.additive import AdditiveModel
    from crank.models.base import RankingModel
    from crank.models.blend import BlendModel
    from crank.models.booster import BoosterModel
    from crank.models.forest import ForestModel
    from crank.models.linear import LinearModel
    from crank.models.loading import from_json, load
    from crank.models.tree import TreeModel
    from crank.plugins.registry import learners

__all__ = [
    "AdditiveModel",
    "BlendModel",
    "BoosterModel",
    "CrankError",
    "ForestModel",
    "LinearModel",
    "RankingAdditive",
    "RankingBlend",
    "RankingBooster",
    "RankingForest",
    "RankingLinear",
    "RankingModel",
    "RankingTree",
    "TreeModel",
    "__version__",
    "additive",
    "blend",
    "boost",
    "compare",
    "datasets",
    "distill",
    "errors",
    "fit",
    "forest",
    "from_json",
    "learners",
    "linear",
    "load",
    "metrics",
    "monitor",
    "serve",
    "testing",
]

# Loaded on first use: importing crank must stay as light as importing nothing.
_HOME = {
    "AdditiveModel": "crank.models.additive",
    "BlendModel": "crank.models.blend",
    "BoosterModel": "crank.models.booster",
    "CrankError": "crank.errors",
    "ForestModel": "crank.models.forest",
    "LinearModel": "crank.models.linear",
    "RankingAdditive": "crank.estimators",
    "RankingBlend": "crank.estimators",
    "RankingBooster": "crank.estimators",
    "RankingForest": "crank.estimators",
    "RankingLinear": "crank.estimators",
    "RankingModel": "crank.models.base",
    "RankingTree": "crank.estimators",
    "TreeModel": "crank.models.tree",
    "additive": "crank.api",
    "blend": "crank.api",
    "boost": "crank.api",
    "compare": "crank.judging.comparison",
    "distill": "crank.api",
    "fit": "crank.api",
    "forest": "crank.api",
    "from_json": "crank.models.loading",
    "learners": "crank.plugins.registry",
    "linear": "crank.api",
    "load": "crank.models.loading",
}
_MODULES = {"datasets", "errors", "metrics", "monitor", "serve", "testing"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"crank.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'crank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
