"""The compiled kernel against the NumPy one: the same tree while bins lose nothing."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from crank.criteria import criteria, get_criterion
from crank.fitting.grow import grow
from crank.growing.compiled_passes import CompiledPasses
from crank.growing.matrix import TrainingMatrix
from crank.growing.passes import Passes
from crank.growing.tree import Tree
from crank.kernels import bin_sums, binning, compiler
from crank.kernels.bin_tables import column_table
from crank.kernels.binning import Binned
from crank.kernels.bins import MISSING_BIN
from crank.kernels.cuts import Layer, Objective, ScoredLayer
from crank.kernels.histogram import HistogramStumps
from crank.kernels.threads import Threads
from crank.metrics.figures import KENDALL
from crank.plugins import stump
from crank.plugins.stump import HistogramSplitter, Stump, StumpRule, StumpSplitter
from crank.ranks import rank
from tests.narrowing import of

CRITERIA = {criterion.name: criterion for criterion in criteria()}


class Exact(Stump):
    def prepare(self, data: TrainingMatrix) -> StumpSplitter:
        return StumpSplitter(data)


class Histogram(Stump):
    def prepare(self, data: TrainingMatrix) -> HistogramSplitter:
        return HistogramSplitter(data)


def grown(
    learner: Exact | Histogram,
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray | None = None,
    *,
    levels: tuple[Any, ...] | None = None,
    criterion: str = "kendall",
    depth: int = 5,
    min_leaf: int = 3,
    jobs: int = 1,
) -> Tree:
    data = TrainingMatrix(X, levels or (0,) * X.shape[1], jobs)
    limits: dict[str, Any] = {"max_depth": depth, "min_samples_leaf": min_leaf}
    return grow(data, rank(y, w), learner, get_criterion(criterion), **limits)


def problem(
    seed: int = 0, n: int = 700, missing: float = 0.1, dtype: type[Any] = np.float64
) -> tuple[np.ndarray, np.ndarray, np.random.Generator, tuple[int, ...]]:
    """Few distinct values in every column: numbers, two factors, one of them of many levels."""
    rng = np.random.default_rng(seed)
    levels = (0, 0, 0, 6, 0, 300)
    X = np.column_stack(
        [
            rng.integers(0, 200, n) / 7,
            rng.integers(0, 3, n),
            np.round(rng.exponential(size=n), 1),
            rng.integers(0, 6, n),
            np.full(n, 2.5),
            rng.integers(0, 300, n),
        ]
    )
    y = X[:, 0] + 3 * (X[:, 3] % 3) + 2 * X[:, 1] * X[:, 2] + rng.normal(size=n) + X[:, 5] % 7
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(dtype), y, rng, levels


def assert_same(a: Tree, b: Tree) -> None:
    """Trees that agree in all but the rounding of sums."""
    assert len(a.nodes) == len(b.nodes)
    for m, n in zip(a.nodes, b.nodes, strict=True):
        assert (m.place, m.depth, m.n, m.left, m.right) == (n.place, n.depth, n.n, n.left, n.right)
        assert m.split == n.split
        for name in ("weight", "quantile", "y_lower", "y_median", "y_upper"):
            assert getattr(m, name) == pytest.approx(getattr(n, name), rel=1e-12, abs=1e-12)
        for name, total in a.totals.items():
            expected = pytest.approx(n.gains.get(name, 0.0), rel=1e-9, abs=1e-12 * total)
            assert m.gains.get(name, 0.0) == expected


@pytest.mark.compiled
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_both_kernels_grow_the_same_tree(criterion: str, tied: bool, weighted: bool) -> None:
    for seed in range(3):
        X, y, rng, levels = problem(seed)
        y = np.round(y) if tied else y
        w = rng.uniform(0.2, 3, len(y)) if weighted else None
        for min_leaf in (1, 20):
            options: dict[str, Any] = {
                "levels": levels,
                "criterion": criterion,
                "min_leaf": min_leaf,
            }
            assert_same(grown(Exact(), X, y, w, **options), grown(Histogram(), X, y, w, **options))


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_any_number_of_threads_grows_the_same_tree(criterion: str) -> None:
    X, y, rng, levels = problem(5, 3000)
    X = np.column_stack([X, rng.normal(size=(3000, 5))])
    levels += (0,) * 5
    w = rng.uniform(0.2, 3, 3000)
    one, *more = (
        grown(Histogram(), X, y, w, levels=levels, criterion=criterion, jobs=jobs)
        for jobs in (1, 2, 3, 7)
    )
    for tree in more:
        assert tree == one


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["kendall", "spearman"])
def test_both_kernels_find_the_best_allowed_subset_of_levels(
    criterion: str, weighted: bool
) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        levels = (9, 270, 14)
        X = np.column_stack([rng.integers(0, k, 150) % 40 for k in levels]).astype(float)
        X[rng.random(X.shape) < 0.1] = np.nan
        y = rng.normal(size=150) + np.nan_to_num(X[:, 0]) % 4
        w = rng.uniform(0.2, 3, 150) if weighted else None
        options: dict[str, Any] = {"levels": levels, "criterion": criterion, "min_leaf": 12}
        assert_same(grown(Exact(), X, y, w, **options), grown(Histogram(), X, y, w, **options))


def test_layouts_and_precisions_grow_the_same_tree() -> None:
    X, y, _, levels = problem(6, dtype=np.float32)
    expected = grown(Exact(), X.astype(np.float64), y, levels=levels)
    frozen = X.copy()
    frozen.flags.writeable = False
    strided = np.zeros((2 * len(X), 12), dtype=np.float32)[::2, ::2]
    strided[:] = X
    for same in (X, np.asfortranarray(X), frozen, strided, X.astype(np.float64)):
        assert_same(grown(Histogram(), same, y, levels=levels), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_lie_midway_between_neighbours_of_the_node(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binning, "SAMPLE", 500)
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=4000)
    tree = grown(Histogram(), X, y, jobs=2)
    assert tree.n_leaves > 16
    rows = {0: np.arange(4000)}
    for i, node in enumerate(tree.nodes):
        if node.split is None:
            continue
        rule, here = of(StumpRule, node.split.rule), rows[i]
        left = node.split.goes_left(X, here)
        rows[node.left], rows[node.right] = here[left], here[~left]
        assert (tree.nodes[node.left].n, tree.nodes[node.right].n) == (left.sum(), (~left).sum())
        if rule.threshold is None:
            continue
        x = X[here, rule.column].astype(np.float64)
        low, high = np.nanmax(x[x < rule.threshold]), np.nanmin(x[x > rule.threshold])
        assert rule.threshold == low / 2 + high / 2


def test_bins_of_continuous_columns_lose_little() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=20_000)
    exact = grown(Exact(), X, y, min_leaf=20)
    binned = grown(Histogram(), X, y, min_leaf=20)
    assert binned.figure(KENDALL) == pytest.approx(exact.figure(KENDALL), abs=2e-3)


def bins_of(
    X: np.ndarray,
    levels: tuple[int, ...] | None = None,
    row: np.ndarray | None = None,
    jobs: int = 1,
) -> Binned:
    row = np.arange(len(X)) if row is None else row
    with Threads(jobs) as threads:
        return binning.bin_matrix(X, levels or (0,) * X.shape[1], row, threads)


def test_bins_of_few_values_keep_them_apart() -> None:
    x = np.array([3.0, -1.0, np.nan, 3.0, 7.5, -np.inf, np.inf, 0.0, -0.0])
    binned = bins_of(x[:, None])
    assert binned.discrete.tolist() == [True]
    assert binned.bins[0].tolist() == [3, 1, MISSING_BIN, 3, 4, 0, 5, 2, 2]
    assert binned.n_bins.tolist() == [6]


@pytest.mark.parametrize("distinct", [254, 255, 256, 257, 1000])
def test_bins_at_the_limit_of_their_number(distinct: int) -> None:
    rng = np.random.default_rng(9)
    x = rng.permutation(np.repeat(np.arange(distinct, dtype=float), 7))
    binned = bins_of(x[:, None])
    used = np.unique(binned.bins[0])
    assert binned.discrete[0] == (distinct <= 255)
    assert used.max() < binned.n_bins[0] <= 255
    assert len(used) == min(distinct, 255) or distinct > 255
    order = np.argsort(x, kind="stable")
    assert (np.diff(binned.bins[0][order].astype(int)) >= 0).all()
    assert len(used) > 200


def test_values_that_the_sample_missed_are_kept_apart_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "SAMPLE", 100)
    rng = np.random.default_rng(10)
    rare = rng.integers(0, 4, 5000).astype(float)
    rare[17], rare[4000] = 99.0, -5.0
    many = rng.integers(0, 2, 5000).astype(float)
    late = rng.random(5000) < 0.2
    late[:101] = False
    many[late] = rng.normal(size=late.sum())
    X = np.column_stack([rare, many, rng.normal(size=5000)])
    binned = bins_of(X, jobs=3)
    assert binned.discrete.tolist() == [True, False, False]
    assert binned.n_bins[0] == 6
    assert (binned.edges[0, binned.bins[0]] == rare).all()
    order = np.argsort(many, kind="stable")
    assert (np.diff(binned.bins[1][order].astype(int)) >= 0).all()


def test_bins_follow_the_order_of_y_and_know_every_row() -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(0, 50, (200, 2)).astype(float)
    row = rng.permutation(200)[:150]
    binned = bins_of(x, row=row)
    assert (binned.row[:150] == row).all()
    assert sorted(binned.row) == list(range(200))
    values = np.unique(x[:, 1])
    assert (values[binned.bins[1]] == x[binned.row, 1]).all()
    other = rng.permutation(200)[:40]
    assert (binned.row[binned.slots(other)] == other).all()


def test_folds_share_the_bins_of_the_whole_sample() -> None:
    X, y, rng, levels = problem(12)
    data = TrainingMatrix(X, levels)
    ranks = rank(y)
    options: dict[str, Any] = {"max_depth": 4, "min_samples_leaf": 3}
    criterion = get_criterion("iauc")
    grow(data, ranks, Histogram(), criterion, **options)
    bins = data.shared["stump: binned"]
    keep = rng.random(len(y)) < 0.7
    fold = ranks.subset(keep)
    tree = grow(data, fold, Histogram(), criterion, **options)
    assert data.shared["stump: binned"] is bins
    assert_same(tree, grow(data, fold, Exact(), criterion, **options))


@pytest.mark.compiled
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_passes_agree_with_numpys(weighted: bool) -> None:
    rng = np.random.default_rng(13)
    y = rng.integers(0, 40, 300).astype(float)
    ranks = rank(y, rng.integers(1, 9, 300) / 8 if weighted else None)
    layer = Layer(np.arange(300, dtype=np.int32), np.array([0, 300], dtype=np.intp))
    left = rng.random(300) < 0.4
    with Threads(2) as threads:
        for _ in range(3):
            plain, fast = Passes(ranks), CompiledPasses(ranks, threads)
            for criterion in CRITERIA.values():
                score = plain.scores(layer, criterion)
                assert np.allclose(fast.scores(layer, criterion), score, rtol=1e-12, atol=1e-9)
            split = rng.random(len(layer.starts)) < 0.8
            split[0] = True
            left &= np.repeat(split, layer.sizes)
            a, b = (passes.partition(layer, left, split) for passes in (plain, fast))
            assert (a.layer.position == b.layer.position).all()
            assert (a.layer.bounds == b.layer.bounds).all()
            assert a.layer.n_from_left == b.layer.n_from_left
            assert np.allclose(a.gains["kendall"], b.gains["kendall"])
            assert np.allclose(a.gains["iauc"], b.gains["iauc"])
            layer = a.layer
            for one, two in zip(
                vars(plain.summarise(layer)).values(),
                vars(fast.summarise(layer)).values(),
                strict=True,
            ):
                assert np.allclose(one, two, rtol=1e-12)
            left = rng.random(len(layer.position)) < 0.5


def test_the_size_of_the_data_chooses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    data = TrainingMatrix(np.zeros((10, 2)), (0, 0))
    assert type(Stump().prepare(data)) is StumpSplitter
    monkeypatch.setattr(stump, "COMPILED_FROM", 20)
    assert type(Stump().prepare(data)) is HistogramSplitter


def test_without_numba_numpy_serves_any_size_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stump, "COMPILED_FROM", 20)
    monkeypatch.setitem(sys.modules, "numba", None)
    compiler.numba_works.cache_clear()
    try:
        data = TrainingMatrix(np.zeros((10, 2)), (0, 0))
        with pytest.warns(RuntimeWarning, match=r"numba cannot be used .*pip install"):
            assert type(Stump().prepare(data)) is StumpSplitter
        assert type(Stump().prepare(data)) is StumpSplitter  # a second warning would be an error
    finally:
        compiler.numba_works.cache_clear()


def twice(x: Any) -> Any:
    return x + x


def test_kernels_compile_where_nothing_can_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    asked = []

    def njit(signature: None = None, *, cache: bool = False, **options: Any) -> Callable[..., Any]:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    assert compiler.kernel(twice)(4) == 8
    assert asked == [True, False]


def test_signatures_share_no_file_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processes that add to one index at the same time, one can get the other's code."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for kind in (numba.float32, numba.float64):
        for _ in range(2):
            assert compiler.kernel_for(kind(kind), twice)(1.5) == 3.0
    assert len(list(tmp_path.rglob("*.nbi"))) == len(list(tmp_path.rglob("*.nbc"))) == 2


def test_small_fits_never_load_numba() -> None:
    program = """
