"""A signed sum in a model file."""

from __future__ import annotations

from typing import Any

from crank.design.spec import DesignSpec
from crank.errors import ModelFileError
from tests.seams.ranker import SignedSum


def write(ranker: SignedSum) -> dict[str, Any]:
    return {"signs": list(ranker.signs)}


def read(stored: dict[str, Any], design: DesignSpec) -> SignedSum:
    signs = stored.get("signs")
    if not isinstance(signs, list) or len(signs) != len(design.names) or set(signs) - {1, -1}:
        raise ModelFileError("ranker.signs are not one sign a column.")
    return SignedSum(tuple(signs))
