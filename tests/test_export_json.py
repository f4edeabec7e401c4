"""JSON model files: what is written comes back, and what is not a model is refused."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import CrankError, FormulaError, ModelFileError, PluginError
from crank.export import json as model_json
from crank.export.json.schema import (
    KEYWORDS,
    check_schema,
    file_schema,
    format_1_schema,
    model_schema,
)
from crank.export.json.text import fingerprint, lay_out, parse
from crank.growing.tree import Node, Tree
from crank.models.tree import TreeModel
from crank.plugins.base import NotExportableError
from crank.plugins.stump import Stump, StumpRule
from tests.narrowing import of, present

LEARNERS = ["stump", "tree", "logistic", "svm", "lightgbm"]
FORMULAS = [
    "y ~ x1 + log(x2) + C(g)",
    "log(exp(y)) ~ poly(x1, 2) + bs(x2, df=4) + g:flag",
    "y ~ center(x1) * scale(x2) + g + {x1 > 0} - 1",
    "y ~ .",
]


def reread(text: str) -> TreeModel:
    return of(TreeModel, crank.from_json(text))


def walked(tree: Tree) -> list[Node]:
    return [node._replace(left=-1, right=-1) for _, node in tree.walk()]


def same(a: Any, b: Any) -> bool:
    """Compare all that two models hold, field by field; NaN equals NaN."""
    if isinstance(a, Tree):  # as it is walked: nobody sees the numbers of a pruned tree's nodes
        a, b = ((t.depth, t.totals, t.leaf_order, walked(t)) for t in (a, b))
    if dataclasses.is_dataclass(a) and not hasattr(a, "to_dict"):
        names = [field.name for field in dataclasses.fields(a) if field.compare]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    if hasattr(a, "to_dict"):
        return type(a) is type(b) and a.to_dict() == b.to_dict()
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    if isinstance(a, float):
        return type(b) is float and (a == b or (a != a and b != b))
    return type(a) is type(b) and a == b


@pytest.fixture(scope="module")
def small() -> TreeModel:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "g": rng.choice(list("abc"), 80)})
    frame["y"] = frame["x"] + (frame["g"] == "a") + 0.1 * rng.normal(size=80)
    return crank.fit(frame, "y ~ x + g", max_depth=3, cv=4)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_loaded_model_is_the_model(toy: pd.DataFrame, learner: str, formula: str) -> None:
    toy = toy.head(120)
    m = crank.fit(toy, formula, learner=learner, max_depth=3, prune=None)
    text = m.to_json()
    back = reread(text)
    assert same(m, back)
    assert back.to_json() == text
    for type_ in ("score", "leaf", "quantile", "median", "lower", "upper"):
        np.testing.assert_array_equal(m.predict(toy, type_), back.predict(toy, type_))
    assert str(back) == str(m)
    assert str(back.summary()) == str(m.summary())
    assert back.rules() == m.rules()
    pd.testing.assert_frame_equal(back.evaluate(toy), m.evaluate(toy))
    pd.testing.assert_frame_equal(back.pruning_path(), m.pruning_path())
    pd.testing.assert_frame_equal(back.importance(), m.importance())


@pytest.mark.no_cover
@pytest.mark.parametrize("prune", ["cv", "1se", None])
@pytest.mark.parametrize("leaf_order", ["oriented", "rank"])
def test_a_loaded_model_prunes_further_and_stays_the_same(
    toy: pd.DataFrame, prune: Any, leaf_order: Any
) -> None:
    m = crank.fit(toy, "y ~ x1 + x2 + g", prune=prune, leaf_order=leaf_order, criterion="iauc")
    back = reread(m.to_json())
    assert str(back.summary()) == str(m.summary())
    for n in m.pruning_path()["n_leaves"]:
        cut, cut_back = m.prune(n_leaves=n), back.prune(n_leaves=n)
        assert cut_back.to_json() == cut.to_json()
        again = reread(cut.to_json())
        np.testing.assert_array_equal(again.predict(toy), cut.predict(toy))
        # what was cut off is still in the file
        assert again.prune(alpha=0.0).to_json() == m.prune(alpha=0.0).to_json()


def test_weights_missing_values_and_a_binary_response_come_back(toy: pd.DataFrame) -> None:
    gaps = toy.assign(
        x1=toy["x1"].where(toy.index % 5 > 0), y=(toy["y"] > 0).where(toy.index % 7 > 0)
    )
    gaps["y"] = gaps["y"].astype(float)
    m = crank.fit(gaps, "y ~ x1 + x2 + g", weights=1 + np.arange(len(toy)) % 3)
    back = reread(m.to_json())
    assert same(m, back)
    assert str(back.summary()) == str(m.summary())
    np.testing.assert_array_equal(m.predict(gaps), back.predict(gaps))


def test_the_chosen_criterion_and_groups_come_back(toy: pd.DataFrame) -> None:
    m = crank.fit(toy.assign(y=toy["y"].round()), "y ~ x1 + x2", groups=np.arange(240) // 3)
    assert m.options.criterion == "auto"
    assert m.criterion == "kendall"
    back = reread(m.to_json())
    assert same(m, back)
    assert back.training.n_groups == 80
    assert str(back.summary()) == str(m.summary())


def forged(m: TreeModel, change: Callable[[Any], object]) -> str:
    document = json.loads(m.to_json())
    change(document["ranker"])
    document["fingerprint"] = fingerprint(document)
    return lay_out(document)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r.pop("criterion"), "ranker.criterion is missing"),
        (lambda r: r["options"].update(criterion="iauc"), "Allowed: the same one, or 'auto'"),
        (lambda r: r["criterion"].update(name="auto"), "no criterion named 'auto'"),
        (lambda r: r["pruning"]["by_rank"]["iauc"].pop(), "not one figure for each of"),
        (lambda r: r["pruning"]["by_rank"].pop("iauc"), "lacks the figure that prunes"),
    ],
)
def test_a_forged_criterion_or_path_by_rank_is_refused(
    toy: pd.DataFrame, change: Callable[[Any], object], says: str
) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", leaf_order="rank")
    assert m.criterion == "crank"
    with pytest.raises(ModelFileError, match=says):
        crank.from_json(forged(m, change))


def test_a_file_without_figures_by_rank_still_loads(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", leaf_order="rank")
    old = reread(forged(m, lambda ranker: ranker["pruning"].pop("by_rank")))
    np.testing.assert_array_equal(old.predict(toy), m.predict(toy))
    assert "(leaves left to right)" in str(old.prune(n_leaves=5).summary())
    assert "(leaves left to right)" not in str(m.prune(n_leaves=5).summary())


def test_a_model_of_one_leaf_comes_back() -> None:
    frame = pd.DataFrame({"x": np.ones(60), "y": np.arange(60.0)})
    m = crank.fit(frame, "y ~ x")
    back = reread(m.to_json())
    assert same(m, back)
    assert (back.predict(frame, "leaf") == 0).all()


def test_a_fold_without_figures_is_null_and_comes_back(small: TreeModel) -> None:
    heldout = present(small.validation).heldout.copy()
    heldout[1] = np.nan
    validation = dataclasses.replace(present(small.validation), heldout=heldout)
    m = dataclasses.replace(small, ranker=dataclasses.replace(small.ranker, validation=validation))
    text = m.to_json()
    assert "NaN" not in text
    assert same(m, crank.from_json(text))


@pytest.mark.parametrize("value", [5e-324, 1.7976931348623157e308, 0.1, -0.0, 1e22, 1 / 3])
def test_floats_come_back_bit_for_bit(small: TreeModel, value: float) -> None:
    grown = small.pruning.tree
    root = grown.nodes[0]._replace(y_median=value)
    tree = dataclasses.replace(grown, nodes=(root, *grown.nodes[1:]))
    pruning = dataclasses.replace(small.pruning, tree=tree)
    m = dataclasses.replace(small, ranker=dataclasses.replace(small.ranker, pruning=pruning))
    found = reread(m.to_json()).pruning.tree.nodes[0].y_median
    assert np.float64(found).tobytes() == np.float64(value).tobytes()


def test_settings_that_json_cannot_hold_are_shown_alike(toy: pd.DataFrame) -> None:
    params = {"C": np.float64(0.5)}
    m = crank.fit(toy, "y ~ x1", learner="logistic", learner_params=params, max_depth=2, prune=None)
    info = dataclasses.replace(m.learner, params={"limit": float("inf"), "grid": (1, 2), "C": 0.5})
    odd = dataclasses.replace(m, ranker=dataclasses.replace(m.ranker, learner=info))
    back = reread(odd.to_json())
    assert str(back.summary()) == str(odd.summary())
    assert back.to_json() == odd.to_json()
    assert back.learner.params["C"] == 0.5
    assert reread(m.to_json()).learner.params == {"C": 0.5}


def test_text_in_any_language_comes_back() -> None:
    rng = np.random.default_rng(1)
    size = rng.normal(size=60)
    kinds = rng.choice(np.array(["ä", "猫", "𝄞"], dtype=object), 60)
    data = {"größe": size, "種": kinds, "y": size}
    m = crank.fit(data, "y ~ größe + 種", max_depth=2, prune=None)
    text = m.to_json()
    assert text.isascii()
    np.testing.assert_array_equal(crank.from_json(text).predict(data), m.predict(data))


def test_files_are_written_in_one_step_and_loaded(
    small: TreeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.json"
    small.to_json(path)
    assert path.read_text() == small.to_json()
    assert crank.load(path).to_json() == crank.load(str(path)).to_json() == small.to_json()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        small.prune(n_leaves=2).to_json(path)
    assert path.read_text() == small.to_json()
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_layout_and_key_order_do_not_matter(small: TreeModel) -> None:
    text = small.to_json()
    compact = json.dumps(dict(reversed(json.loads(text).items())), separators=(",", ":"))
    assert crank.from_json(compact).to_json() == text
    assert crank.from_json(b"\xef\xbb\xbf" + text.encode()).to_json() == text
    # JavaScript writes 1.0 as 1
    whole = parse(
        text,
    )
    whole["ranker"]["nodes"] = [
        node | {"weight": int(node["weight"])} for node in whole["ranker"]["nodes"]
    ]
    assert crank.from_json(json.dumps(whole)).to_json() == text


def test_a_model_with_the_users_functions_is_not_saved(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ twice(x1)", context={"twice": lambda x: 2 * x}, max_depth=2, prune=None)
    with pytest.raises(FormulaError, match=r"twice.*context=.*cannot be saved"):
        m.to_json()
    m = crank.fit(toy, "twice(y) ~ x1", context={"twice": lambda x: 2 * x}, max_depth=2, prune=None)
    with pytest.raises(FormulaError, match="twice"):
        m.to_json()


def test_a_learner_that_is_not_installed_is_not_saved(toy: pd.DataFrame) -> None:
    class Mine(Stump):
        pass

    m = crank.fit(toy, "y ~ x1", learner=Mine(), max_depth=2, prune=None)
    with pytest.raises(NotExportableError, match="'Mine' is not installed"):
        m.to_json()


@pytest.mark.filterwarnings("ignore:models of:crank.errors.PluginWarning")
def test_a_classifier_without_a_plain_form_is_not_saved(toy: pd.DataFrame) -> None:
    from sklearn.naive_bayes import GaussianNB

    from crank.plugins.sklearn import SklearnLearner

    m = crank.fit(toy, "y ~ x1", learner=SklearnLearner(GaussianNB()), max_depth=2, prune=None)
    with pytest.raises(CrankError):
        m.to_json()


def test_a_rule_that_is_not_plain_or_reads_back_otherwise_is_not_saved(
    toy: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = crank.fit(toy, "y ~ x1", max_depth=2, prune=None)
    honest = StumpRule.to_dict
    monkeypatch.setattr(StumpRule, "to_dict", lambda self: honest(self) | {"threshold": np.nan})
    with pytest.raises(PluginError, match="'stump' wrote a rule that is not plain data"):
        m.to_json()
    monkeypatch.setattr(StumpRule, "to_dict", lambda self: {"levels": None} | honest(self))
    monkeypatch.setattr(
        StumpRule, "from_dict", classmethod(lambda cls, d: cls(d["column"], d["threshold"] + 1.0))
    )
    with pytest.raises(PluginError, match=r"does not read back.*rule\.threshold"):
        m.to_json()


def stamped(document: dict[str, Any]) -> str:
    """Write a changed document with a fingerprint that fits, as a forger would."""
    return json.dumps(document | {"fingerprint": fingerprint(document)})


def edited(model: TreeModel, *path: str | int, to: Any) -> str:
    """Change one value of a model's document."""
    document = json.loads(model.to_json())
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return stamped(document)


