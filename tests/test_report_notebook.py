"""Notebook habits: what is shown, what is completed, and an example notebook that runs."""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import crank
from crank.export.onnx import to_onnx
from crank.judging.diagnose import diagnose
from crank.judging.permutation import permutation_importance
from crank.models.base import RankingModel
from crank.report import plots

EXAMPLE = Path(__file__).parents[1] / "examples" / "first-look.ipynb"
KINDS = [
    crank.TreeModel,
    crank.LinearModel,
    crank.AdditiveModel,
    crank.ForestModel,
    crank.BoosterModel,
    crank.BlendModel,
]
SPELLED_OUT = {
    "permutation_importance": permutation_importance,
    "diagnose": diagnose,
    "to_onnx": to_onnx,
    **{name: getattr(plots, name) for name in plots.__all__ if name.startswith("plot_")},
}


@pytest.fixture
def model(toy: pd.DataFrame) -> crank.TreeModel:
    return crank.fit(toy.rename(columns={"g": "g<b>"}), "y ~ x1 + `g<b>`", max_depth=3, cv=3)


def test_a_model_shows_its_tree_as_markup_that_is_well_formed(model: crank.TreeModel) -> None:
    shown = model._repr_html_()
    assert "<b>" not in shown
    assert f"leaf {model.tree.n_leaves - 1} " in shown
    found = re.search(r"<svg.*</svg>", shown, re.DOTALL)
    assert found is not None
    drawing = ElementTree.fromstring(found[0])
    assert len(drawing.findall("g")) == len(model.tree.nodes)
    tops = {g.attrib["transform"] for g in drawing.findall("g")}
    assert len(tops) == len(model.tree.nodes)  # no node lies on another
    assert "#fff" not in shown  # the notebook's own background, light or dark


def test_large_trees_and_other_kinds_show_figures(toy: pd.DataFrame) -> None:
    large = crank.fit(toy, "y ~ x1 + x2", max_depth=8, min_samples_leaf=1, prune=None)
    assert "<svg" not in large._repr_html_()
    assert "std.error" in crank.linear(toy, "y ~ x1 + g", cv=3)._repr_html_()


def test_results_show_tables(model: crank.TreeModel, toy: pd.DataFrame) -> None:
    data = toy.rename(columns={"g": "g<b>"})
    other = crank.linear(data, "y ~ x1", cv=None)
    found = crank.compare({"<i>": model, "other": other}, data=data)
    assert "&lt;i&gt;" in found._repr_html_()
    assert "Paired comparison" in found._repr_html_()
    assert found._repr_html_().count("<table") == 2
    diagnosis = model.diagnose(data, cv=2)
    assert diagnosis.verdict[:30] in diagnosis._repr_html_()
    assert "<table" in model.summary()._repr_html_()
    for table in (model.evaluate(data), model.pruning_path(), model.path(data.iloc[[0]])):
        assert "<table" in table._repr_html_()  # type: ignore[operator]


PUBLIC = ["crank", "crank.datasets", "crank.metrics", "crank.monitor", "crank.plugins.base"]
PUBLIC += ["crank.report.plots", "crank.serve", "crank.testing", "crank.judging.diagnose"]
OWN = (FunctionType, MethodType)
PASSED_ON = {"update", "set_params"}
"""The first names them by a `TypedDict`, see test_models_updating; the other is scikit-learn's."""


@pytest.mark.parametrize("module", PUBLIC)
def test_public_callables_name_their_options(module: str) -> None:
    """So that an editor can complete them."""
    found = importlib.import_module(module)
    assert found.__all__
    for name in found.__all__:
        thing = getattr(found, name)
        members = inspect.getmembers(thing, callable) if inspect.isclass(thing) else [(name, thing)]
        for own, function in members:
            if not isinstance(function, OWN) or own.startswith("_") or own in PASSED_ON:
                continue
            parameters = inspect.signature(function).parameters.values()
            assert not [p for p in parameters if p.kind is p.VAR_KEYWORD], (name, own)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_have_the_options_and_defaults_of_what_they_call(kind: type[RankingModel]) -> None:
    for name, function in SPELLED_OUT.items():
        if hasattr(kind, name):
            own, theirs = (
                {
                    p.name: p.default
                    for p in inspect.signature(f).parameters.values()
                    if p.kind is p.KEYWORD_ONLY
                }
                for f in (getattr(kind, name), function)
            )
            for inner in ("ax", "refit"):  # what a method gives itself
                own.pop(inner, None), theirs.pop(inner, None)
            assert own == theirs, (kind, name)


FITTED: dict[str, Callable[[Any], RankingModel]] = {
    "tree": lambda rows: crank.fit(rows, "y ~ x1 + g + flag", max_depth=3, prune=None),
    "linear": lambda rows: crank.linear(rows, "y ~ x1 + log(x2) + g", cv=None),
    "additive": lambda rows: crank.additive(rows, "y ~ s(x1) + g", smoothing=0.01),
    "forest": lambda rows: crank.forest(rows, "y ~ x1 + x2 + g", n_trees=3),
    "booster": lambda rows: crank.boost(rows, "y ~ x1 + x2 + g", rounds=5),
    "blend": lambda rows: crank.blend(rows, "y ~ x1 + x2", members=["linear", "tree"], cv=2),
}


@pytest.mark.parametrize("kind", FITTED)
def test_data_frames_of_all_libraries_go_in_and_come_out(kind: str, toy: pd.DataFrame) -> None:
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    wanted = FITTED[kind](toy)
    scores, figures = wanted.predict(toy), wanted.evaluate(toy)
    frames = {
        "polars": pl.from_pandas(toy),
        "lazy": pl.from_pandas(toy).lazy(),
        "pyarrow": pa.Table.from_pandas(toy, preserve_index=False),
        "duckdb": duckdb.from_df(toy),
    }
    if kind == "blend":  # slow to fit, and a sum of the others
        frames = {"duckdb": frames["duckdb"]}
    for name, frame in frames.items():
        model = FITTED[kind](frame)
        np.testing.assert_array_equal(model.predict(frame), scores, err_msg=name)
        pd.testing.assert_frame_equal(model.evaluate(frame), figures)
        out = model.augment(frame)
        assert type(out) is type(frame)
        seen: Any = {"duckdb": lambda o: o.df(), "lazy": lambda o: o.collect()}
        column = seen.get(name, lambda o: o)(out)[".score"]
        assert (column.to_pylist() if name == "pyarrow" else column.to_list()) == scores.tolist()


def test_the_example_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert len(cells) >= 6
    for cell in cells:
        exec(compile(cell, str(EXAMPLE), "exec"), names)
    assert (tmp_path / "report.html").exists()
