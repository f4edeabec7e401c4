"""The exact kernel's parts: sorting from layer to layer, whole-number sums, which cut wins."""

from typing import Any

import numpy as np
import pytest

from crank.kernels import exact
from crank.kernels.categories import CategoryColumn
from crank.kernels.cuts import ScoredLayer, between, first_best
from crank.kernels.exact import NumericColumns
from crank.kernels.stumps import ExactStumps, best_columns
from tests.narrowing import present


def layer_of(position: Any, sizes: Any, score: Any, turn: Any = 0, **more: Any) -> Any:
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    options = {"weight": None, "objective": "sum", "min_leaf": 1, "n_from_left": turn} | more
    return ScoredLayer(
        np.asarray(position, dtype=np.int32), bounds, score=np.asarray(score), **options
    )


def test_columns_stay_sorted_within_the_nodes_of_every_layer() -> None:
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 30, (4, 100)).astype(float)
    columns[rng.random(columns.shape) < 0.1] = np.nan
    data = NumericColumns(columns)
    nodes = [np.arange(100)]
    for _ in range(5):
        halves = [rng.random(len(node)) < 0.5 for node in nodes]
        left = [node[half] for node, half in zip(nodes, halves, strict=True)]
        right = [node[~half] for node, half in zip(nodes, halves, strict=True)]
        kept = [rng.random() < 0.9 for _ in range(2 * len(nodes))]
        born = [n for n, keep in zip(left + right, kept, strict=True) if keep and len(n)]
        if not born:
            break
        n_left = sum(len(n) for n, keep in zip(left, kept, strict=False) if keep)
        sizes = [len(n) for n in born]
        layer = layer_of(np.concatenate(born), sizes, np.zeros(sum(sizes)), n_left)
        data.descend(layer)
        for j in range(4):
            for k, node in enumerate(born):
                here = slice(layer.bounds[k], layer.bounds[k + 1])
                assert sorted(data.order[j, here]) == sorted(node)
                assert np.array_equal(
                    data.value[j, here], np.sort(columns[j, node]), equal_nan=True
                )
        nodes = born


@pytest.mark.parametrize("top", [7.0, np.inf])
def test_missing_values_are_sorted_last(top: float) -> None:
    column = np.array([np.nan, top, 3.0, np.nan, -np.inf, top, np.nan])
    value = NumericColumns(np.vstack([column, np.arange(7.0)])).value
    assert np.array_equal(value[0], [-np.inf, 3.0, top, top] + [np.nan] * 3, equal_nan=True)
    assert value[1].tolist() == list(range(7))


@pytest.mark.parametrize("min_leaf", [1, 4])
def test_whole_numbers_and_fractions_find_the_same_cuts(min_leaf: int) -> None:
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 20, (5, 90)).astype(float)
    columns[2:, :][rng.random((3, 90)) < 0.2] = np.nan
    score = rng.integers(-5, 6, 90).astype(float)
    found = []
    for scale in (1.0, 0.3):
        kernel = ExactStumps(columns, (0,) * 5)
        root = layer_of(np.arange(90), [90], scale * score, min_leaf=min_leaf)
        kernel.search(root)
        position = np.concatenate((np.arange(0, 90, 3), np.arange(1, 90, 3)))
        below = layer_of(position, [30, 30], scale * score[position], 30, min_leaf=min_leaf)
        found.append(kernel.search(below))
    assert exact._whole(layer_of([0, 1], [2], [1.0, -2.0])).dtype == np.int64
    assert exact._whole(layer_of([0, 1], [2], [0.5, -2.0])).dtype == np.float64
    assert exact._whole(layer_of([0, 1], [2], [2.0**61, 1.0])).dtype == np.float64
    assert found[0].column.tolist() == found[1].column.tolist()
    assert found[0].cut == found[1].cut
    assert (found[0].left == found[1].left).all()


def test_the_rounding_of_a_large_node_does_not_reach_a_small_one() -> None:
    # scores of the first node are 1e16 times those of the second, which has one best cut
    score = np.concatenate((np.array([1.5e16, -1.5e16, 1.1e16, -1.1e16]), [-1.1, -1.2, 1.2, 1.1]))
    layer = layer_of(np.arange(8), [4, 4], score)
    kernel = ExactStumps(np.arange(8.0)[None, :], (0,))
    present(kernel.numbers).order = np.arange(8)[None, :]
    found = kernel.search(layer)
    assert (present(found.cut[1]).low, present(found.cut[1]).high) == (5.0, 6.0)


def test_gains_that_rounding_parts_are_tied() -> None:
    assert first_best(np.array([0.0, 5.0 - 1e-13, 5.0]), 1e-12) == 1
    assert first_best(np.array([0.0, 5.0 - 1e-11, 5.0]), 1e-12) == 2
    layer = layer_of(np.arange(4), [4], [1.0, 1.0, -1.0, -1.0])
    gain = np.array([[3.0], [4.0 - 1e-13], [4.0]])
    assert best_columns(gain, layer).tolist() == [1]
    assert best_columns(np.zeros((3, 1)), layer).tolist() == [-1]


@pytest.mark.parametrize("low_is_left", [True, False])
def test_thresholds_keep_neighbours_apart(low_is_left: bool) -> None:
    rng = np.random.default_rng(2)
    lows = np.concatenate((rng.normal(size=200), [0.0, -0.0, 5e-324, -1e308, 1.0, -1.0]))
    for low in lows.tolist():
        for high in (np.nextafter(low, np.inf), low + 1e-3, low + abs(low), 1.7e308, np.inf):
            if high > low:
                t = between(low, float(high), low_is_left)
                assert np.isfinite(t)
                assert (low < t <= high) if low_is_left else (low <= t < high)


def test_subsets_of_equal_mean_keep_the_order_of_their_codes() -> None:
    code = np.array([2, 2, 0, 0, 1, 1, 3, 3])
    score = np.array([0.1, 0.2, 0.2, 0.1, 0.15, 0.15, -0.45, -0.45])
    layer = layer_of(np.arange(8), [8], score, min_leaf=4)
    search = CategoryColumn(code, 4).search(layer)
    assert search.order[0].tolist()[:4] == [0, 1, 2, 3]
    left = np.zeros(8, dtype=bool)
    cut = search.cut(0, left)
    assert cut.levels == ((0, 1), (2, 3))
    assert left.tolist() == [False, False, True, True, True, True, False, False]
