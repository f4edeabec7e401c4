"""What an exported file holds, what it refuses, and how it is written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError
from crank.graphs.graph import Graph
from crank.plugins.base import NotExportableError, SplitLearner, SplitRule
from crank.serve import Scorer


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    n = 240
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.uniform(1.0, 3.0, n),
            "noise": rng.normal(size=n),
            "g": rng.choice(["a", "b", "c"], n),
            "k": rng.integers(0, 4, n),
            "flag": rng.random(n) < 0.5,
        }
    )
    frame["y"] = frame["x"] + frame["g"].map({"a": 0.0, "b": 2.0, "c": -2.0}) + frame["flag"]
    frame["y"] += 1.5 * frame["k"]
    frame["peak"] = -(frame["x"] ** 2) + 0.1 * frame["noise"]
    return frame


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> crank.TreeModel:
    return crank.fit(frame, "y ~ x + g + k + flag", max_depth=4, prune=None)


def parsed(content: bytes) -> onnx.ModelProto:
    found = onnx.load_from_string(content)
    onnx.checker.check_model(found, full_check=True)
    return found


def metadata(content: bytes) -> dict[str, str]:
    return {entry.key: entry.value for entry in parsed(content).metadata_props}


def test_versions_types_and_shapes(model: crank.TreeModel) -> None:
    file = parsed(model.to_onnx())
    assert file.ir_version == 8
    assert {o.domain: o.version for o in file.opset_import} == {"": 18, "ai.onnx.ml": 3}
    shapes = {
        i.name: (i.type.tensor_type.elem_type, [d.dim_param or d.dim_value for d in dims])
        for i in [*file.graph.input, *file.graph.output]
        for dims in [i.type.tensor_type.shape.dim]
    }
    double, text, whole = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING, onnx.TensorProto.INT64
    assert shapes["x"] == (double, ["N", 1])
    assert shapes["g"] == (text, ["N", 1])
    assert shapes["score"] == (double, ["N", 1])
    assert shapes["leaf"] == (whole, ["N", 1])


def test_nothing_in_the_graph_is_single_precision_but_leaf_numbers(model: crank.TreeModel) -> None:
    file = onnx.shape_inference.infer_shapes(parsed(model.to_onnx()))
    single = {
        v.name
        for v in file.graph.value_info
        if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    }
    assert len(single) == 1
    assert single == {n.output[0] for n in file.graph.node if n.op_type == "TreeEnsembleRegressor"}


def test_only_columns_that_the_pruned_tree_uses_are_inputs(frame: pd.DataFrame) -> None:
    model = crank.fit(
        frame, "y ~ noise + x + g + C(k)", max_depth=6, min_samples_leaf=2, prune=None
    )
    whole = Scorer(model.to_onnx())
    pruned = Scorer(model.prune(n_leaves=2).to_onnx())
    assert set(whole.columns) == {"noise", "x", "g", "k"}
    assert len(pruned.columns) == 1


def test_a_tree_of_one_leaf(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "y ~ g + x", prune=None).prune(n_leaves=1)
    scorer = Scorer(model.to_onnx())
    assert scorer.columns == ("g",)
    assert np.array_equal(scorer(frame), model.predict(frame))
    assert scorer.session.run(None, {"g": np.empty((0, 1), dtype=object)})[0].shape == (0, 1)
    X = model.design_matrix(frame)
    assert np.array_equal(Scorer(model.to_onnx(form="matrix"))(X), model.predict(frame))


def test_metadata_says_what_the_model_is(model: crank.TreeModel) -> None:
    found = metadata(model.to_onnx(metadata={"owner": "risk", "ticket": {"id": 7}}))
    assert found["formula"] == model.formula
    assert found["crank_version"] == crank.__version__
    assert json.loads(found["levels"]) == {"g": ["a", "b", "c"]}
    figures = json.loads(found["figures"])
    assert figures["n"] == 240
    assert figures["training"]["kendall"]["estimate"] == model.training.figures["kendall"].estimate
    column = {"kind": "category", "missing": "\uffff", "texts": ["a", "b", "c"]}
    assert json.loads(found["columns"])["g"] == column
    assert (found["owner"], found["ticket"]) == ("risk", '{"id": 7}')


def test_the_same_model_gives_the_same_bytes(model: crank.TreeModel) -> None:
    assert model.to_onnx() == model.to_onnx()


def test_a_model_read_from_json_exports_the_same_file(model: crank.TreeModel) -> None:
    assert crank.from_json(model.to_json()).to_onnx() == model.to_onnx()


def test_the_file_is_replaced_in_one_step(
    model: crank.TreeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    assert model.to_onnx(path) is None
    assert path.read_bytes() == model.to_onnx()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        model.prune(n_leaves=2).to_onnx(path)
    assert path.read_bytes() == model.to_onnx()
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "rows"}, "form"),
        ({"unknown": "zero"}, "unknown"),
        ({"outputs": ("score", "mode")}, "outputs"),
        ({"outputs": ()}, "one or more of"),
        ({"outputs": {"score": "a", "leaf": "a"}}, "a name of its own"),
        ({"types": {"X": "int64"}}, "does not use"),
        ({"types": {"x": "int8"}}, "Allowed: double, float, int64, bool"),
        ({"types": {"g": "int64"}}, "holds text. Allowed: string"),
        ({"types": {"x": "float"}, "form": "matrix"}, "double throughout"),
        ({"metadata": {"formula": "mine"}}, "crank writes itself"),
        ({"metadata": {"owner": object()}}, "cannot be stored"),
    ],
)
def test_options_that_are_not_allowed(
    model: crank.TreeModel, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        model.to_onnx(**options)


def test_columns_of_other_types(frame: pd.DataFrame) -> None:
    data = frame.assign(y=frame["x"] + frame["k"] + 2.0 * frame["flag"])
    model = crank.fit(data, "y ~ x + k + flag", max_depth=5, prune=None)
    types = {"k": "int64", "flag": "bool", "x": "float"}
    scorer = Scorer(model.to_onnx(types=types))
    single = frame.assign(x=frame["x"].astype(np.float32))
    assert np.array_equal(scorer(single), model.predict(single))
    feeds = scorer.feeds(single)
    assert [feeds[n].dtype for n in ("k", "flag", "x")] == [np.int64, np.bool_, np.float32]
    with pytest.raises(DataError, match="'x' does not fit the type float32"):
        scorer(frame)
    with pytest.raises(DataError, match="'k' does not fit the type int64"):
        scorer(single.assign(k=np.nan))


def test_a_column_with_the_name_of_an_output(frame: pd.DataFrame) -> None:
    renamed = frame.rename(columns={"x": "score", "z": "t1"})
    model = crank.fit(renamed, "y ~ score + t1 + g", max_depth=3, prune=None)
    with pytest.raises(OptionError, match="outputs="):
        model.to_onnx()
    scorer = Scorer(model.to_onnx(outputs={"score": "crank_score", "leaf": "leaf"}))
    assert np.array_equal(scorer(renamed), model.predict(renamed))
    assert [o.name for o in scorer.session.get_outputs()] == ["crank_score", "leaf"]


@pytest.mark.parametrize("formula", ["y ~ x + g", "y ~ g:k2 + x", "y ~ x + C(k)"])
@pytest.mark.parametrize("learner", ["stump", "logistic"])
def test_unknown_levels_can_be_an_error(frame: pd.DataFrame, formula: str, learner: str) -> None:
    data = frame.assign(k2=frame["k"].astype(str))
    data.loc[::9, ["g", "k2"]] = None
    model = crank.fit(data, formula, learner=learner, max_depth=4, prune=None)
    scorer = Scorer(model.to_onnx(unknown="error"))
    assert np.array_equal(scorer(data), model.predict(data))  # missing is not unknown
    for column, value in (("g", "new"), ("k2", "new"), ("k", 17)):
        if column in scorer.columns:
            with pytest.raises(DataError, match="does not know"):
                scorer(data.assign(**{column: value}))


def test_the_empty_text_may_be_a_level(frame: pd.DataFrame) -> None:
    data = frame.assign(g=frame["g"].replace("a", ""))
    data.loc[::9, "g"] = None
    model = crank.fit(data, "y ~ g + I(g == '')", max_depth=3, prune=None)
    scorer = Scorer(model.to_onnx())
    assert np.array_equal(scorer(data), model.predict(data))


def test_categories_of_numbers(frame: pd.DataFrame) -> None:
    data = frame.assign(
        k=pd.Categorical(frame["k"]),
        half=frame["k"] / 2,
        spread=frame["k"].map({0: -5, 1: 10**9, 2: 3, 3: 0}),
    )
    model = crank.fit(data, "y ~ k:g + C(half) + C(spread)", max_depth=5, prune=None)
    scorer = Scorer(model.to_onnx())
    assert np.array_equal(scorer(data), model.predict(data))
    odd = data.assign(half=0.25, spread=2.5, k=9)
    assert np.array_equal(scorer(odd), model.predict(odd, unknown="missing"))


@pytest.mark.parametrize("extrapolation", ["clip", "na", "zero", "extend"])
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_splines_outside_their_range(frame: pd.DataFrame, extrapolation: str, degree: int) -> None:
    term = f"bs(z, df=5, degree={degree}, extrapolation='{extrapolation}', include_intercept=True)"
    model = crank.fit(frame, f"y ~ {term}", learner="tree", max_depth=3, prune=None)
    rows = pd.DataFrame({"z": [*np.linspace(-1, 5, 300), frame["z"].min(), frame["z"].max(), None]})
    assert np.array_equal(Scorer(model.to_onnx())(rows), model.predict(rows))


def test_a_spline_that_python_refuses_outside_its_range_counts_as_missing(
    frame: pd.DataFrame,
) -> None:
    model = crank.fit(frame, "y ~ bs(z, df=4)", max_depth=3, prune=None)
    scorer = Scorer(model.to_onnx())
    with pytest.raises(DataError, match="outside"):
        model.predict({"z": [99.0]})
    assert scorer({"z": [99.0]}) == model.predict({"z": [np.nan]})


def test_a_function_of_the_user_is_refused_with_the_term(frame: pd.DataFrame) -> None:
    context = {"mine": lambda x: x + 1}
    model = crank.fit(frame, "y ~ mine(x) + g", context=context, max_depth=3, prune=None)
    with pytest.raises(NotExportableError, match=r"'mine\(x\)' calls 'mine'"):
        model.to_onnx()


def test_levels_beyond_double_are_refused(frame: pd.DataFrame) -> None:
    data = frame.assign(k=frame["k"].map({0: 2**60, 1: 2**60 + 1, 2: 1, 3: 2}))
    model = crank.fit(data, "y ~ C(k)", max_depth=3, prune=None)
    with pytest.raises(NotExportableError, match="from 2\\^53 on"):
        model.to_onnx()


class Middle(SplitRule):
    """Left within a band of the first column; written for the test of hooks."""

    def decision(self, X: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(X[:, 0]), -1.0, 0.5 - np.abs(X[:, 0]))

    def to_dict(self) -> Any:
        return {}

    @classmethod
    def from_dict(cls, d: Any) -> Any:
        return cls()

    def to_onnx(self, graph: Graph, x: str) -> str:
        first = graph.op("Gather", x, np.array([0]), axis=1)
        return graph.op("Sub", 0.5, graph.op("Abs", first))


class Mute(Middle):
    to_onnx = SplitRule.to_onnx


class BandLearner(SplitLearner):
    rule = Middle
    takes_missing = True

    def __init__(self, rule: type[Middle | Mute]) -> None:
        self.made = rule

    def fit(
        self, X: np.ndarray, label: np.ndarray, weight: np.ndarray, *, rng: np.random.Generator
    ) -> Middle | Mute:
        return self.made()


def test_a_third_party_rule_exports_through_its_own_hook(frame: pd.DataFrame) -> None:
    model = crank.fit(
        frame, "peak ~ x + z + g", learner=BandLearner(Middle), max_depth=2, prune=None
    )
    scorer = Scorer(model.to_onnx())
    assert scorer.columns == ("x", "z", "g")
    rows = frame.assign(x=frame["x"].where(frame["x"] > -1.5))
    assert np.array_equal(scorer(rows), model.predict(rows))


def test_a_rule_without_a_hook_is_refused_with_its_node(frame: pd.DataFrame) -> None:
    model = crank.fit(frame, "peak ~ x", learner=BandLearner(Mute), max_depth=1, prune=None)
    with pytest.raises(NotExportableError, match=r"node 1 .*'BandLearner'.*Mute has no ONNX"):
        model.to_onnx()
