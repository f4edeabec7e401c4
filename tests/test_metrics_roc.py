import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crank.metrics.roc as roc
from crank.errors import OptionError
from crank.kernels.compiler import numba_works
from crank.metrics import iauc, iroc_curve
from crank.metrics.profile import Weighting

small = st.integers(0, 6)
rows = st.lists(st.tuples(small, small, st.integers(0, 4)), min_size=3, max_size=25)
WEIGHTINGS = ["triple", "uniform"]


def samples() -> Iterator[tuple[Any, ...]]:
    """Small samples with and without ties in y, in s, and with every kind of weight."""
    rng = np.random.default_rng(0)
    for digits_y in (0, 1, 9):
        for digits_s in (0, 1, 9):
            for w in (None, rng.integers(0, 4, 60), rng.random(60), np.full(60, 0.1)):
                s = rng.normal(size=60)
                yield (s + rng.normal(size=60)).round(digits_y), s.round(digits_s), w


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_area_through_all_vertices_is_the_matching_iauc(weighting: Weighting) -> None:
    for y, s, w in samples():
        curve = iroc_curve(y, s, weighting=weighting, weights=w)
        expected = iauc(y, s, weighting=weighting, weights=w)
        assert curve.grid is None
        assert curve.weighting == weighting
        assert curve.iauc == expected
        assert curve.area == pytest.approx(expected, abs=1e-13)


def test_area_is_exact_at_the_largest_size_that_takes_all_vertices() -> None:
    rng = np.random.default_rng(1)
    s = rng.normal(size=1000)
    for y, w in ((s + rng.normal(size=1000), None), (s - rng.random(1000), rng.random(1000))):
        for score in (s, s.round(1)):
            curve = iroc_curve(y, score, weighting="uniform", weights=w)
            assert curve.grid is None
            assert curve.area == pytest.approx(curve.iauc, abs=1e-12)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("grid", [None, 1, 10, 33])
def test_curves_start_at_0_end_at_1_and_never_fall(weighting: Weighting, grid: int | None) -> None:
    for y, s, w in samples():
        curve = iroc_curve(y, s, weighting=weighting, grid=grid, weights=w)
        assert (curve.alpha[0], curve.iroc[0]) == (0.0, 0.0)
        assert (curve.alpha[-1], curve.iroc[-1]) == (1.0, 1.0)
        assert (np.diff(curve.alpha) >= 0).all()
        assert (np.diff(curve.iroc) >= 0).all()


@given(rows, st.sampled_from(WEIGHTINGS), st.sampled_from([None, 7]))
def test_increasing_transforms_change_no_bit(
    data: list[tuple[int, int, int]], weighting: Weighting, grid: int | None
) -> None:
    y, s, w = map(np.array, zip(*data, strict=True))
    if len(set(y[w > 0])) < 3:
        return
    options: dict[str, Any] = {"weighting": weighting, "grid": grid, "weights": w}
    curve = iroc_curve(y, s, **options)
    moved = iroc_curve(np.exp(y / 2.0), s**3 - 9.0, **options)
    assert moved.alpha.tolist() == curve.alpha.tolist()
    assert moved.iroc.tolist() == curve.iroc.tolist()
    assert moved.iauc == curve.iauc


def test_reversing_y_and_s_reflects_the_curve_in_the_antidiagonal() -> None:
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    curve = iroc_curve(y, s, weighting="uniform")
    mirrored = iroc_curve(-y, -s, weighting="uniform")
    assert mirrored.area == pytest.approx(curve.area, abs=1e-13)


@pytest.mark.parametrize("grid", [None, 20])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_perfect_score_climbs_at_once_and_is_concave(
    weighting: Weighting, grid: int | None
) -> None:
    y = np.random.default_rng(3).normal(size=50)
    curve = iroc_curve(y, y, weighting=weighting, grid=grid)
    assert curve.area == pytest.approx(1.0, abs=1e-15)
    assert curve.iroc[1:].tolist() == [1.0] * (len(curve.iroc) - 1)


