"""Rules as ONNX nodes: any cut and sign, rules of all kinds in one tree, shared work."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

import crank
from crank.growing.rule import Split
from crank.growing.tree import Node, Tree
from crank.models.tree import TreeModel
from crank.plugins.base import NotExportableError, SplitRule
from crank.plugins.linear import LinearRule
from crank.plugins.registry import get_learner
from crank.plugins.sklearn import EstimatorRule, SklearnLearner
from crank.plugins.stump import StumpRule
from crank.serve import Scorer
from tests.narrowing import of, present

COLUMNS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=COLUMNS)
    frame["y"] = frame["a"] ** 2 + frame["b"] + 0.1 * rng.normal(size=300)
    return frame


@pytest.fixture(scope="module")
def rules(frame: pd.DataFrame) -> dict[str, SplitRule]:
    """One rule of each kind, fitted on the same rows."""
    X = frame[COLUMNS].to_numpy()
    label = np.where(frame["y"] > frame["y"].median(), 1.0, -1.0)
    made: dict[str, SplitRule] = {"missing": StumpRule(1, None, above=True, missing_left=False)}
    settings: dict[str, dict[str, Any]] = {
        "stump": {},
        "tree": {},
        "logistic": {},
        "svm": {},
        "lightgbm": {"n_estimators": 5},
    }
    for name, params in settings.items():
        learner = get_learner(name, params)
        made[name] = present(learner.fit(X, label, np.ones(300), rng=np.random.default_rng(0)))
    return made


def leaf_node(depth: int, place: int) -> Node:
    return Node(depth, place, 1, 1.0, 0.5, 0.0, 0.0, 0.0)


def oriented(splits: list[Split], depth: int) -> Tree:
    """A complete tree whose inner nodes take the splits in turn."""
    nodes: list[Node] = []
    for d in range(depth + 1):
        for place in range(2**d):
            node = leaf_node(d, place)
            if d < depth:
                left = 2 ** (d + 1) - 1 + 2 * place
                split = splits[len(nodes) % len(splits)]
                node = node._replace(split=split, left=left, right=left + 1)
            nodes.append(node)
    return Tree(tuple(nodes), depth, {"kendall": 1.0, "iauc": 1.0})


def with_tree(frame: pd.DataFrame, tree: Tree) -> TreeModel:
    model = crank.fit(frame, "y ~ a + b + c", max_depth=1, prune=None)
    grown = replace(model.pruning, tree=tree)
    return replace(model, ranker=replace(model.ranker, tree=tree, pruning=grown))


def rows(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    found = pd.DataFrame(rng.normal(size=(n, 3)) * 1.5, columns=COLUMNS)
    return found.mask(rng.random(found.shape) < 0.1)


def kinds(model: TreeModel) -> list[str]:
    return [node.op_type for node in onnx.load_from_string(model.to_onnx()).graph.node]


@pytest.mark.parametrize("kind", ["missing", "stump", "tree", "logistic", "svm", "lightgbm"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("cut", [0.0, 0.3, -0.2, 5e-324])
def test_any_cut_and_orientation(
    frame: pd.DataFrame, rules: dict[str, SplitRule], kind: str, sign: int, cut: float
) -> None:
    model = with_tree(frame, oriented([Split(rules[kind], cut, sign)], 1))
    assert np.array_equal(Scorer(model.to_onnx()).leaf(rows()), model.predict(rows(), "leaf"))


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize("threshold", [None, 0.0, 0.1, -1e308, 1.7976931348623157e308])
@pytest.mark.parametrize("sign", [1, -1])
def test_stumps_compare_exactly(
    frame: pd.DataFrame, above: bool, missing_left: bool, threshold: float | None, sign: int
) -> None:
    rule = StumpRule(0, threshold, above=above, missing_left=missing_left)
    model = with_tree(frame, oriented([Split(rule, 0.0, sign)], 1))
    t = 0.0 if threshold is None else threshold
    largest = np.finfo(np.float64).max
    beside = [math.nextafter(t, -largest), math.nextafter(t, largest)]
    values = [t, *beside, -0.0, np.nan, 1e9]
    data = {"a": values, "b": np.zeros(6), "c": np.zeros(6)}
    scorer = Scorer(model.to_onnx())
    assert scorer.columns == ("a",)
    assert np.array_equal(scorer.leaf(data), model.predict(data, "leaf"))


def test_rules_of_all_kinds_in_one_tree(frame: pd.DataFrame, rules: dict[str, SplitRule]) -> None:
    splits = [Split(rule, 0.1 * k, (-1) ** k) for k, rule in enumerate(rules.values())]
    model = with_tree(frame, oriented(splits, 4))
    assert np.array_equal(Scorer(model.to_onnx()).leaf(rows()), model.predict(rows(), "leaf"))
    X = model.design_matrix(rows())
    matrix = Scorer(model.to_onnx(form="matrix"))
    assert np.array_equal(matrix.leaf(X), model.tree.apply(X))


def test_linear_nodes_share_one_product(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ a + b + c", learner="logistic", max_depth=4, prune=None)
    assert model.tree.n_leaves > 8
    assert kinds(model).count("MatMul") == 1


def test_linear_rules_that_standardise_otherwise_get_their_own_product(
    frame: pd.DataFrame, rules: dict[str, SplitRule]
) -> None:
    rule = of(LinearRule, rules["logistic"])
    other = replace(rule, scale=rule.scale * 2.0)
    model = with_tree(frame, oriented([Split(rule), Split(other), Split(rule)], 2))
    assert kinds(model).count("MatMul") == 2
    assert np.array_equal(Scorer(model.to_onnx()).leaf(rows()), model.predict(rows(), "leaf"))


def test_small_trees_share_one_ensemble(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ a + b + c", learner="tree", max_depth=4, prune=None)
    assert kinds(model).count("TreeEnsembleRegressor") == 2  # the rules' trees, and the tree


def test_a_stump_tree_is_one_ensemble_and_a_table(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ a + b + c", max_depth=5, prune=None)
    looked_up = ["Reshape", "GatherElements", "Reshape"]
    assert kinds(model) == ["Concat", "TreeEnsembleRegressor", "Cast", *looked_up]


def test_subsets_of_one_category_share_one_table(frame: pd.DataFrame) -> None:
    data = frame.assign(g=np.random.default_rng(1).choice(list("abcdefgh"), 300))
    data["y"] += data["g"].map({level: k % 5 for k, level in enumerate("abcdefgh")})
    model = crank.fit(data, "y ~ g", max_depth=4, prune=None)
    assert model.tree.n_leaves > 4
    assert kinds(model).count("LabelEncoder") == 1
    assert kinds(model).count("Gather") == 1  # the table


def test_a_deep_tree(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ a + b + c", max_depth=40, min_samples_leaf=1, prune=None)
    assert model.tree.n_leaves > 200
    scorer = Scorer(model.to_onnx())
    assert np.array_equal(scorer(rows()), model.predict(rows()))
    assert np.array_equal(scorer(frame), model.predict(frame))


def classifiers() -> dict[str, Any]:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    from sklearn.svm import SVC

    return {
        "naive bayes": GaussianNB(),
        "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
        "neighbours": KNeighborsClassifier(5),
        "support vectors": make_pipeline(StandardScaler(), SVC()),
        "polynomial": make_pipeline(PolynomialFeatures(2), LogisticRegression()),
    }


@pytest.mark.filterwarnings("ignore:models of:crank.errors.PluginWarning")
@pytest.mark.parametrize("name", ["naive bayes", "quadratic", "neighbours", "support vectors"])
def test_classifiers_without_arrays_go_through_skl2onnx(frame: pd.DataFrame, name: str) -> None:
    learner = SklearnLearner(classifiers()[name])
    model = crank.fit(frame, "y ~ a + b + c", learner=learner, max_depth=2, prune=None)
    assert isinstance(present(model.tree.nodes[0].split).rule, EstimatorRule)
    new = rows(2000).fillna(0.0)
    assert np.mean(Scorer(model.to_onnx())(new) != model.predict(new)) < 0.002


@pytest.mark.filterwarnings("ignore:models of:crank.errors.PluginWarning")
def test_a_classifier_that_cannot_be_converted_is_named_with_its_node(frame: pd.DataFrame) -> None:
    from sklearn.gaussian_process import GaussianProcessClassifier

    model = crank.fit(
        frame.iloc[:60],
        "y ~ a + b",
        learner=SklearnLearner(GaussianProcessClassifier()),
        max_depth=1,
        prune=None,
    )
    with pytest.raises(NotExportableError, match=r"node 1 .*'sklearn'.*GaussianProcess"):
        model.to_onnx()
