"""ONNX Runtime and Python agree: every learner, many formulas, awkward rows.

Stump trees on untransformed columns agree bit for bit on every row. The others may differ where a
decision value lies within 1e-12 (relative) of its cut; such rows are counted, and random rows have
none.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import crank
from crank.plugins.linear import LinearRule
from crank.plugins.stump import StumpRule
from crank.plugins.trees import TreesRule
from crank.serve import Scorer
from tests.narrowing import of, present

pytestmark = pytest.mark.no_cover

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "stump": ("stump", {}),
    "tree": ("tree", {}),
    "logistic": ("logistic", {}),
    "svm": ("svm", {}),
    "svm-linear": ("svm", {"kernel": "linear"}),
    "lightgbm": ("lightgbm", {"n_estimators": 6}),
}
PLAIN = [
    "y ~ x + z + single + k",
    "y ~ g + h + flag + maybe + count",
    "y ~ .",
]
TRANSFORMED = [
    "y ~ log(z) + sqrt(z) + exp(x) + abs(x)",
    "y ~ I(x**2) + {x * z} + I(x / z) + I(z**0.5)",
    "y ~ center(x) + scale(z) + standardize(single)",
    "y ~ poly(z, 3) + poly(x, 2, raw=True)",
    "y ~ bs(z, df=5) + bs(x, df=4, extrapolation='clip')",
    "y ~ g * x",
    "y ~ g:h + x:z + flag:x",
    "y ~ C(g, contr.sum) + C(k) + C(flag)",
    "y ~ C(x > 0) + C(floor(z)) + maximum(x, z) + minimum(x, 0.5)",
    "y ~ where(g == 'a', x, z) + isin(h, ['u', 'v']) + I(x > 0) + I(k == 2)",
    "y ~ log1p(z) + log10(z) + expm1(x) + cbrt(x) + I(k % 3) + I(z // 0.5)",
    "y ~ 0 + g + poly(z, 2):h",
    "y ~ ns(z, df=4) + cut(x, c(-Inf, -1, 0, 1, Inf)) + log(z, 3) + ifelse(x > 0 & z > 1, x, z)",
]


@cache
def sample(n: int = 320, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.uniform(0.5, 4.0, n),
            "single": rng.normal(size=n).astype(np.float32),
            "k": rng.integers(0, 5, n),
            "g": rng.choice(["a", "b", "c c", "d'é"], n),
            "h": pd.Categorical(rng.choice(["u", "v", "w"], n), ["w", "u", "never", "v"]),
            "flag": rng.random(n) < 0.4,
            "maybe": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
        }
    )
    frame["y"] = (
        frame["x"]
        + np.log(frame["z"])
        + frame["g"].map({"a": 0.0, "b": 1.0, "c c": -1.0, "d'é": 0.5}).to_numpy()
        + 0.4 * frame["k"] * (frame["h"] == "u")
        + 0.2 * frame["count"].to_numpy(dtype=float)
        + 0.5 * frame["single"]
        + 0.3 * rng.normal(size=n)
    )
    for column in ("x", "z", "single", "g", "h", "maybe", "count"):
        frame.loc[rng.random(n) < 0.06, column] = None
    return frame


@cache
def fitted(learner: str, formula: str) -> crank.TreeModel:
    name, params = LEARNERS[learner]
    return crank.fit(
        sample(),
        formula,
        learner=name,
        learner_params=params,
        criterion="kendall",
        max_depth=3,
        prune=None,
    )


@cache
def exported(learner: str, formula: str) -> Scorer:
    return Scorer(fitted(learner, formula).to_onnx())


def new_rows(n: int, seed: int = 9) -> pd.DataFrame:
    """Rows that training did not have, with unseen levels; z stays within its range."""
    rows = sample(n, seed).drop(columns="y")
    z = sample()["z"]
    rows["z"] = rows["z"].clip(z.min(), z.max())
    rows["h"] = rows["h"].astype(object)
    rows.loc[::11, "g"] = "unseen"
    rows.loc[::13, "h"] = "other"
    rows.loc[::17, "k"] = 7
    return rows


def at_thresholds(model: crank.TreeModel) -> pd.DataFrame:
    """Rows that sit on a threshold of a plain column, and one double to either side of it."""
    base = new_rows(200).drop(columns="single").assign(single=0.25)
    picked = []
    for _, node in model.tree.walk():
        rule = None if node.split is None else node.split.rule
        if isinstance(rule, StumpRule) and rule.threshold is not None:
            pairs = [(rule.column, rule.threshold)]
        elif isinstance(rule, TreesRule):
            pairs = list(
                zip(rule.nodes.column.tolist(), rule.nodes.threshold.tolist(), strict=True)
            )
        else:
            pairs = []
        for column, t in pairs:
            name = model.design.names[column]
            if name in ("x", "z", "single") and abs(t) < 1e300:
                picked += [
                    (name, v) for v in (t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf))
                ]
    rows = base.iloc[np.arange(len(picked)) % len(base)].reset_index(drop=True)
    for i, (name, value) in enumerate(picked):
        if name != "z" or sample()["z"].min() < value < sample()["z"].max():
            rows.loc[i, name] = value
    return rows


def near_a_cut(model: crank.TreeModel, X: np.ndarray, row: int) -> bool:
    """Tell whether some decision value of a row is within rounding of its cut."""
    usual = model.design_matrix(new_rows(200), unknown="missing")
    for _, node in model.tree.walk():
        if node.split is None:
            continue
        rule, cut = node.split.rule, node.split.cut
        if isinstance(rule, StumpRule):
            if rule.threshold is None:
                continue
            value, cut = X[row, rule.column], rule.threshold
            size = max(abs(value), abs(cut))
        else:
            value = rule.decision(X[[row]])[0]
            size = np.abs(rule.decision(usual)).max()
        if abs(value - cut) <= 1e-12 * size:
            return True
    return False


def differing(model: crank.TreeModel, scorer: Scorer, rows: pd.DataFrame) -> np.ndarray:
    leaf = model.predict(rows, "leaf", unknown="missing")
    got = scorer.leaf(rows)
    assert np.array_equal(scorer(rows), model.tree.scores[got])
    return np.flatnonzero(leaf != got)


@pytest.mark.parametrize("formula", PLAIN + TRANSFORMED)
@pytest.mark.parametrize("learner", LEARNERS)
def test_random_rows_reach_the_same_leaf(learner: str, formula: str) -> None:
    model, scorer = fitted(learner, formula), exported(learner, formula)
    assert model.tree.n_leaves > 2
    assert differing(model, scorer, new_rows(1500)).size == 0


@pytest.mark.parametrize("formula", PLAIN + TRANSFORMED)
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_design_matrix_as_the_only_input_gives_the_same_leaf(
    learner: str, formula: str
) -> None:
    model = fitted(learner, formula)
    X = model.design_matrix(new_rows(300), unknown="missing")
    scorer = Scorer(model.to_onnx(form="matrix"))
    assert np.array_equal(scorer.leaf(X), model.tree.apply(X))


@pytest.mark.parametrize("formula", PLAIN)
def test_stumps_on_plain_columns_agree_bit_for_bit_on_thresholds(formula: str) -> None:
    model, scorer = fitted("stump", formula), exported("stump", formula)
    rows = at_thresholds(model)
    expected = model.predict(rows, unknown="missing")
    assert np.array_equal(scorer(rows), expected)
    one_by_one = [scorer(rows.iloc[[i]])[0] for i in range(min(len(rows), 60))]
    assert np.array_equal(one_by_one, expected[:60])


def on_the_hyperplane(model: crank.TreeModel) -> pd.DataFrame:
    """Rows whose decision value at the root is 0 but for rounding."""
    rule = of(LinearRule, present(model.tree.nodes[0].split).rule)
    rows = new_rows(400).dropna(subset=["x", "z", "single"]).astype({"single": float})
    X = model.design_matrix(rows, unknown="missing")
    j = model.design.names.index("x")
    at = rule.columns.tolist().index(j)
    return rows.assign(x=rows["x"] - rule.decision(X) * rule.scale[at] / rule.coef[at])


def test_rows_on_a_cut_are_the_only_ones_that_may_differ(
    record_property: Callable[[str, object], None],
) -> None:
    counted = total = 0
    for learner in ("stump", "tree", "logistic"):
        for formula in PLAIN + TRANSFORMED:
            model, scorer = fitted(learner, formula), exported(learner, formula)
            rows = at_thresholds(model)
            if (learner, formula) == ("logistic", PLAIN[0]):
                rows = on_the_hyperplane(model)
            if len(rows):
                X = model.design_matrix(rows, unknown="missing")
                odd = differing(model, scorer, rows)
                assert all(near_a_cut(model, X, row) for row in odd)
                counted, total = counted + odd.size, total + len(rows)
    assert total > 700
    record_property("rows on a cut that differ", f"{counted} of {total}")


@pytest.mark.parametrize("learner", ["stump", "logistic"])
def test_a_hundred_thousand_rows(learner: str) -> None:
    model, scorer = fitted(learner, "y ~ ."), exported(learner, "y ~ .")
    assert differing(model, scorer, new_rows(100_000)).size == 0


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n", [0, 1, 2, 49, 130])
def test_any_number_of_rows(learner: str, n: int) -> None:
    """ONNX Runtime takes other code paths for single rows and for large batches."""
    scorer = exported(learner, PLAIN[2])
    rows = new_rows(400).iloc[:n]
    feeds = scorer.feeds(rows)
    score, leaf = scorer.session.run(["score", "leaf"], feeds)
    assert score.shape == leaf.shape == (n, 1)
    assert score.dtype == np.float64
    assert leaf.dtype == np.int64
    assert np.array_equal(
        leaf[:, 0], fitted(learner, PLAIN[2]).predict(rows, "leaf", unknown="missing")
    )


def test_polars_and_dicts_score_like_pandas() -> None:
    import polars as pl

    rows = new_rows(300)
    scorer = exported("stump", "y ~ .")
    expected = scorer(rows)
    as_dict = {
        name: [None if pd.isna(v) else v for v in rows[name].tolist()] for name in rows.columns
    }
    assert np.array_equal(scorer(as_dict), expected)
    assert np.array_equal(scorer(pl.DataFrame(as_dict)), expected)


@pytest.mark.parametrize("order", ["oriented", "rank"])
def test_both_leaf_orders(order: Literal["auto", "oriented", "rank"]) -> None:
    model = crank.fit(
        sample(), "y ~ .", criterion="spearman", leaf_order=order, max_depth=5, prune=None
    )
    rows = new_rows(500)
    scorer = Scorer(model.to_onnx(outputs=model.predictions))
    for type in model.predictions:
        assert np.array_equal(
            scorer.predict(rows, type), model.predict(rows, type, unknown="missing")
        )


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_model_read_from_json_exports_the_same_file(learner: str) -> None:
    model = fitted(learner, "y ~ .")
    assert crank.TreeModel.from_json(model.to_json()).to_onnx() == model.to_onnx()


@pytest.mark.parametrize("learner", ["stump", "tree", "logistic"])
def test_a_real_table_with_43_categories_and_gaps(ames: pd.DataFrame, learner: str) -> None:
    train, new = ames[::6], ames[1::3]
    model = crank.fit(train, "price ~ .", learner=learner, max_depth=3, prune=None)
    assert differing(model, Scorer(model.to_onnx()), new).size == 0
