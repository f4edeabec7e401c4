from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.strategies import DataObject
from numpy.typing import NDArray

from crank.kernels.order import dense_ranks, dominance_sums, group_sums, joint_order


def halves(score: np.ndarray) -> np.ndarray:
    """2 where the column's score is smaller than the row's, 1 where it ties, 0 elsewhere."""
    return np.asarray(2.0 * (score[None, :] < score[:, None]) + (score[None, :] == score[:, None]))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 31, 32, 33, 100, 257])
def test_dominance_sums_equal_the_double_loop(n: int) -> None:
    rng = np.random.default_rng(n)
    arrangement, values = rng.permutation(n), rng.integers(0, 9, (3, n)).astype(float)
    expected = np.zeros((3, n))
    for later in range(n):
        for earlier in range(later):
            if arrangement[earlier] < arrangement[later]:
                expected[:, arrangement[later]] += values[:, arrangement[earlier]]
    np.testing.assert_array_equal(dominance_sums(arrangement, values), expected)


def test_dominance_sums_leave_their_arguments_alone() -> None:
    arrangement, values = np.array([2, 0, 1]), np.ones((1, 3))
    dominance_sums(arrangement, values)
    assert arrangement.tolist() == [2, 0, 1]
    assert values.tolist() == [[1.0, 1.0, 1.0]]


@given(st.data())
def test_sums_over_pairs_equal_the_naive_ones_with_ties_in_both(data: DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    small = hnp.arrays(np.int64, n, elements=st.integers(0, data.draw(st.integers(0, 40))))
    y, score, weight = data.draw(small), data.draw(small), data.draw(small)
    values = np.stack((weight, np.ones(n, dtype=np.int64))).astype(float)
    order = joint_order(dense_ranks(y)[0], dense_ranks(score)[0])
    won = halves(score)
    smaller, equal = y[None, :] < y[:, None], y[None, :] == y[:, None]
    np.testing.assert_array_equal(order.below(values), values @ (won * smaller).T)
    np.testing.assert_array_equal(order.within(values), values @ (won * equal).T)
    np.testing.assert_array_equal(order.anywhere(values), values @ won.T)
    assert order.y_ties == (len(set(y)) < n)
    assert order.score_ties == (len(set(score)) < n)


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.integers(-3, 3)))
def test_dense_ranks_are_those_of_unique(values: np.ndarray) -> None:
    rank, first = dense_ranks(values)
    distinct, expected = np.unique(values, return_inverse=True)
    assert rank.tolist() == expected.tolist()
    assert values[first].tolist() == distinct.tolist()


def test_dense_ranks_tell_large_integers_apart() -> None:
    assert dense_ranks(np.array([2**60 + 1, 2**60]))[0].tolist() == [1, 0]


def test_group_sums_are_floats_even_of_no_values() -> None:
    assert group_sums(np.array([], dtype=np.int64), np.array([]), 2).tolist() == [0.0, 0.0]
    assert group_sums(np.array([1]), np.array([2**52]), 2).dtype == np.float64


@pytest.mark.compiled
@pytest.mark.parametrize("distinct", [1, 3, 40, 5000])
def test_the_compiled_sums_equal_the_sums_in_numpy(
    monkeypatch: pytest.MonkeyPatch, distinct: int
) -> None:
    rng = np.random.default_rng(distinct)
    y, s = rng.integers(0, 700, 2000), rng.integers(0, distinct, 2000)
    order = joint_order(dense_ranks(y)[0], dense_ranks(s)[0])
    values = rng.integers(0, 50, size=(2, 2000)).astype(float)
    expected = order.below(values)
    monkeypatch.setattr("crank.kernels.order.COMPILED_FROM", 1)
    np.testing.assert_array_equal(order.below(values), expected)


@pytest.mark.compiled
def test_sums_do_not_tell_whether_numba_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba  # noqa: F401

    from crank.kernels import compiled_order

    rng = np.random.default_rng(1)
    order = joint_order(dense_ranks(rng.integers(0, 90, 300))[0], dense_ranks(rng.random(300))[0])
    whole, halves = rng.integers(0, 50, size=(1, 300)).astype(float), rng.random((1, 300))
    expected = order.below(whole), order.below(halves)
    asked = []

    def sums(*arguments: Any) -> NDArray[np.float64]:
        asked.append(1)
        return sums_below(*arguments)

    sums_below = compiled_order.sums_below
    monkeypatch.setattr(compiled_order, "sums_below", sums)
    monkeypatch.setattr("crank.kernels.order.LOADED_FROM", 1)
    monkeypatch.setattr("crank.kernels.order.ROWS_IN_ALL", 1)
    np.testing.assert_array_equal(order.below(whole), expected[0])
    assert asked == [1]
    np.testing.assert_array_equal(order.below(halves), expected[1])
    assert asked == [1]  # fractions are summed in NumPy, which rounds them otherwise
