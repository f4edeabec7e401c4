"""One descent: plain Python, NumPy and the compiled kernel agree with a naive walk, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank.kernels import compiler, descent
from crank.kernels.descent import GOES_LOW, GOES_MISSING, NodeTable

COLUMNS = 4


def random_trees(
    n_trees: Any = 7, depth: int = 5, seed: int = 0, levels: Any = 0, votes: Any = False
) -> NodeTable:
    """Random trees whose leaves lie at different depths; column 0 may hold that many levels."""
    rng = np.random.default_rng(seed)
    nodes: list[Any] = []
    branches: dict[int, list[int]] = {}
    roots: list[int] = []
    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append(None)
        waiting = [(roots[-1], 0)]
        for at, level in waiting:  # the list grows while it is read
            if level == depth or rng.random() < 0.2:
                nodes[at] = (0, 0.0, at, at, False, rng.integers(9) if votes else rng.normal())
                continue
            born = len(nodes)
            nodes += [None, None]
            waiting += [(born, level + 1), (born + 1, level + 1)]
            read, to_low = int(rng.integers(COLUMNS)), bool(rng.integers(2))
            nodes[at] = (read, round(rng.normal(), 1), born, born + 1, to_low, 0)
            if levels and read == 0:
                branches[at] = rng.integers(0, 3, rng.integers(1, levels + 1)).tolist()
    level_start = np.cumsum([0, *(len(branches.get(at, ())) for at in range(len(nodes)))])
    column, threshold, low, high, missing_low, value = map(np.array, zip(*nodes, strict=True))
    return NodeTable(
        column,
        threshold,
        low,
        high,
        missing_low,
        value,
        roots=np.array(roots),
        level_start=level_start if branches else np.array([]),
        level_branch=np.array([branch for codes in branches.values() for branch in codes]),
    )


def sample(n: Any = 200, seed: int = 0, levels: Any = 0, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS)).round(1)  # thresholds are as round: many are met exactly
    if levels:
        X[:, 0] = rng.integers(-2, levels + 3, n) + rng.choice([0.0, 0.5], n, p=[0.9, 0.1])
    odd = rng.random(X.shape) < 0.15
    X[odd] = rng.choice([np.nan, np.inf, -np.inf, -0.0], odd.sum())
    return X.astype(dtype)


def leaf(nodes: NodeTable, at: int, x: Any) -> int:
    """Walk down recursively."""
    if nodes.low[at] == at:
        return at
    value, missing_low = float(x[nodes.column[at]]), nodes.missing_low[at]
    start = [*nodes.level_start[at : at + 2], 0, 0]
    codes = nodes.level_branch[start[0] : start[1]].tolist()
    if codes:
        branch = {float(code): at for code, at in enumerate(codes)}.get(value, GOES_MISSING)
        goes_low = missing_low if branch == GOES_MISSING else branch == GOES_LOW
    else:
        goes_low = missing_low if np.isnan(value) else value <= nodes.threshold[at]
    return leaf(nodes, int(nodes.low[at] if goes_low else nodes.high[at]), x)


def naive_sum(nodes: NodeTable, x: Any) -> Any:
    total = nodes.value.dtype.type(0)
    for root in nodes.roots:
        total += nodes.value[leaf(nodes, int(root), x)]
    return total


def layouts(X: np.ndarray) -> Any:
    strided = np.zeros((2 * len(X), 2 * COLUMNS), dtype=X.dtype)[::2, ::2]
    strided[:] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    return X, np.asfortranarray(X), strided, frozen


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [0, 5])
@pytest.mark.parametrize("seed", range(3))
def test_every_descent_finds_the_leaves_of_a_naive_walk(seed: int, levels: int, dtype: Any) -> None:
    nodes, X = random_trees(seed=seed, levels=levels), sample(seed=seed, levels=levels, dtype=dtype)
    wanted = [[leaf(nodes, int(root), x) for x in X] for root in nodes.roots]
    all_trees = [at for tree in wanted for at in tree]
    own = np.arange(len(nodes.column), dtype=float)
    for rows in layouts(X):
        assert nodes._one_by_one(rows, 7) == all_trees
        assert nodes._in_step(rows, np.arange(200), 7).tolist() == all_trees
        assert nodes._compiled(rows, None, own, 1).tolist() == wanted[0]
        assert nodes.route(rows).tolist() == wanted[0]
        assert nodes.route(rows[:9]).tolist() == wanted[0][:9]


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [0, 5])
@pytest.mark.parametrize("votes", [False, True])
def test_sums_add_in_the_order_of_the_trees_bit_for_bit(
    votes: bool, levels: int, dtype: Any
) -> None:
    nodes = random_trees(levels=levels, votes=votes)
    X = sample(levels=levels, dtype=dtype)
    wanted = np.array([naive_sum(nodes, x) for x in X])
    rows = np.arange(200)[::-3]
    for layout in layouts(X):
        for found in (nodes.sum(layout), nodes._compiled(layout, None, nodes.value, 7)):
            assert found.dtype == nodes.value.dtype == (np.int64 if votes else np.float64)
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(nodes._compiled(layout, rows, nodes.value, 7), wanted[rows])
        np.testing.assert_array_equal(nodes.sum(layout, rows), wanted[rows])
    np.testing.assert_array_equal([nodes.sum(x[None])[0] for x in X], wanted)
    few = [nodes.sum(X, row)[0] for row in rows[:9, None]]
    np.testing.assert_array_equal(few, wanted[rows[:9]])


def test_whole_numbers_beyond_doubles_are_summed_exactly() -> None:
    nodes = random_trees(3, votes=True)
    nodes = replace(nodes, value=nodes.value + 2**60)
    X = sample()
    wanted = [sum(int(nodes.value[leaf(nodes, int(r), x)]) for r in nodes.roots) for x in X]
    assert nodes.sum(X).tolist() == wanted
    assert nodes._compiled(X, None, nodes.value, 3).tolist() == wanted


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 5), st.integers(0, 60))
def test_any_trees_and_any_number_of_rows(seed: int, depth: int, n_trees: int, n: int) -> None:
    nodes = random_trees(n_trees, depth, seed, levels=seed % 4)
    X = sample(n, seed, levels=seed % 4)
    assert nodes.route(X).tolist() == [leaf(nodes, int(nodes.roots[0]), x) for x in X]
    assert nodes.sum(X).tolist() == [naive_sum(nodes, x) for x in X]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, X = random_trees(), sample()
    wanted = nodes.sum(X)
    monkeypatch.setattr(descent, "BLOCK_WALKS", 50)
    np.testing.assert_array_equal(nodes.sum(X), wanted)
    monkeypatch.setattr(descent, "BLOCK_WALKS", 1)
    np.testing.assert_array_equal(nodes.sum(X), wanted)


def test_wide_rows_are_not_read_as_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, X = random_trees(2), sample(3)
    wide = np.column_stack([X, np.zeros((3, 5000))])
    wanted = nodes.route(X).tolist(), nodes.sum(X).tolist()
    monkeypatch.setattr(NodeTable, "_one_by_one", None)
    assert (nodes.route(wide).tolist(), nodes.sum(wide).tolist()) == wanted


def test_large_batches_take_the_compiled_way_and_small_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes, X = random_trees(), sample(100)
    wanted, leaves = nodes.sum(X), nodes.route(X)
    asked: list[str] = []

    def works() -> bool:
        asked.append("compiled")
        return True

    monkeypatch.setattr(descent, "numba_works", works)
    np.testing.assert_array_equal(nodes.sum(X), wanted)
    np.testing.assert_array_equal(nodes.route(X), leaves)
    assert not asked
    for size in ("MANY_ROWS", "MANY_STEPS", "MANY_STEPS_LOADED", "MANY_STEPS_IN_ALL"):
        monkeypatch.setattr(descent, size, 100)
    np.testing.assert_array_equal(nodes.sum(X), wanted)
    np.testing.assert_array_equal(nodes.route(X), leaves)
    assert len(asked) == 2
    np.testing.assert_array_equal(nodes.route(X, nodes.value), nodes.value[leaves])
    assert nodes.route(X, leaves).dtype == leaves.dtype
    asked.clear()
    np.testing.assert_array_equal(nodes.sum(X[:10]), wanted[:10])  # fewer than go side by side
    nodes.sum(X.astype(np.float16))
    assert not asked


@pytest.mark.parametrize("stored", [False, True])
def test_the_kernel_is_compiled_once_numpy_has_done_as_much_work(
    monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    nodes, X = random_trees(1), sample(100)
    leaves = nodes.route(X)
    asked: list[str] = []
    monkeypatch.setattr(descent, "MANY_ROWS", 100)
    monkeypatch.setattr(descent, "MANY_STEPS_LOADED", 100)
    monkeypatch.setattr(descent, "MANY_STEPS_IN_ALL", 2 * 100 * int(nodes.depths[0]))
    monkeypatch.setattr(compiler, "_work", {})
    monkeypatch.setattr(compiler, "is_stored", lambda name: stored)

    def works() -> bool:
        asked.append("compiled")
        return False

    monkeypatch.setattr(descent, "numba_works", works)
    for _ in range(3):
        np.testing.assert_array_equal(nodes.route(X), leaves)
    assert len(asked) == (3 if stored else 2)


def test_without_numba_numpy_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, X = random_trees(), sample(100)
    wanted, leaves = nodes.sum(X), nodes.route(X)
    for size in ("MANY_ROWS", "MANY_STEPS", "MANY_STEPS_LOADED", "MANY_STEPS_IN_ALL"):
        monkeypatch.setattr(descent, size, 100)
    monkeypatch.setattr(descent, "numba_works", lambda: False)
    np.testing.assert_array_equal(nodes.sum(X), wanted)
    np.testing.assert_array_equal(nodes.route(X), leaves)


def test_joined_trees_sum_as_they_did_alone() -> None:
    tables = [random_trees(n, seed=n, votes=True) for n in (1, 4, 2)]
    X = sample()
    joined = NodeTable.joined(tables)
    assert joined.sum(X).tolist() == np.sum([table.sum(X) for table in tables], axis=0).tolist()
    assert joined.tree.max() == 6
    tables[1] = random_trees(3, seed=8, levels=5, votes=True)
    joined = NodeTable.joined(tables)
    assert joined.sum(X).tolist() == np.sum([table.sum(X) for table in tables], axis=0).tolist()


def test_depths_and_trees_are_those_of_a_walk() -> None:
    nodes = random_trees(5, seed=4)
    for number, root in enumerate(nodes.roots):
        inside = [(int(root), 0)]
        for at, depth in inside:  # the list grows while it is read
            if nodes.low[at] != at:
                inside += [(int(nodes.low[at]), depth + 1), (int(nodes.high[at]), depth + 1)]
        assert nodes.depths[number] == max(depth for _, depth in inside)
        assert np.flatnonzero(nodes.tree == number).tolist() == sorted(at for at, _ in inside)
    below_none = replace(nodes, roots=nodes.roots[1:])
    assert (below_none.tree == nodes.tree - 1).all()


def test_a_table_keeps_its_own_arrays_and_nobody_can_write_to_them() -> None:
    threshold = np.array([0.5, 0.0, 0.0])
    rest: list[Any] = [[1, 1, 2], [2, 1, 2], [0] * 3, [0, 1, 2], [0]]  # lists will do too
    nodes = NodeTable(np.zeros(3, np.intp), threshold, *rest)
    threshold[0] = 9.0
    assert nodes.threshold[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        nodes.low[0] = 2


STUMP: dict[str, Any] = {
    "column": [0, 0, 0],
    "threshold": [0.0, 0.0, 0.0],
    "low": [1, 1, 2],
    "high": [2, 1, 2],
    "missing_low": [False] * 3,
    "value": [0.0, 1.0, 2.0],
    "roots": [0],
}


@pytest.mark.parametrize(
    "damage",
    [
        {"low": [0, 1, 2]},  # the root would be a leaf on one side only
        {"low": [2, 1, 0]},  # a cycle
        {"low": [2, 1, 2]},  # two ways to one node
        {"high": [9, 1, 2]},
        {"low": [-1, 1, 2]},
        {"column": [-3, 0, 0]},
        {"column": [0, 0]},
        {"value": [0.0]},
        {"roots": []},
        {"roots": [3]},
        {"roots": [-1]},
        {"roots": [0, 1]},
        {"level_branch": [0]},
        {"level_start": [0, 1, 1, 1], "level_branch": [3]},
        {"level_start": [0, 1, 1], "level_branch": [0]},
        {"level_start": [0, 2, 1, 1], "level_branch": [0]},
        {"level_start": [0, 1, 1, 9], "level_branch": [0]},
    ],
)
def test_what_compiled_code_could_not_read_is_refused(damage: dict[str, Any]) -> None:
    assert NodeTable(**STUMP).sum(np.ones((1, 1))).tolist() == [2.0]
    with pytest.raises(ValueError, match="form no trees"):
        NodeTable(**STUMP | damage)


def test_a_matrix_that_is_too_narrow_is_refused() -> None:
    nodes = NodeTable(**STUMP | {"column": [2, 0, 0]})
    for n in (1, 100):
        with pytest.raises(IndexError, match="column 2; X has 2"):
            nodes.route(np.zeros((n, 2)))
        with pytest.raises(IndexError, match="column 2; X has 2"):
            nodes.sum(np.zeros((n, 2)))
