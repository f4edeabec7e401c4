"""Ranks against naive counts, with ties and weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank import ranks
from crank.kernels.compiled_sort import sorted_values, stable_order
from crank.ranks import Ranks, rank

tied = st.lists(st.integers(-3, 3), min_size=1, max_size=25)


def naive_pairs(y: np.ndarray, w: np.ndarray) -> float:
    return float(sum(w[i] * w[k] for i in range(len(y)) for k in range(len(y)) if y[i] < y[k]))


def naive_triples(y: np.ndarray, w: np.ndarray) -> float:
    n = range(len(y))
    return float(sum(w[i] * w[j] * w[k] for i in n for j in n for k in n if y[i] < y[j] < y[k]))


@given(tied, st.integers(0, 2**32 - 1))
def test_ranks_agree_with_naive_counts(values: list[int], seed: int) -> None:
    y = np.array(values, dtype=float)
    w = np.random.default_rng(seed).integers(1, 5, len(y)).astype(float)
    for weight in (None, w):
        r = rank(y, weight)
        mass = np.ones(len(y)) if weight is None else weight / r.unit
        assert (np.diff(r.y) >= 0).all()
        assert (y[r.row] == r.y).all()
        assert (mass[r.row] == r.weight).all()
        assert r.below.tolist() == [mass[y < v].sum() for v in r.y]
        assert r.upto.tolist() == [mass[y <= v].sum() for v in r.y]
        assert r.pairs == naive_pairs(y, mass)
        assert r.triples == naive_triples(y, mass)
        assert r.tied == (len(set(values)) < len(values))
        assert r.unweighted == (weight is None or len(set(weight)) == 1)


@given(tied)
def test_ties_keep_the_order_of_rows(values: list[int]) -> None:
    y = np.array(values, dtype=float)
    assert rank(y).row.tolist() == np.argsort(y, kind="stable").tolist()


def test_zeros_of_either_sign_are_tied() -> None:
    r = rank(np.array([0.0, -0.0, 0.0, -1.0]))
    assert r.row.tolist() == [3, 0, 1, 2]
    assert r.group.tolist() == [0, 1, 1, 1]


def test_many_ties_sort_like_a_stable_sort() -> None:
    y = np.random.default_rng(0).integers(0, 9, 5000).astype(float)
    assert (rank(y).row == np.argsort(y, kind="stable")).all()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_the_compiled_sort_is_a_stable_sort(values: list[float]) -> None:
    y = np.array(values)
    assert stable_order(y).tolist() == np.argsort(y, kind="stable").tolist()
    wide = np.tile(y, 7) * np.repeat(np.array([1.0, -1.0, 1e-300, 0.0, 1.0, 0.5, -0.0]), len(y))
    assert stable_order(wide).tolist() == np.argsort(wide, kind="stable").tolist()


def test_large_samples_are_ranked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    for y in (rng.normal(size=3000), rng.integers(-5, 5, 3000) * 0.5, -np.zeros(3000)):
        plain = rank(y)
        monkeypatch.setattr(ranks, "RADIX_FROM", 0)
        monkeypatch.setattr(ranks, "RADIX_IN_ALL", 0)
        compiled = rank(y)
        monkeypatch.undo()
        for name in Ranks.__dataclass_fields__:
            assert np.array_equal(getattr(plain, name), getattr(compiled, name)), name


@pytest.mark.parametrize("weighted", [False, True])
def test_a_subset_ranks_like_its_own_rows(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 20, 60).astype(float)
    w = rng.uniform(0.5, 2, 60) if weighted else None
    keep = rng.random(60) < 0.6
    whole = rank(y, w)
    part = whole.subset(keep[whole.row])
    rows = np.flatnonzero(keep)
    alone = rank(y[keep], None if w is None else w[keep])
    assert (part.row == rows[alone.row]).all()
    for name in Ranks.__dataclass_fields__:
        if name != "row":
            assert np.allclose(getattr(part, name), getattr(alone, name), rtol=1e-12)


def test_quantiles_lie_inside_the_unit_interval() -> None:
    r = rank(np.array([1.0, 2.0, 2.0, 5.0]))
    assert r.quantile.tolist() == [0.125, 0.5, 0.5, 0.875]


@given(st.lists(st.floats(allow_nan=False), max_size=60))
def test_compiled_values_are_sorted_as_by_numpy(values: list[float]) -> None:
    x = np.array(values, dtype=np.float64)
    kept = x.copy()
    assert np.array_equal(sorted_values(x), np.sort(x))
    assert np.array_equal(x, kept)
    many = np.outer([1.0, -1.0, 1e-300, 0.0, -0.0], x[np.isfinite(x)]).ravel()
    assert np.array_equal(sorted_values(many), np.sort(many))
