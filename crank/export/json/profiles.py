"""What training saw of raw columns, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crank.errors import ModelFileError
from crank.frames.profile import ColumnProfile, check_counts


def stored_profile(profile: ColumnProfile) -> dict[str, Any]:
    """Write a profile as plain data."""
    return {
        "kind": profile.kind,
        "n": profile.n,
        "missing": profile.missing,
        "lowest": profile.lowest,
        "highest": profile.highest,
        "edges": list(profile.edges),
        "levels": list(profile.levels),
        "counts": list(profile.counts),
    }


def read_profile(stored: Mapping[str, Any]) -> ColumnProfile:
    """Read back what `stored_profile` wrote."""
    profile = ColumnProfile(
        kind=stored["kind"],
        n=stored["n"],
        missing=stored["missing"],
        lowest=_float(stored["lowest"]),
        highest=_float(stored["highest"]),
        edges=tuple(map(float, stored["edges"])),
        levels=tuple(stored["levels"]),
        counts=tuple(stored["counts"]),
    )
    for wrong in check_counts(profile):
        raise ModelFileError(f"a profile of a training column contradicts itself: {wrong}.")
    return profile


def read_profiles(stored: Mapping[str, Any] | None) -> dict[str, ColumnProfile] | None:
    """Read the profiles of all columns; None if an older file has none."""
    return None if stored is None else {name: read_profile(p) for name, p in stored.items()}


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