def test_a_constant_score_is_the_diagonal() -> None:
    curve = iroc_curve(np.arange(30), np.zeros(30), grid=10)
    np.testing.assert_allclose(curve.iroc, curve.alpha, atol=1e-15)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_grid_lies_on_the_exact_curve_and_its_area_converges(weighting: Weighting) -> None:
    rng = np.random.default_rng(4)
    s = rng.normal(size=200)
    y = s + rng.normal(size=200)
    exact = iroc_curve(y, s, weighting=weighting)
    errors = []
    for m in (10, 100, 1000):
        curve = iroc_curve(y, s, weighting=weighting, grid=m)
        assert curve.alpha.tolist() == [0.0, *(np.arange(m + 1) / m)]
        # the exact curve at each step: the last of the points with the same α, or a flat part
        at = np.searchsorted(exact.alpha, curve.alpha[1:], side="right") - 1
        np.testing.assert_allclose(curve.iroc[1:], exact.iroc[at], atol=1e-12)
        errors.append(abs(curve.area - curve.iauc))
    assert errors[2] < 1e-4
    assert errors[2] < errors[0]


def test_equal_weights_of_any_size_change_no_bit() -> None:
    rng = np.random.default_rng(5)
    y, s = rng.normal(size=80), rng.normal(size=80).round(1)
    plain = iroc_curve(y, s, grid=16)
    for weight in (0.1, 1 / 3, 1e-9, 1e9):
        weighted = iroc_curve(y, s, grid=16, weights=np.full(80, weight))
        assert weighted.iroc.tolist() == plain.iroc.tolist()


def test_large_data_gets_a_grid_by_default_and_few_scores_keep_all_vertices() -> None:
    rng = np.random.default_rng(6)
    s = rng.normal(size=3000)
    y = s + rng.normal(size=3000)
    assert iroc_curve(y, s).grid == roc.DEFAULT_GRID
    leaves = iroc_curve(y, s.round(0), weighting="uniform")
    assert leaves.grid is None
    assert leaves.area == pytest.approx(leaves.iauc, abs=1e-12)


def test_the_compiled_kernel_serves_large_work_with_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    s = rng.normal(size=400)
    y, w = s + rng.normal(size=400), rng.random(400)
    plain = iroc_curve(y, s, grid=50, weights=w)
    monkeypatch.setattr(roc, "COMPILED_WORK", 1)
    np.testing.assert_allclose(
        iroc_curve(y, s, grid=50, weights=w).iroc, plain.iroc, rtol=0, atol=1e-13
    )


def test_without_numba_numpy_serves_any_size_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roc, "COMPILED_WORK", 1)
    monkeypatch.delitem(sys.modules, "crank.kernels.compiled_roc", raising=False)
    monkeypatch.delattr("crank.kernels.compiled_roc", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    numba_works.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="numba cannot be used") as caught:
            first = iroc_curve([1, 2, 3, 4], [1, 3, 2, 4], grid=4)
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = iroc_curve([1, 2, 3, 4], [1, 3, 2, 4], grid=4)
        assert first.iroc.tolist() == again.iroc.tolist()
    finally:
        numba_works.cache_clear()


def test_small_data_loads_neither_numba_nor_other_heavy_packages() -> None:
    code = (
        "import sys, numpy as np, crank.metrics as m\n"
        "y = np.arange(2000.0); s = np.sin(y)\n"
        "m.kendall(y, s); m.iauc(y, s); m.auc_profile(y, s); m.iroc_curve(y, s, grid=200)\n"
        "m.concordance(y, s); m.compare(y, s, -s); m.profile_band(y, s); m.get_scorer('iauc')\n"
        "heavy = ['numba', 'scipy', 'pandas', 'sklearn', 'matplotlib']\n"
        "print(*[name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("grid", [0, -1, 2.5, "10", True])
def test_a_grid_must_be_a_positive_whole_number(grid: Any) -> None:
    with pytest.raises(OptionError, match=r"^grid=.* Allowed: an integer from 1 up\. Try grid=200"):
        iroc_curve([1, 2, 3], [1, 2, 3], grid=grid)


def test_numpy_integers_are_whole_numbers() -> None:
    four: Any = np.int32(4)
    assert iroc_curve([1, 2, 3], [1, 2, 3], grid=four).grid == 4


def test_curve_as_a_frame() -> None:
    frame = iroc_curve([1, 2, 3], [1, 2, 3], grid=2).to_frame()
    assert frame.columns.tolist() == ["alpha", "iroc"]
    assert len(frame) == 4
