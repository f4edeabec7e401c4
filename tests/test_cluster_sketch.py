"""Quantiles of numbers in partitions: exact counts, whatever the partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crank.cluster.content import row_keys
from crank.cluster.prepared import Prepared, dealt, occurrences
from crank.cluster.sketch import (
    Numbers,
    Refinement,
    count_numbers,
    count_refined,
    cut,
    keys_of,
    refine_all,
    typical,
    values_of,
)
from crank.cluster.units import Units
from crank.kernels.compiled_rows import bin_ends


def counted(parts: Sequence[NDArray[np.float64]], most: int) -> Numbers:
    total = count_numbers(parts[0], most)
    for part in parts[1:]:
        total = total + count_numbers(part, most)

    def count(wanted: Sequence[Refinement | None]) -> list[NDArray[np.int64]]:
        (one,) = wanted
        assert one is not None
        return [np.sum([count_refined(part, one) for part in parts], axis=0)]

    return refine_all([total], [most], count)[0]


SAMPLES = {
    "normal": np.random.default_rng(0).normal(size=5000),
    "tiny": np.random.default_rng(1).exponential(size=5000) * 1e-300,
    "close together": 1e6 + 1e-3 * np.random.default_rng(2).normal(size=5000),
    "one heavy value": np.r_[np.zeros(4000), np.random.default_rng(3).normal(size=1000), np.nan],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_cuts_are_even_and_do_not_depend_on_partitions(name: str) -> None:
    x, rng = SAMPLES[name], np.random.default_rng(4)
    whole = counted([x], 100)
    mixed = counted(np.array_split(rng.permutation(x), 7), 100)
    assert cut(whole, 100).edges.tolist() == cut(mixed, 100).edges.tolist()
    parts = cut(whole, 100)
    known = x[~np.isnan(x)]
    sizes = np.bincount(parts.of(known), minlength=len(parts.value))
    heavy = np.unique(known, return_counts=True)[1].max()
    assert sizes.max() <= max(1.6 * len(known) / 100, heavy + len(known) / 100)
    assert (np.diff(parts.value) > 0).all()
    spread = typical(whole, 1000)
    assert spread[0] == known.min()
    assert spread[-1] == known.max()
    for q in (0.1, 0.5, 0.9):
        rank = (known <= np.quantile(spread, q) + 1e-12 * np.ptp(known)).mean()
        assert rank >= q - 0.01


def test_few_values_are_kept_as_they_are() -> None:
    x = np.array([3.0, -0.0, 0.0, 3.0, np.nan, -2.0])
    found = counted([x[:2], x[2:], np.empty(0)], 3)
    assert found.missing == 1
    assert cut(found, 3).value.tolist() == [-2.0, 0.0, 3.0]
    assert typical(found, 100).tolist() == [-2.0, 0.0, 0.0, 3.0, 3.0]
    assert counted([x], 2).values is None
    assert typical(counted([np.array([np.nan])], 3), 10).size == 0
    assert sorted(set(typical(counted([np.repeat([1.0, 2.0], [999, 1])], 3), 10))) == [1.0, 2.0]


@given(st.lists(st.floats(allow_nan=False), min_size=2))
@settings(max_examples=50)
def test_keys_keep_the_order(values: list[float]) -> None:
    x = np.array(values)
    keys = keys_of(x)
    assert ((keys[:-1] < keys[1:]) == (x[:-1] < x[1:])).all()
    np.testing.assert_array_equal(values_of(keys), x)


@pytest.mark.parametrize(
    ("weights", "multiples"), [([0.25, 0.5, 1.75], True), ([0.3, 1e-9, 2.0], False)]
)
def test_weights_become_whole_numbers(weights: list[float], multiples: bool) -> None:
    w = np.array(weights)
    units = Units.of((w.min(), w.max()), multiples, 1000)
    whole = units.whole(w)
    assert whole is not None
    assert (whole == np.rint(whole)).all()
    assert whole.max() == units.heaviest
    assert units.heaviest * 1000 <= 2.0**52
    np.testing.assert_allclose(whole * units.scale * units.unit, w, rtol=1e-3, atol=1e-9)


def test_rows_of_one_content_are_numbered_over_partitions() -> None:
    none = np.empty((0, 9), dtype=np.uint8)

    def part(keys: list[int]) -> Prepared:
        level = np.zeros(len(keys), dtype=np.uint16)
        empty = np.empty((0, 256))
        key = np.array(keys, dtype=np.uint64)
        return Prepared(none, none.astype(np.int32), level, None, empty, empty, key)

    heavy = np.array([5, 9], dtype=np.uint64)
    one, two = part([5, 5, 9, 1]), part([9, 5, 5, 5, 5])
    assert occurrences(two, heavy).tolist() == [4, 1]
    first = dealt(one, np.array([0, 0]), heavy, 3, (1,)).fold
    second = dealt(two, occurrences(one, heavy), heavy, 3, (1,)).fold
    assert first is not None
    assert second is not None
    of_five = [*first[0, :2], *second[0, 1:]]
    assert np.bincount(of_five, minlength=3).tolist() == [2, 2, 2]


def test_compiled_hashes_of_rows_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y, X = rng.normal(size=3000), np.asfortranarray(rng.normal(size=(3000, 4)).round(1))
    X[::7, 1], X[::5, 2], X[::9, 3] = np.nan, -0.0, -np.nan
    compiled = row_keys(y, X, y**2)
    monkeypatch.setattr("crank.cluster.content.numba_works", lambda: False)
    np.testing.assert_array_equal(row_keys(y, X, y**2), compiled)
    X[::5, 2] = 0.0
    np.testing.assert_array_equal(row_keys(y, X, y**2), compiled)
    assert len(np.unique(compiled)) == 3000


def test_ends_of_bins() -> None:
    rng = np.random.default_rng(1)
    values, bins = rng.normal(size=(2, 500)), rng.integers(0, 9, (2, 500)).astype(np.uint8)
    low, high = np.full((2, 256), np.inf), np.full((2, 256), -np.inf)
    bin_ends(bins, values, np.array([1]), low, high)
    for b in range(9):
        assert low[1, b] == values[1, bins[1] == b].min()
        assert high[1, b] == values[1, bins[1] == b].max()
    assert np.isinf(low[0]).all()