@pytest.mark.parametrize(
    ("path", "to", "says"),
    [
        (("crank_model",), 3, "version 3"),
        (("crank_model",), "1", "no crank model"),
        (("crank_model",), True, "no crank model"),
        (("formula",), 3, "formula is 3"),
        (("ranker", "learner", "name"), "nobody", "no split learner named 'nobody'"),
        (("ranker", "learner", "name"), "os.system", "no split learner named 'os.system'"),
        (("ranker", "learner", "name"), "logistic", "rule"),
        (("ranker", "learner", "takes_categories"), False, "takes_categories"),
        (("ranker", "options", "criterion"), "gini", "'gini'"),
        (("ranker", "options", "max_depth"), 10**9, "options.max_depth"),
        (("training", "n"), 1.5, "training.n is 1.5"),
        (("ranker", "totals", "kendall"), 0.0, "no positive weight of pairs"),
        (("training", "figures", "auc"), {}, "figures.'auc'"),
        (("ranker", "pruning", "figure"), "tau", "pruning.figure='tau'"),
        (("ranker", "pruning", "validation", "folds"), 10**9, "heldout is not a table"),
        (("ranker", "pruning", "validation", "step"), 99, "beyond the last"),
        (("ranker", "pruning", "validation", "heldout"), [], "heldout is not a table"),
        (
            (
                "ranker",
                "leaf_order",
            ),
            "random",
            "leaf_order is 'random'",
        ),
        (
            (
                "ranker",
                "leaf_order",
            ),
            "rank",
            "'rank' order",
        ),
        (("ranker", "leaves", 0, "node"), 10**9, "leaves"),
        (("ranker", "leaves", 0, "score"), 1e6, "other scores"),
        (
            (
                "ranker",
                "leaves",
            ),
            [],
            "leaves is []",
        ),
        (
            (
                "ranker",
                "nodes",
            ),
            [],
            "nodes is []",
        ),
        (("ranker", "nodes", 0, "split", "left"), 0, "nodes[0].split.left"),
        (("ranker", "nodes", 0, "split", "left"), 2, "two parents"),
        (("ranker", "nodes", 0, "split", "left"), 10**9, "Allowed: a later node"),
        (("ranker", "nodes", 0, "split", "left"), -1, "nodes[0].split.left is -1"),
        (("ranker", "nodes", 0, "split", "sign"), 2, "nodes[0].split.sign"),
        (("ranker", "nodes", 0, "split", "cut"), "0", "nodes[0].split.cut"),
        (("ranker", "nodes", 0, "split", "gains", "iauc"), 1e300, "exceeds what there is to gain"),
        (("ranker", "nodes", 0, "split", "rule", "column"), 10**9, "design column 1000000000"),
        (("ranker", "nodes", 0, "split", "rule", "column"), -1, "design column -1"),
        (("ranker", "nodes", 0, "split", "rule", "column"), "0", "rule.column"),
        (("ranker", "nodes", 0, "split", "rule", "above"), 1, "rule.above"),
        (("ranker", "nodes", 0, "split", "rule", "threshold"), "high", "could not convert"),
        (("ranker", "nodes", 0, "split", "rule", "levels"), [[0], [10**9]], "levels of its rule"),
        (("ranker", "nodes", 0, "split", "rule", "surprise"), 1, "rule.surprise"),
        (("ranker", "nodes", 0, "split", "rule"), {}, "cannot read"),
        (("ranker", "nodes", 0, "n"), 81, "sum of its children"),
        (("ranker", "nodes", 0, "quartiles"), [0.0, 1.0], "quartiles"),
        (("ranker", "nodes", 1, "weight"), -1.0, "nodes[1].weight is -1.0"),
        (("design", "blocks", 0, 1), [10**9], "block"),
        (("design", "factors", 0, "steps"), [["import", "os"]], "no known step"),
        (("design", "factors", 0, "steps"), [["call", "os.system", 1]], "no known step"),
        (("design", "factors", 0, "type"), "lambda", "type is 'lambda'"),
        (("design", "variables", 0, 1), "code", "variables[0][1] is 'code'"),
        (("response", "steps"), [["column", "z"]], "no known step"),
        (("surprise",), 1, "'surprise'"),
    ],
)
def test_a_forged_value_is_refused_with_its_place(
    small: TreeModel, path: tuple[str | int, ...], to: Any, says: str
) -> None:
    text = edited(small, *path, to=to)
    with pytest.raises(ModelFileError) as caught:
        crank.from_json(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("key", model_schema()["required"])
def test_a_missing_entry_is_refused_by_name(small: TreeModel, key: str) -> None:
    document = json.loads(small.to_json())
    del document[key]
    with pytest.raises(ModelFileError):
        crank.from_json(json.dumps(document))
    if key not in ("crank_model", "fingerprint"):
        with pytest.raises(ModelFileError, match=f"{key} is missing"):
            crank.from_json(stamped(document))


def test_hostile_bytes_are_refused(small: TreeModel, tmp_path: Path) -> None:
    good = small.to_json()
    deep = "[" * 100_000
    bad = {
        "": "empty",
        " \n": "empty",
        "null": "not an object",
        "[1, 2]": "not an object",
        good[: len(good) // 2]: "not JSON",
        good[:-3]: "not JSON",
        good + "{}": "not JSON",
        deep: "nested too deeply",
        '{"crank_model": 1, "x": ' + deep: "nested too deeply",
        '{"a":' * 100_000: "nested too deeply",
        good.replace('"n": 80', '"n": 1e999', 1): "too large for a double",
        good.replace('"n": 80', '"n": ' + "9" * 400, 1): "too many digits",
        good.replace('"n": 80', '"n": ' + "9" * 10_000, 1): "too many digits",
        good.replace('"n": 80', '"n": NaN', 1): "NaN is not a number",
        good.replace('"n": 80', '"n": -Infinity', 1): "-Infinity is not a number",
        good.replace('"n": 80', '"n": 80, "n": 80', 1): "'n' appears twice",
        good.replace('"n": 80', '"n": 81', 1): "fingerprint",
    }
    for text, says in bad.items():
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(ModelFileError) as caught:
            crank.from_json(text)
        assert says in str(caught.value)
        with pytest.raises(ModelFileError) as caught:
            crank.load(path)
        assert says in str(caught.value)
    for raw in (b"\xff\xfe\x00", good.encode("utf-16"), b"\x00" * 100, b"\x89PNG\r\n"):
        path.write_bytes(raw)
        with pytest.raises(ModelFileError):
            crank.load(path)
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08\x12\x05crank\xff")
    with pytest.raises(ModelFileError, match=r"m\.onnx.*crank\.serve\.Scorer"):
        crank.load(tmp_path / "m.onnx")
    with pytest.raises(ModelFileError, match="folder"):
        crank.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        crank.load(tmp_path / "none.json")


def test_deep_values_that_python_can_still_parse_do_no_harm(small: TreeModel) -> None:
    document = json.loads(small.to_json())
    for depth in (20, 200, 500, 900, 980):
        document["ranker"]["learner"]["params"] = {"x": 0}
        nested = "[" * depth + "]" * depth
        text = json.dumps(document).replace('{"x": 0}', '{"x": ' + nested + "}")
        with pytest.raises(ModelFileError, match=r"fingerprint|deeply"):
            crank.from_json(text)


def test_a_small_file_that_claims_gigabytes_is_refused_at_once(toy: pd.DataFrame) -> None:
    import tracemalloc

    m = crank.fit(toy, "y ~ poly(x1, 3, raw=True) + g", learner="logistic", max_depth=2, prune=None)
    document = json.loads(m.to_json())
    claims = []
    for change in (
        {"name": "x" * 10**6, "degree": 100},
        {"degree": 10**9},
    ):
        copy = json.loads(json.dumps(document))
        copy["design"]["factors"][0] |= change
        claims.append(copy)
    wide = json.loads(json.dumps(document))
    wide["design"]["factors"] = [document["design"]["factors"][0] | {"degree": 100}] * 6
    wide["design"]["blocks"] = [["x" * 1000, [0, 1, 2, 3, 4, 5], 1.0]]
    levels = json.loads(json.dumps(document))
    levels["design"]["factors"][1] |= {"name": "g" * 10**5, "levels": list(map(str, range(10**4)))}
    for hostile in (*claims, wide, levels):
        text = stamped(hostile)
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError):
                crank.from_json(text)
            assert tracemalloc.get_traced_memory()[1] < 10**8
        finally:
            tracemalloc.stop()


def test_trees_that_share_a_branch_are_refused(toy: pd.DataFrame) -> None:
    """Each node twice the child of the one before: 2^60 ways through 61 nodes."""
    m = crank.fit(toy, "y ~ x1", learner="tree", max_depth=1, prune=None)
    document = json.loads(m.to_json())
    n = 61
    children = [*range(1, n), n - 1]
    document["ranker"]["nodes"][0]["split"]["rule"] |= {
        "feature": [0] * n,
        "threshold": [0.0] * n,
        "low": children,
        "high": children,
        "missing_low": [0] * n,
        "value": [0.0] * (n - 1) + [1.0],
        "roots": [0],
    }
    with pytest.raises(ModelFileError, match="form no trees"):
        crank.from_json(stamped(document))


def test_rules_that_read_beyond_the_design_are_refused(toy: pd.DataFrame) -> None:
    for learner, field in (("tree", "feature"), ("lightgbm", "feature"), ("logistic", "columns")):
        m = crank.fit(toy, "y ~ x1 + x2", learner=learner, max_depth=1, prune=None)
        document = json.loads(m.to_json())
        document["ranker"]["nodes"][0]["split"]["rule"][field][-1] = 10**6
        with pytest.raises(ModelFileError, match="design column 1000000"):
            crank.from_json(stamped(document))


def test_a_plugin_that_fails_on_a_file_is_a_model_file_error(
    small: TreeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = small.to_json()

    def fails(self: object, *_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    for method in ("describe", "credit"):
        with monkeypatch.context() as patch:
            patch.setattr(StumpRule, method, fails)
            with pytest.raises(ModelFileError, match="ZeroDivisionError: oops"):
                crank.from_json(text)
    with monkeypatch.context() as patch:
        patch.setattr(StumpRule, "from_dict", fails)
        with pytest.raises(ModelFileError, match="Install the version that wrote the file"):
            crank.from_json(text)


def test_the_schema_uses_only_what_the_checker_knows() -> None:
    def keywords(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema
            for key, value in schema.items():
                if key in ("properties", "$defs"):
                    for inner_schema in value.values():
                        yield from keywords(inner_schema)
                elif key in ("items", "additionalProperties"):
                    yield from keywords(value)
                elif key == "prefixItems":
                    for inner_schema in value:
                        yield from keywords(inner_schema)

    for schema in (file_schema("tree"), format_1_schema()):
        assert set(keywords(schema)) <= KEYWORDS


@pytest.mark.no_cover
def test_the_shipped_schema_is_json_schema_and_agrees_with_the_checker(
    small: TreeModel, toy: pd.DataFrame
) -> None:
    """The reference implementation accepts our files, and refuses what the checker refuses."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(file_schema("tree"))
    validator = jsonschema.Draft202012Validator(file_schema("tree"))
    good = [json.loads(small.to_json())]
    for learner in LEARNERS:
        m = crank.fit(toy, FORMULAS[1], learner=learner, max_depth=2, prune=None)
        good.append(json.loads(m.to_json()))
    for document in good:
        validator.validate(document)
        check_schema(document, file_schema("tree"))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        document = json.loads(small.to_json())
        places = list(leaves(document))
        holder, key = places[rng.integers(len(places))]
        junk: list[Any] = [None, "text", -7, 1e9, True, [], {}, [[]], 0.5]
        holder[key] = junk[rng.integers(len(junk))]
        ours = True
        try:
            check_schema(document, file_schema("tree"))
        except ModelFileError:
            ours = False
            refused += 1
        theirs = validator.is_valid(document)
        # 1e9 is an integer to JSON Schema; the file format wants it written as one
        assert ours == theirs or holder[key] == 1e9
    assert refused > 100


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """List every place in a document that holds a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from leaves(item)


def test_the_document_says_what_it_is(small: TreeModel) -> None:
    document = json.loads(small.to_json())
    assert document["crank_model"] == model_json.FORMAT == 2
    assert document["crank_version"] == crank.__version__
    assert list(document) == [k for k in model_schema()["properties"] if k != "metadata"]
    assert set(document) - {"call", "design", "inputs"} == set(model_schema()["required"])
    assert [leaf["score"] for leaf in document["ranker"]["leaves"]] == small.tree.scores.tolist()
    assert lay_out(document) == small.to_json()


PLUGIN = """
import numpy as np
from crank.plugins.base import SplitLearner, SplitRule

class SignRule(SplitRule):
    def __init__(self, column, scale=1.0):
        self.column, self.scale = column, scale
    def decision(self, X):
        return X[:, self.column] * self.scale
    def to_dict(self):
        return {"column": self.column, "scale": self.scale}
    @classmethod
    def from_dict(cls, d):
        return cls(d["column"], d.get("scale", 1.0))
    def credit(self):
        return {self.column: 1.0}

class Sign(SplitLearner):
    description = "the sign of the first column"
    rule = SignRule
    def fit(self, X, label, weight, *, rng):
        return SignRule(0)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Install a distribution with a learner of its own, as far as discovery can tell."""
    (tmp_path / "signlearner.py").write_text(PLUGIN)
    about = tmp_path / "signlearner-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: signlearner\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[crank.learners]\nsign = signlearner:Sign\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        yield patch
    sys.modules.pop("signlearner", None)


def test_a_plugins_model_loads_where_the_plugin_is_installed(
    toy: pd.DataFrame, plugin: pytest.MonkeyPatch
) -> None:
    m = crank.fit(toy, "y ~ x1 + x2", learner="sign", max_depth=1, prune=None)
    text = m.to_json()
    back = crank.from_json(text)
    np.testing.assert_array_equal(back.predict(toy), m.predict(toy))
    assert str(back.summary()) == str(m.summary())
    # a rule of an earlier version of the plugin, before it had a scale
    document = json.loads(text)
    del document["ranker"]["nodes"][0]["split"]["rule"]["scale"]
    np.testing.assert_array_equal(crank.from_json(stamped(document)).predict(toy), m.predict(toy))
    odd: list[Any] = [
        {"column": 9},
        {"column": 0, "scale": 1e999},
        {"column": "0"},
        {},
        {"column": []},
    ]
    for rule in odd:
        document["ranker"]["nodes"][0]["split"]["rule"] = rule
        with pytest.raises(ModelFileError):
            crank.from_json(json.dumps(document | {"fingerprint": safe_fingerprint(document)}))
    plugin.undo()
    with pytest.raises(
        ModelFileError, match=r"no split learner named 'sign'\..*Install signlearner 1\.0\."
    ):
        crank.from_json(text)


def safe_fingerprint(document: dict[str, Any]) -> str:
    try:
        return fingerprint(document)
    except ModelFileError:
        return ""
