from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crank.metrics as metrics
from crank.errors import CrankError, DataError
from crank.metrics.sample import LARGEST_TOTAL, read_sample, whole_weights

Y, S = [3, 1, 4, 2, 5], [1, 2, 4, 3, 5]


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        np.array,
        lambda v: np.array(v, dtype=np.float32),
        lambda v: np.array(v, dtype=np.float16),
        lambda v: np.array(v, dtype=np.uint8),
        lambda v: np.array(v, dtype=object),
        lambda v: np.array(v)[::-1][::-1],
        pd.Series,
        lambda v: pd.Series(v, index=[9, 8, 7, 6, 5]),
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.Series(v, dtype="Float32"),
        pl.Series,
    ],
)
def test_every_kind_of_column_gives_the_same_numbers(
    convert: Callable[..., Any] | type[list[Any]],
) -> None:
    for name in ("kendall", "iauc"):
        metric = getattr(metrics, name)
        assert metric(convert(Y), convert(S)) == metric(Y, S)
        assert metric(convert(Y), convert(S), weights=convert([1, 2, 1, 2, 1])) == metric(
            Y, S, weights=[1, 2, 1, 2, 1]
        )


def test_booleans_are_numbers() -> None:
    assert metrics.kendall([True, False, True], [0.2, 0.1, 0.9]) == 1.0


def test_integers_beyond_float_precision_do_not_tie() -> None:
    assert metrics.kendall([2**60, 2**60 + 1], [1, 2]) == 1.0


@pytest.mark.parametrize(
    ("y", "s", "weights", "words"),
    [
        ([1, 2], [1, 2, 3], None, ["y and s", "2 and 3"]),
        ([], [], None, ["y is empty"]),
        ([[1], [2]], [1, 2], None, ["y", "shape (2, 1)", "one column"]),
        (pd.DataFrame({"a": [1, 2]}), [1, 2], None, ["y", "shape (2, 1)"]),
        (3.0, [1], None, ["y", "shape ()"]),
        ([1, np.nan, 3], [1, 2, 3], None, ["y must be finite", "position 1", "nan"]),
        ([1, 2, 3], [1, 2, np.inf], None, ["s must be finite", "position 2", "inf"]),
        ([1, None, 3], [1, 2, 3], None, ["y must be finite", "position 1"]),
        (pl.Series([1, None, 3]), [1, 2, 3], None, ["y must be finite", "position 1"]),
        (pd.Series([1, None, 3], dtype="Int64"), [1, 2, 3], None, ["y must", "missing"]),
        (np.ma.masked_array([1, 2, 3], [False, True, False]), [1, 2, 3], None, ["y", "masked"]),
        (["a", "b", "c"], [1, 2, 3], None, ["y must hold numbers"]),
        (pd.Series(["1", "2", "3"], dtype=object), [1, 2, 3], None, ["y", "text"]),
        ([1, 2, 3], np.array([1j, 2j, 3j]), None, ["s must hold numbers", "complex"]),
        (pd.date_range("2020", periods=3), [1, 2, 3], None, ["y", "datetime64", "int64"]),
        ([1, 2, 3], [1, 2, 3], [1, 2], ["weights", "2 for 3 rows"]),
        ([1, 2, 3], [1, 2, 3], [1, -2, 3], ["weights", "negative", "position 1", "-2"]),
        ([1, 2, 3], [1, 2, 3], [1, np.nan, 3], ["weights must be finite", "position 1"]),
        ([1, 2, 3], [1, 2, 3], [0, 0, 0], ["weights are all zero"]),
        ([1, 1, 1], [1, 2, 3], None, ["distinct", "got 1 in 3 rows"]),
        ([1, 2, 2], [1, 2, 3], [0, 1, 1], ["distinct", "got 1 in 2 rows"]),
    ],
)
def test_bad_input_says_what_was_got(
    y: list[int], s: list[int], weights: None, words: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        metrics.kendall(y, s, weights=weights)
    assert isinstance(caught.value, CrankError)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        metrics.iauc,
        metrics.auc_profile,
        metrics.iroc_curve,
        metrics.concordance,
        metrics.influence,
        metrics.profile_band,
        metrics.iroc_band,
    ],
)
def test_a_binary_y_has_no_threshold_and_the_message_knows_what_to_use(
    call: Callable[..., Any],
) -> None:
    with pytest.raises(DataError, match=r"got 2 .* at least 3 .*kendall"):
        call([0, 1, 1], [1, 2, 3])


def test_compare_names_the_score_that_is_wrong() -> None:
    with pytest.raises(DataError, match="s2 must be finite"):
        metrics.compare([1, 2, 3], [1, 2, 3], [1, 2, np.nan])


def test_rows_of_weight_zero_are_as_if_absent() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.normal(size=30), rng.normal(size=30), rng.integers(0, 2, 30)
    for call in (metrics.kendall, metrics.iauc, metrics.concordance):
        assert call(y, s, weights=w) == call(y[w > 0], s[w > 0])
    full, part = metrics.influence(y, s, weights=w), metrics.influence(y[w > 0], s[w > 0])
    assert full[w > 0].tolist() == part.tolist()
    assert not full[w == 0].any()
    curve = metrics.iroc_curve(y, s, weights=w)
    assert curve.iroc.tolist() == metrics.iroc_curve(y[w > 0], s[w > 0]).iroc.tolist()


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=20).filter(any))
def test_whole_weights_are_whole_positive_and_proportional(weights: list[float]) -> None:
    given = np.array(weights)
    whole = whole_weights(given, len(given))
    assert np.array_equal(whole, np.rint(whole))
    assert np.array_equal(whole > 0, given > 0)
    assert whole.sum() <= LARGEST_TOTAL + len(given)
    share, expected = whole / whole.sum(), given / given.max() / (given / given.max()).sum()
    np.testing.assert_allclose(share, expected, rtol=0, atol=len(given) * 2.0**-48)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([2, 3], [2, 3]),
        ([0.1, 0.1, 0.0], [1, 1, 0]),
        ([0.25, 0.5], [1, 2]),
        ([1e-300, 3e-300], [1, 3]),
    ],
)
def test_weights_that_are_multiples_keep_exact_proportions(
    weights: list[int], expected: list[int]
) -> None:
    assert whole_weights(weights, len(weights)).tolist() == expected


def test_the_order_of_rows_does_not_matter_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    y, s, w = rng.normal(size=200).round(1), rng.normal(size=200).round(1), rng.random(200)
    p = rng.permutation(200)
    a = read_sample(y, s, w, distinct=2, purpose="kendall")
    b = read_sample(y[p], s[p], w[p], distinct=2, purpose="kendall")
    assert a.won_below[p].tolist() == b.won_below.tolist()
    assert a.won_above[p].tolist() == b.won_above.tolist()
    assert a.below.tolist() == b.below.tolist()
