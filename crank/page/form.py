"""The what-if form: what a page asks for, and how it tells where a score stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.frames.profile import ColumnProfile
from crank.rankers.linear import LinearRanker
from crank.records.base import DesignedRecord, ModelRecord
from crank.records.inputs import NOTES, input_schema

MOST_EDGES = 256
"""Bins of scores."""


def form_fields(model: ModelRecord) -> list[dict[str, Any]]:
    """Describe the fields of the form: kind, levels or range, and a value to begin with.

    Examples
    --------
    >>> import crank
    >>> data = {"y": [1.0, 2.0, 3.0], "x": [0.5, 1.0, 2.0], "g": ["a", "b", "a"]}
    >>> m = crank.fit(data, "y ~ x + g", min_samples_leaf=1, prune=None)
    >>> [(field["name"], field["start"]) for field in form_fields(m)]
    [('x', 1.0), ('g', 'a')]
    """
    known, profiles = input_schema(model)["properties"], model.training.columns or {}
    return [
        _field(name, about["type"], about[NOTES], profiles.get(name))
        for name, about in known.items()
    ]


def _field(
    name: str, types: Any, notes: dict[str, Any], profile: ColumnProfile | None
) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "kind": notes["kind"], "optional": "null" in types}
    if "levels" in notes:
        levels = notes["levels"]
        field |= {"kind": "category", "levels": levels, "start": _commonest(levels, profile)}
    elif notes["kind"] == "boolean":
        field["start"] = False
    elif "minimum" in notes:
        edges = () if profile is None else profile.edges
        middle = edges[len(edges) // 2] if edges else notes["minimum"]
        field |= {"low": notes["minimum"], "high": notes["maximum"], "start": middle}
    return field


def _commonest(levels: list[Any], profile: ColumnProfile | None) -> Any:
    if profile is None or not profile.levels:
        return levels[0]
    counts = dict(zip(profile.levels, profile.counts, strict=False))
    return max(levels, key=lambda level: counts.get(level, 0))


def standing(
    model: ModelRecord, scores: NDArray[np.float64] | None = None
) -> dict[str, Any] | None:
    """Describe the spread of training scores: up to each edge, the share of rows in its bin.

    In a bin that is ``exact`` all rows have the score of its edge. A model that does not know its
    training scores, such as a forest of an older file, is described by the scores of the page's
    data, if any.
    """
    found: dict[str, Any] = {"n": model.training.n, "among": "training rows", "exact": False}
    profile = model.score_profile
    if isinstance(model, DesignedRecord) and isinstance(model.ranker, LinearRanker):
        edges, share = _binned(model.ranker.reference, model.ranker.share)
    elif profile is not None and profile.highest is not None:
        edges = np.array([*profile.edges, profile.highest])
        counts = np.array(profile.counts[: len(edges)], dtype=np.float64)
        share, found["exact"] = counts / counts.sum(), model.kind == "tree"
    elif scores is not None:
        found |= {"n": len(scores), "among": "rows of the data"}
        at = np.linspace(0, len(scores) - 1, min(len(scores), MOST_EDGES)).astype(np.intp)
        size = np.diff(at, prepend=-1) / len(scores)
        edges, share = _binned(np.sort(scores)[at], size)
    else:
        return None
    return found | {"upto": edges.tolist(), "share": share.tolist()}


def _binned(
    edges: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up the shares of equal edges."""
    distinct, at = np.unique(edges, return_inverse=True)
    return distinct, np.bincount(at, share).astype(np.float64)