import sys
import numpy as np
from crank.criteria import criteria, get_criterion
from crank.fitting.grow import grow
from crank.plugins.base import TrainingMatrix
from crank.plugins.stump import Stump
from crank.ranks import rank
x = np.random.default_rng(0).normal(size=(300, 4))
tree = grow(TrainingMatrix(x, (0,) * 4), rank(x[:, 0]), Stump(), get_criterion("crank"),
            max_depth=4, min_samples_leaf=5)
tree.score(x)
loaded = [m for m in ("numba", "sklearn", "scipy.stats", "pandas") if m in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Memory:
    """The most that a fit holds while its tasks run one after another, and that one task adds.

    NumPy reports its arrays to tracemalloc. With threads, which arrays exist at the same time
    depends on how they interleave; the tasks, and what each allocates, are the same without.
    """

    def __init__(self) -> None:
        self.peak = self.task = 0

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[int, int]]) -> None:
        for task in tasks:
            held, peak = tracemalloc.get_traced_memory()
            self.peak = max(self.peak, peak)
            tracemalloc.reset_peak()
            function(*task)
            self.task = max(self.task, tracemalloc.get_traced_memory()[1] - held)

    def measure(self, fit: Callable[..., Any]) -> None:
        tracemalloc.start()
        try:
            fit()
            self.peak = max(self.peak, tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()


@pytest.mark.compiled
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_grows_with_the_bins_alone(
    dtype: Any, order: Literal["C", "F"], jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # no copy of X, no widening of float32
    monkeypatch.setattr(binning, "SAMPLE", 1000)
    rng = np.random.default_rng(15)
    n, used = 60_000, []
    for d in (8, 40):
        X = np.asarray(rng.normal(size=(n, d)), dtype=dtype, order=order)
        y = X[:, 0] + rng.normal(size=n)
        grown(Histogram(), X[:2000], y[:2000], jobs=jobs)
        used.append(memory := Memory())
        with monkeypatch.context() as patch:
            patch.setattr(Threads, "run", lambda _, *work, memory=memory: memory.run(*work))
            memory.measure(lambda X=X, y=y: grown(Histogram(), X, y, jobs=jobs))
    narrow, wide = used
    assert wide.peak - narrow.peak < 1.5 * n * (40 - 8)
    assert wide.task - narrow.task < 0.01 * n * (40 - 8)


def test_threads_end_with_the_fit() -> None:
    import threading

    X, y, _, levels = problem(14)
    before = set(threading.enumerate())
    grown(Histogram(), X, y, levels=levels, jobs=3)
    assert not set(threading.enumerate()) - before


@pytest.mark.compiled
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", ["sum", "variance"])
def test_blocks_of_rows_counted_apart_choose_the_same_cuts(
    objective: Objective, weighted: bool
) -> None:
    X, y, rng, levels = problem(16, 900)
    d, n = X.shape[1], len(y)
    binned = bins_of(X, levels)
    direction = np.array([1, 0, -1, 0, 0, 0])
    columns = column_table(np.array(levels), binned.n_bins, direction)
    score = np.round(y - y.mean(), 3)
    weight = rng.integers(1, 9, n) / 4 if weighted else None
    node = rng.integers(0, 3, n)

    def layer_of(rows: Any) -> Any:
        rows = rows[np.argsort(node[rows], kind="stable")]
        bounds = np.searchsorted(node[rows], range(4)).astype(np.intp)
        w = None if weight is None else weight[rows]
        scores = score[rows] if w is None else score[rows] * w
        layer = Layer(rows.astype(np.int32), bounds)
        return ScoredLayer.of(layer, scores, w, objective, 25)

    blocks = np.array_split(rng.permutation(n), 3)
    levels_apart = [layer_of(np.sort(block)) for block in blocks]
    parts = [bin_sums.count(binned.bins, columns, part.position, part) for part in levels_apart]
    apart = bin_sums.choose(parts[0] + parts[1] + parts[2], columns, objective, 25)
    whole = layer_of(np.arange(n))
    with Threads(2) as threads:
        kernel = HistogramStumps(X, binned, levels, binned.row, threads, direction.tolist())
        fused = kernel._search(whole, whole.position)
    assert (apart.found == fused.found[: len(apart.found)]).all()
    assert np.allclose(apart.gain, fused.gain[: len(apart.gain)], rtol=1e-12)
    assert np.allclose(apart.bound, fused.bound[: len(apart.gain)], rtol=1e-12)
    assert (apart.gain.max(axis=0) > 0).all()
    assert len(columns) < d
