"""Pages: one file, nothing loaded, nothing injected; its code scores rows as Python does."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import CrankError
from crank.models.base import RankingModel
from crank.page.carried import carried, packed
from crank.page.content import content
from crank.page.form import form_fields, standing
from crank.page.terms import shown_effects
from crank.page.writing import LARGEST, asset, embedded, page_text
from tests.page_models import MARK, REFUSES_MISSING, in_python, models, probes, sample, with_gaps

pytestmark = pytest.mark.xdist_group("pages")
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def fitted() -> dict[str, RankingModel]:
    return models()


def data_of(page: str) -> Any:
    """Read the data back that a page holds."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def small_tree() -> crank.TreeModel:
    return crank.fit(with_gaps(sample()), "y ~ x1 + g", max_depth=3, cv=3)


@pytest.mark.skipif(NODE is None, reason="node is not installed: the page's code needs a runtime")
def test_the_pages_code_scores_as_python_does(
    fitted: dict[str, RankingModel], tmp_path: Path
) -> None:
    """Sums, products, roots and comparisons are the same doubles everywhere; exp and log nearly."""
    cases = {name: (carried(model), probes(name)) for name, model in fitted.items()}
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    driver = """
    const cases = JSON.parse(require("fs").readFileSync(process.argv[2]));
    console.log(JSON.stringify(Object.fromEntries(Object.entries(cases).map(
      ([name, [model, rows]]) => [name, rows.map((row) => scorer(model)(row).score)]))));
    """
    code = tmp_path / "page.js"
    code.write_text(asset("design.js") + asset("rankers.js") + driver, encoding="utf-8")
    ran = subprocess.run(
        [NODE or "node", str(code), str(tmp_path / "cases.json")],
        capture_output=True,
        text=True,
        check=True,
    )
    scores = json.loads(ran.stdout)
    for name, model in fitted.items():
        wanted = in_python(model, cases[name][1])
        if name in ("tree", "trees", "forest", "rules", "booster", "logistic", "svm"):
            assert scores[name] == wanted, name
        else:
            assert scores[name] == pytest.approx(wanted, rel=1e-12, abs=1e-12), name


