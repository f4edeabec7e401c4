"""Monotone by construction: no pair of rows may contradict the direction of a column."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crank
from crank.criteria import criteria, get_criterion
from crank.errors import OptionError
from crank.fitting.grow import grow
from crank.growing.matrix import TrainingMatrix
from crank.growing.splitter import LayerTask
from crank.growing.tree import Tree
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.plugins.lightgbm import LightGBM
from crank.plugins.logistic import Logistic
from crank.plugins.newton import LOSSES, fit_linear, signed_minimum
from crank.plugins.nodewise import bind, orient
from crank.plugins.stump import HistogramSplitter, Stump, StumpRule, StumpSplitter
from crank.plugins.svm import SupportVector
from crank.plugins.tree import ClassificationTree
from crank.ranks import rank
from tests.narrowing import of, present

CRITERIA = {criterion.name: criterion for criterion in criteria()}
LEARNERS = {
    "stump": Stump(),
    "tree": ClassificationTree(max_depth=4),
    "logistic": Logistic(),
    "svm": SupportVector(kernel="linear"),
}
PAIRS = 10_000


class Exact(Stump):
    def prepare(self, data: TrainingMatrix) -> StumpSplitter:
        return StumpSplitter(data)


class Histogram(Stump):
    def prepare(self, data: TrainingMatrix) -> HistogramSplitter:
        return HistogramSplitter(data)


def sample(
    seed: int, n: int = 400, missing: float = 0.1
) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Responses that mostly contradict the directions which the tests ask for."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    y = np.sin(3 * X[:, 0]) - X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return rng, X, y


MONOTONE = (1, 1, -1, 0)


def violations(
    score: Callable[..., Any],
    X: np.ndarray,
    rng: np.random.Generator,
    monotone: tuple[Any, ...],
    pairs: int = PAIRS,
) -> int:
    """Count pairs of rows, alike but in one column, that the score orders the wrong way."""
    wrong = 0
    for j, sign in enumerate(monotone):
        if not sign:
            continue
        low = X[rng.integers(0, len(X), pairs)].copy()
        high = low.copy()
        values = np.sort(rng.choice(X[~np.isnan(X[:, j]), j], (2, pairs)), axis=0)
        values += rng.normal(scale=0.1, size=pairs)
        low[:, j], high[:, j] = values if sign > 0 else values[::-1]
        wrong += int((score(high) < score(low)).sum())
    return wrong


def grown(
    learner: Any,
    X: np.ndarray,
    y: np.ndarray,
    monotone: tuple[Any, ...] = MONOTONE,
    criterion: str = "kendall",
    w: np.ndarray | None = None,
    min_leaf: int = 5,
    depth: int = 6,
) -> Tree:
    data = TrainingMatrix(X, (0,) * X.shape[1], monotone=monotone)
    options: dict[str, Any] = {"max_depth": depth, "min_samples_leaf": min_leaf}
    return grow(data, rank(y, w), learner, get_criterion(criterion), **options)


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
@pytest.mark.parametrize("name", LEARNERS)
def test_no_pair_contradicts_the_direction_of_a_column(name: str, criterion: str) -> None:
    for seed, missing in ((0, 0.0), (1, 0.15)):
        rng, X, y = sample(seed, missing=missing)
        w = rng.uniform(0.2, 3.0, len(y)) if seed else None
        tree = grown(LEARNERS[name], X, y, criterion=criterion, w=w)
        assert tree.n_leaves > 3
        assert violations(tree.score, X, rng, MONOTONE) == 0
        free = grown(LEARNERS[name], X, y, (), criterion, w)
        assert violations(free.score, X, rng, MONOTONE) > 0


@pytest.mark.parametrize("name", ["tree", "logistic", "svm"])
def test_cuts_that_the_minimum_leaf_size_moves_keep_the_direction(name: str) -> None:
    for seed in range(4):
        rng, X, y = sample(seed, n=200)
        tree = grown(LEARNERS[name], X, y, min_leaf=45)
        assert all(node.split.sign == 1 for node in tree.nodes if node.split is not None)
        assert violations(tree.score, X, rng, MONOTONE, 2000) == 0


def test_the_sign_of_a_directed_decision_stays() -> None:
    value = np.array([-2.0, -1.0, 1.0, 2.0, 3.0])
    against = np.array([1.0, 1.0, -1.0, -1.0, 0.0])
    assert orient(value, against, None, "sum", 1) == (0.0, -1)
    assert orient(value, against, None, "sum", 1, 1) is None
    partly = np.array([-3.0, 5.0, 1.0, -2.5, -0.5])
    cut, sign = present(orient(value, partly, None, "sum", 1, 1))
    assert (cut, sign) == (-1.5, 1)
    assert orient(value, against, None, "sum", 3, 1) is None


def directed_sides(x: np.ndarray, sign: int) -> Iterator[np.ndarray]:
    """Every allowed high side: large numbers if the sign is 1, missing values on either side."""
    known, missing = ~np.isnan(x), np.isnan(x)
    for t in np.unique(x[known])[1:]:
        high = known & ((x >= t) if sign > 0 else (x < t))
        yield high
        yield high | missing
    yield missing
    yield known


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CRITERIA)),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([Exact(), Histogram()]),
)
def test_a_directed_stump_is_the_best_of_all_that_are_allowed(
    seed: int, name: str, min_leaf: int, missing: float, learner: Any
) -> None:
    rng = np.random.default_rng(seed)
    n, monotone = 30, (1, -1)
    X = rng.integers(0, 8, (n, 2)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    ranks = rank(rng.normal(size=n) - X[:, 0] * (rng.random() < 0.5))
    layer = Layer(np.arange(n, dtype=np.int32), np.array([0, n]))
    criterion = CRITERIA[name]
    score = criterion.scores(ranks, layer, LocalMass(ranks, layer))
    splitter = bind(learner, TrainingMatrix(X, (0, 0), monotone=monotone))
    task = LayerTask(layer, score, ranks, criterion.objective, min_leaf, np.random.default_rng)
    split = splitter.split(task).splits[0]

    def value(high: np.ndarray) -> float:
        side, total = score[high].sum(), score.sum()
        if min(high.sum(), (~high).sum()) < min_leaf or 2 * side <= total:
            return 0.0
        if criterion.objective == "sum":
            return float(2 * side - total)
        return float(side**2 * n / (high.sum() * (~high).sum()))

    rows = ranks.row[layer.position]
    best = max(value(h) for j, s in enumerate(monotone) for h in directed_sides(X[rows, j], s))
    floor = abs(score.sum()) if criterion.objective == "sum" else 0.0
    if split is None:
        assert best <= floor + 1e-9 * np.abs(score).sum()
    else:
        left = split.goes_left(X, rows)
        assert value(left) == pytest.approx(best, rel=1e-9)
        rule = of(StumpRule, split.rule)
        assert rule.threshold is None or rule.above == (monotone[rule.column] > 0)


@pytest.mark.no_cover
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_both_kernels_grow_the_same_monotone_tree(criterion: str) -> None:
    for seed in range(3):
        rng, X, y = sample(seed)
        w = rng.uniform(0.2, 3.0, len(y)) if seed else None
        options: dict[str, Any] = {"criterion": criterion, "w": w}
        exact, binned = (grown(kernel(), X, y, **options) for kernel in (Exact, Histogram))
        assert [node.split for node in exact.nodes] == [node.split for node in binned.nodes]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize(("m", "p"), [(60, 5), (12, 20), (25_000, 6)])
def test_signed_coefficients_meet_the_conditions_of_an_optimum(
    loss: Literal["logistic", "squared_hinge"], m: int, p: int
) -> None:
    rng = np.random.default_rng(m)
    Z = rng.normal(size=(m, p))
    Z[:, 1] += Z[:, 0]
    label = np.sign(Z @ rng.normal(size=p) + rng.normal(size=m))
    weight = rng.uniform(0.1, 2.0, m)
    sign = rng.choice([-1.0, 0.0, 1.0], p)
    sign[:2] = 1.0, -1.0
    b, b0 = fit_linear(Z, label, weight, penalty=0.5, loss=loss, sign=sign)
    pull = weight * label * LOSSES[loss].pull(label * (Z @ b + b0))
    downhill = Z.T @ pull - 0.5 * b
    scale = 1e-6 * (np.abs(Z).T @ np.abs(pull)).max()
    assert (b * sign >= 0.0).all()
    at_bound = (sign != 0.0) & (b == 0.0)
    assert at_bound.any()
    assert (np.abs(downhill[~at_bound]) <= scale).all()
    assert (downhill[at_bound] * sign[at_bound] <= scale).all()
    assert abs(pull.sum()) <= scale


def test_signs_that_the_data_agree_with_change_nothing() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(200, 4))
    label = np.sign(Z @ [1.0, -2.0, 0.5, 1.0] + 0.3 * rng.normal(size=200))
    free = fit_linear(Z, label, np.ones(200), penalty=1.0, loss="logistic")
    sign = np.array([1.0, -1.0, 0.0, 1.0])
    held = fit_linear(Z, label, np.ones(200), penalty=1.0, loss="logistic", sign=sign)
    assert np.allclose(free[0], held[0], rtol=1e-6)
    assert free[1] == pytest.approx(held[1], rel=1e-5, abs=1e-8)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_the_signed_minimum_is_no_worse_than_any_choice_of_zeros(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(p, p + 2))
    A, c = root @ root.T + 0.01 * np.eye(p), rng.normal(size=p)
    sign = rng.choice([-1.0, 0.0, 1.0], p)
    x = signed_minimum(A, c, sign)
    assert (x * sign >= 0.0).all()
    best = 0.0
    for number in range(2**p):
        free = (number >> np.arange(p) & 1).astype(bool)
        z = np.zeros(p)
        z[free] = np.linalg.solve(A[np.ix_(free, free)], c[free])
        if (z * sign >= 0.0).all():
            best = min(best, float(z @ A @ z / 2 - c @ z))
    assert x @ A @ x / 2 - c @ x == pytest.approx(best, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("learner", [SupportVector(), LightGBM()])
def test_learners_that_cannot_keep_a_direction_refuse(learner: SupportVector) -> None:
    _, X, y = sample(0, 30, 0.0)
    with pytest.raises(OptionError, match=r"monotone= is given, but the learner .* cannot keep"):
        grown(learner, X, y)


def frame(seed: int = 0, n: int = 500, missing: float = 0.1) -> pd.DataFrame:
    _, X, y = sample(seed, n, missing)
    data = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    data["b"] = np.exp(data["b"])
    data["g"] = np.random.default_rng(seed).choice(["u", "v", "w"], n)
    return data.assign(y=y)


FORMULA = "y ~ scale(a) + log(b) + I(-2 * c) + d + g"
WANTED: dict[str, str | int] = {"a": "increasing", "b": 1, "c": "decreasing"}


@pytest.mark.parametrize("name", LEARNERS)
def test_pruning_json_and_onnx_stay_monotone(name: str, tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    data = frame(missing=0.0)
    params = {"kernel": "linear"} if name == "svm" else None
    options: dict[str, Any] = {
        "learner": name,
        "learner_params": params,
        "criterion": "kendall",
        "cv": 3,
    }
    model = crank.fit(data, FORMULA, monotone=WANTED, **options)
    grown = crank.fit(data, FORMULA, monotone=WANTED, prune=None, **options)
    assert model.tree.leaf_order == "oriented"
    model.to_json(tmp_path / "m.json")
    model.to_onnx(tmp_path / "m.onnx")
    again = crank.load(tmp_path / "m.json")
    assert of(crank.TreeModel, again).options == model.options
    session = ort.InferenceSession(tmp_path / "m.onnx")
    used = [i.name for i in session.get_inputs()]

    def by_onnx(rows: pd.DataFrame) -> np.ndarray:
        feed = {c: rows[c].to_numpy()[:, None] for c in used}
        return np.asarray(session.run(["score"], feed)[0].ravel())

    rng = np.random.default_rng(0)
    X = data[["a", "b", "c"]].to_numpy()

    def scored(how: Callable[..., Any]) -> Callable[..., Any]:
        def score(values: np.ndarray) -> np.ndarray:
            local = np.random.default_rng(1).integers(0, len(data), len(values))
            rows = data.iloc[local].reset_index(drop=True)
            return np.asarray(
                how(rows.assign(a=values[:, 0], b=values[:, 1].clip(1e-9), c=values[:, 2]))
            )

        return score

    for how in (model.predict, grown.predict, grown.prune(n_leaves=4).predict, again.predict):
        assert violations(scored(how), X, rng, (1, 1, -1)) == 0
    assert violations(scored(by_onnx), X, rng, (1, 1, -1)) == 0


def test_an_estimator_takes_directions_by_name_or_number() -> None:
    rng, X, y = sample(0)
    names = [f"x{j}" for j in range(4)]
    by_number = crank.RankingTree(monotone={0: 1, 1: 1, 2: -1}).fit(X, y)
    by_name = crank.RankingTree(monotone={"x0": 1, "x1": "increasing", "x2": "decreasing"})
    by_name.fit(pd.DataFrame(X, columns=names), y)
    assert by_name.tree_ == by_number.tree_
    assert violations(by_number.predict, X, rng, MONOTONE) == 0
    with pytest.raises(OptionError, match=r"monotone= names 'x9', which X does not have"):
        crank.RankingTree(monotone={"x9": 1}).fit(pd.DataFrame(X, columns=names), y)


def test_a_design_column_may_be_named() -> None:
    data = frame(missing=0.0)
    data = data.assign(a=data["a"].abs())
    model = crank.fit(data, "y ~ I(a**2) + d", monotone={"I(a ** 2)": "increasing"}, prune=None)
    rules = [of(StumpRule, node.split.rule) for node in model.tree.nodes if node.split is not None]
    assert all(rule.above for rule in rules if rule.column == 0)
    assert not all(rule.above for rule in rules)


@pytest.mark.parametrize(
    ("formula", "name", "message"),
    [
        ("y ~ poly(a, 2)", "a", r"the term 'poly\(a, 2\)' is no known monotone function"),
        ("y ~ bs(a, df=4)", "a", "no known monotone function"),
        ("y ~ a + a:d", "a", "the term 'a:d' is no known monotone function"),
        ("y ~ C(a > 0)", "a", "no known monotone function"),
        ("y ~ I(a**2)", "a", "no known monotone function"),
        ("y ~ a + g", "g", "holds categories"),
        ("y ~ a", "aa", r"'aa', which the formula does not use.*Did you mean 'a'"),
    ],
)
def test_terms_that_are_not_monotone_are_refused(formula: str, name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        crank.fit(frame(missing=0.0), formula, monotone={name: 1}, prune=None)


@pytest.mark.parametrize(
    ("term", "slope"),
    [
        ("a", 1),
        ("log(b)", 1),
        ("scale(log(b))", 1),
        ("center(-b)", -1),
        ("I(3 - 2 * b)", -1),
        ("I(b / -4 + d)", -1),
        ("sqrt(b)", 1),
        ("I(b ** 3)", 1),
        ("I(b ** 0.5)", 1),
        ("I(b > 1)", 1),
        ("I(1 > b)", -1),
    ],
)
def test_directions_follow_known_functions(term: str, slope: int) -> None:
    from crank.design.monotone import signs
    from crank.formula import learn_design, parse_formula
    from crank.frames.table import Table

    table = Table.read(frame(missing=0.0))
    design = learn_design(parse_formula(f"y ~ {term}", table.names), table, native=True)
    name = "a" if term == "a" else "b"
    assert signs(design, {name: 1})[0] == slope
    assert signs(design, {name: -1})[0] == -slope


def test_options_of_monotone_fits() -> None:
    data = frame()
    with pytest.raises(OptionError, match=r"leaf_order='rank' is not allowed with monotone="):
        crank.fit(data, "y ~ a", monotone={"a": 1}, leaf_order="rank")
    with pytest.raises(OptionError, match=r"monotone\['a'\]='up' is not allowed. Allowed: 'incr"):
        crank.fit(data, "y ~ a", monotone={"a": "up"})
    with pytest.raises(OptionError, match="a mapping of columns to directions"):
        crank.fit(data, "y ~ a", monotone="a")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="LightGBM cannot keep"):
        crank.fit(data, "y ~ no_such_column", monotone={"a": 1}, learner="lightgbm")
    with pytest.raises(OptionError, match="asks for both directions of 'scale"):
        crank.fit(data, "y ~ scale(a)", monotone={"a": 1, "scale(a)": -1})
    model = crank.fit(data, "y ~ a", monotone={"a": 1}, criterion="spearman", prune=None)
    assert model.tree.leaf_order == "oriented"
    assert model.options.monotone == {"a": "increasing"}
    assert "monotone={'a': 'increasing'}" in str(model.summary())
    assert json.loads(json.dumps(model.options.to_dict()))["monotone"] == {"a": "increasing"}
    assert "monotone" not in crank.fit(data, "y ~ a", prune=None).options.to_dict()