@pytest.mark.skipif(NODE is None, reason="node is not installed: the page's code needs a runtime")
def test_operations_are_those_of_numpy(tmp_path: Path) -> None:
    from crank.design.operations import OPERATIONS

    values = [-2.5, -1.0, -0.5, 0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 3.0]
    takes = {name: operation.arity for name, operation in OPERATIONS.items()}
    driver = f"""
    const values = {json.dumps(values)}, takes = {json.dumps(takes)};
    const run = (op, given) => evaluate([...given.map((v) => ["constant", v]), [op]], {{}}).value;
    const all = Object.entries(takes).map(([op, arity]) => [op, arity === 1
      ? values.map((a) => run(op, [a])) : arity === 2
      ? values.flatMap((a) => values.map((b) => run(op, [a, op === "rounded" ? 41 : b])))
      : values.map((a) => run(op, [a, 1, 2]))]);
    console.log(JSON.stringify(Object.fromEntries(all),
      (_, v) => typeof v === "number" && !Number.isFinite(v) ? String(v) : v));
    """
    code = tmp_path / "operations.js"
    code.write_text(asset("design.js") + driver, encoding="utf-8")
    ran = subprocess.run([NODE or "node", str(code)], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    grid = np.array(values)
    with np.errstate(all="ignore"):
        for name, operation in OPERATIONS.items():
            if operation.arity == 1:
                wanted = operation.apply(grid)
            elif operation.arity == 2:
                right = [np.asarray(41.0 if name == "rounded" else b) for b in values]
                wanted = np.array([operation.apply(np.asarray(a), b) for a in grid for b in right])
            else:
                wanted = operation.apply(grid, np.full(10, 1.0), np.full(10, 2.0))
            mine = np.array([float(v) for v in found[name]])
            np.testing.assert_allclose(mine, np.asarray(wanted, float), rtol=1e-13, err_msg=name)


def test_a_page_is_one_small_file_that_loads_nothing(
    fitted: dict[str, RankingModel], tmp_path: Path
) -> None:
    path = fitted["tree"].report(tmp_path / "report.html", sample(80))
    page = path.read_text(encoding="utf-8")
    assert len(page.encode()) < LARGEST
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|<link|@import|url\(|<img|<iframe|fetch\(|XMLHttp", outside)
    assert "default-src 'none'" in page


def test_names_and_levels_cannot_become_markup() -> None:
    frame = sample(120).rename(columns={"x1": MARK})
    m = crank.fit(frame, f"y ~ `{MARK}` + g", max_depth=2, prune=None)
    page = page_text(content({MARK: m}, frame, None, "error", f"<b>{MARK}"))
    before, _, after = page.partition('<script id="data"')
    assert "<img" not in before + after.partition("</script>")[2]
    assert data_of(page)["models"][0]["name"] == MARK
    assert "&lt;b&gt;" in page
    assert "innerHTML" not in page
    assert "insertAdjacent" not in page
    assert "document.write" not in page


def test_long_data_are_deflated_and_models_too_large_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert embedded({"x": "y" * 400_000}).startswith("deflate:")
    about = content({"m": small_tree()}, None, None, "error", None)
    assert "scores" in about["models"][0]
    monkeypatch.setattr("crank.page.writing.LARGEST", 1000)
    kept = data_of(page_text(about))["models"][0]
    assert "scores" not in kept
    assert "too large" in kept["notes"][0]


def test_without_data_a_page_says_what_it_lacks(tmp_path: Path) -> None:
    m = small_tree()
    found = data_of(m.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "rows" not in found
    assert "judged" not in found["models"][0]
    assert found["models"][0]["tree"]["current"] >= 0


def test_nodes_count_the_responses_of_the_data() -> None:
    m, data = small_tree(), with_gaps(sample(100))
    tree = content({"m": m}, data, None, "missing", None)["models"][0]["tree"]
    counts = np.array([node["counts"] for node in tree["nodes"]])
    assert counts[0].sum() == 100
    leaf = m.pruning.tree.apply(m.design_matrix(data, unknown="missing"))
    sizes = np.bincount(leaf, minlength=m.pruning.tree.n_leaves)
    assert counts[list(m.pruning.tree.leaves)].sum(axis=1).tolist() == sizes.tolist()
    for node in tree["nodes"]:
        if "left" in node:
            both = (tree["nodes"][node[side]]["counts"] for side in ("left", "right"))
            assert np.sum(list(both), axis=0).tolist() == node["counts"]


def test_the_slider_walks_the_pruning_path() -> None:
    m = small_tree()
    tree = content({"m": m}, None, None, "error", None)["models"][0]["tree"]
    path = m.pruning_path()
    assert [step["n_leaves"] for step in tree["steps"]] == path["n_leaves"].tolist()
    assert tree["steps"][tree["current"]]["n_leaves"] == m.tree.n_leaves
    assert [s["heldout"] for s in tree["steps"]] == pytest.approx(path["heldout"].tolist(), 1e-5)
    by_hand = crank.fit(sample(), "y ~ x1 + g", max_depth=4, prune=None)
    steps = content({"m": by_hand}, None, None, "error", None)["models"][0]["tree"]["steps"]
    assert max(step["n_leaves"] for step in steps) >= by_hand.tree.n_leaves


def test_every_kind_has_what_is_its_own(fitted: dict[str, RankingModel]) -> None:
    data = sample(90)
    for name, own in {
        "tree": ("tree", "leaves"),
        "linear": ("coefficients",),
        "additive": ("coefficients", "effects"),
        "forest": ("members", "distilled"),
        "booster": ("members", "distilled"),
        "blend": ("members", "distilled"),
    }.items():
        found = content({name: fitted[name]}, data, None, "error", None)["models"][0]
        assert set(own) <= set(found), name
        assert found["judged"]["figures"]["rows"], name
        assert found["importance"]["rows"], name
        assert "one order" in found["diagnosis"]["verdict"], name
        assert "AUC, this model" in found["diagnosis"]["table"]["columns"], name
        json.dumps(found, allow_nan=False)


def test_figures_on_the_page_are_those_of_evaluate(fitted: dict[str, RankingModel]) -> None:
    data = sample(90)
    m = fitted["linear"]
    found = content({"m": m}, data, None, "error", None)["models"][0]["judged"]["figures"]
    wanted = m.evaluate(data)
    assert [row[1] for row in found["rows"]] == wanted["estimate"].tolist()


def test_two_models_are_tested_against_each_other(
    fitted: dict[str, RankingModel], tmp_path: Path
) -> None:
    data = sample(150)
    pair = {"linear": fitted["linear"], "additive": fitted["additive"]}
    found = content(pair, data, None, "error", None)
    assert [part["n"] for part in found["comparison"]] == [150, 150]
    wanted = crank.compare(pair, data=data, metric="kendall").tests
    row = dict(zip(found["comparison"][0]["tests"]["columns"],
                   found["comparison"][0]["tests"]["rows"][0], strict=True))  # fmt: skip
    assert row["pvalue"] == wanted["pvalue"][0]
    path = pair["linear"].report(
        tmp_path / "two.html", data, versus={"additive": pair["additive"]}, name="linear"
    )
    named = [model["name"] for model in data_of(path.read_text(encoding="utf-8"))["models"]]
    assert named == ["linear", "additive"]


def test_a_model_that_only_python_can_run_has_no_form() -> None:
    m = crank.fit(
        sample(), "y ~ twice(x1)", context={"twice": lambda x: 2 * x}, max_depth=2, prune=None
    )
    found = content({"m": m}, None, None, "error", None)["models"][0]
    assert "scores" not in found
    assert "twice" in found["notes"][0]


def test_forms_ask_for_every_raw_column(fitted: dict[str, RankingModel]) -> None:
    fields = {field["name"]: field for field in form_fields(fitted["forest"])}
    assert set(fields) == {"x1", "x2", "g", "flag", "k"}
    assert fields["g"]["levels"] == sorted(["a", "b", MARK])
    assert fields["x2"]["low"] <= fields["x2"]["start"] <= fields["x2"]["high"]
    assert fields["x1"]["optional"]
    for name in REFUSES_MISSING - {"blend"}:
        assert not any(field["optional"] for field in form_fields(fitted[name])), name


def test_standings_are_shares_of_the_training_rows(fitted: dict[str, RankingModel]) -> None:
    for name in ("tree", "linear", "forest", "booster", "blend"):
        found = standing(fitted[name], np.array([3.0, 1.0, 1.0, 2.0]))
        assert found is not None
        assert found["among"] == "training rows"
        assert sum(found["share"]) == pytest.approx(1.0, abs=1e-4), name
        assert found["upto"] == sorted(found["upto"]), name
    unknown = replace(fitted["forest"], training=replace(fitted["forest"].training, scores=None))
    found = standing(unknown, np.array([3.0, 1.0, 1.0, 2.0]))
    assert found is not None
    assert (found["among"], found["upto"]) == ("rows of the data", [1.0, 2.0, 3.0])
    assert standing(unknown) is None


def test_packed_trees_keep_every_node(fitted: dict[str, RankingModel]) -> None:
    nodes = fitted["booster"].ranker.nodes  # type: ignore[attr-defined]
    found = packed(nodes)
    assert len(found["column"]) == len(nodes.column)
    assert len(found["value"]) == int((~nodes.inner).sum())
    assert sorted(found["value"]) == sorted(nodes.value[~nodes.inner].tolist())


def test_surfaces_are_heat_maps_and_curves_have_bands() -> None:
    m = crank.additive(sample(), "y ~ s(x1) + s(x1):s(x2) + g", smoothing=0.01)
    curve, levels, surface = shown_effects(m)
    table = m.effects(surface["term"])
    cells = dict(zip(zip(table["x"], table["by"], strict=True), table["effect"], strict=True))
    at = {(round(x, 4), round(by, 4)): value for (x, by), value in cells.items()}
    assert len(surface["x"]) == len(surface["by"]) == 21
    for i, k in ((0, 0), (20, 5), (7, 20)):
        wanted = at[round(surface["x"][i], 4), round(surface["by"][k], 4)]
        assert surface["cells"][i][k] == pytest.approx(wanted, rel=1e-5)
    assert {mark for row in surface["apart"] for mark in row} <= {"0", "1"}
    assert curve["lines"][0]["low"][0] < curve["lines"][0]["y"][0] < curve["lines"][0]["high"][0]
    assert levels["x"] == sorted(["a", "b", MARK])


def test_columns_that_a_model_does_not_use_have_no_partial_dependence() -> None:
    frame = sample().assign(noise=0.0)
    m = crank.fit(frame, "y ~ x1 + I(x1**2) + noise", max_depth=2, prune=None)
    found = content({"m": m}, frame, None, "error", None)["models"][0]["judged"]["dependence"]
    assert [part["feature"] for part in found] == ["x1"]


def test_odd_data_have_a_page() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0, 2.0, 1.0] * 5, "x": [1.0, 2.0, 3.0, 4.0] * 5})
    m = crank.fit(frame, "y ~ x", min_samples_leaf=1, prune=None)
    found = content({"m": m}, frame, None, "error", None)["models"][0]
    assert "iroc" not in found["judged"]  # two distinct responses have no triple
    single = crank.fit(frame, "y ~ x", min_samples_leaf=20, prune=None)
    assert content({"m": single}, frame, None, "error", None)["models"][0]["tree"]["nodes"]


def test_a_report_of_something_else_is_refused(tmp_path: Path) -> None:
    from crank.page import write_page

    with pytest.raises(CrankError, match="takes fitted models; got int"):
        write_page({"m": 3}, tmp_path / "r.html")  # type: ignore[dict-item]
    with pytest.raises(CrankError, match="unknown"):
        small_tree().report(tmp_path / "r.html", unknown="maybe")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
