"""Files for production: a digest against damage, lineage, the contract of inputs, bad rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crank
from crank.errors import DataError, ModelFileError, OptionError
from crank.export.json.text import fingerprint
from crank.export.onnx.metadata import FORMAT
from crank.graphs.digest import KEY, sealed
from crank.models.base import RankingModel
from crank.records.kinds import KINDS
from crank.serve import Scorer
from tests.golden.write_onnx import FILES

GOLDEN = Path(__file__).parent / "golden"
GRAPHS = sorted(GOLDEN.glob("onnx-*/*.onnx"))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 120
    frame = pd.DataFrame(
        {"x": rng.uniform(0, 1, n), "g": rng.choice(np.array(["a", "b", None]), n)}
    )
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    frame["y"] = frame["x"] + (frame["g"] == "a") + 0.01 * np.arange(n)
    return frame


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> RankingModel:
    return crank.fit(frame, "y ~ x + g + day", max_depth=5, min_samples_leaf=2, prune=None)


@pytest.fixture(scope="module")
def content(model: RankingModel) -> bytes:
    found = model.to_onnx()
    assert found is not None
    return found


def test_every_flipped_bit_is_noticed(frame: pd.DataFrame) -> None:
    raw = crank.fit(frame, "y ~ g", max_depth=1, prune=None).to_onnx(outputs=["score"])
    assert raw is not None
    mark = raw.index(KEY.encode())
    # the digest covers every byte but its digits; near it the file is tried bit by bit
    places = {*range(mark - 8, mark + 90), *range(0, len(raw), 97)} & set(range(len(raw)))
    for at in places:
        for bit in range(8):
            damaged = bytearray(raw)
            damaged[at] ^= 1 << bit
            with pytest.raises(ModelFileError):
                Scorer(bytes(damaged))
    for cut in range(0, len(raw), 41):
        with pytest.raises(ModelFileError):
            Scorer(raw[:cut])


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("outputs", "[" * 100_000),
        ("outputs", '{"score": "nothing"}'),
        ("columns", '{"x": {}}'),
        ("columns", "[1]"),
        ("design", "3"),
        ("unknown", "maybe"),
        ("schema", "[]"),
        ("crank_onnx", "one"),
        ("levels", "{"),
    ],
)
def test_metadata_that_make_no_sense_are_refused(content: bytes, entry: str, value: str) -> None:
    import onnx

    file = onnx.load_from_string(content)
    for one in file.metadata_props:
        if one.key == entry:
            one.value = value
    with pytest.raises(ModelFileError):
        Scorer(sealed(file.SerializeToString(deterministic=True)))


def test_a_newer_format_is_refused_with_advice(content: bytes) -> None:
    import onnx

    file = onnx.load_from_string(content)
    next(e for e in file.metadata_props if e.key == "crank_onnx").value = str(FORMAT + 1)
    with pytest.raises(ModelFileError, match="Install a newer crank"):
        Scorer(sealed(file.SerializeToString(deterministic=True)))


@pytest.mark.parametrize("path", GRAPHS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_golden_graph_scores_what_it_always_did(path: Path) -> None:
    pinned = json.loads(path.with_suffix(".scores.json").read_text(encoding="utf-8"))
    scorer = Scorer(path)
    for output, values in pinned["outputs"].items():
        found = scorer.predict(pinned["rows"], output)
        np.testing.assert_allclose(found, values, rtol=1e-13, atol=1e-13)


def test_every_format_has_golden_graphs() -> None:
    assert {path.parent.name for path in GRAPHS} == {f"onnx-{k + 1}" for k in range(FORMAT)}
    assert {path.stem for path in GRAPHS if path.parent.name == f"onnx-{FORMAT}"} == set(FILES)
    sources = {GOLDEN / "format-2" / f"{source}.json" for source, _ in FILES.values()}
    kinds = {json.loads(path.read_text(encoding="utf-8"))["kind"] for path in sources}
    assert kinds == set(KINDS)


def test_a_spline_of_a_high_degree_is_refused_at_once(frame: pd.DataFrame) -> None:
    m = crank.fit(frame, "y ~ bs(x, df=5)", max_depth=1, prune=None)
    stored = json.loads(str(m.to_json()))
    (spline,) = stored["design"]["factors"]
    for knots, degree, blocks in ((4000, 1999, 1), (42, 20, 2000)):
        spline["knots"] = [0.0] * (knots // 2) + [1.0] * (knots // 2)
        spline["degree"] = degree
        stored["design"]["blocks"] = [["t", [0], 1.0]] * blocks
        stored["fingerprint"] = fingerprint(stored)
        with pytest.raises(ModelFileError):
            crank.from_json(json.dumps(stored))


def test_files_tell_where_they_come_from(model: RankingModel, frame: pd.DataFrame) -> None:
    owner = {"owner": "pricing", "ticket": {"id": 7}}
    text = str(model.to_json(metadata=owner))
    back = crank.from_json(text)
    assert back.metadata == owner
    stored = json.loads(text)
    assert stored["training"]["created"] == "2017-12-04T00:01:18Z"
    assert stored["training"]["versions"]["crank"] == crank.__version__
    said = Scorer(back.to_onnx() or b"").metadata
    assert said["fingerprint"] == stored["fingerprint"]
    assert said["data"] == stored["training"]["data"]
    assert (said["owner"], json.loads(said["ticket"])) == ("pricing", {"id": 7})
    assert said["created"] == stored["training"]["created"]
    again = crank.fit(pa.Table.from_pandas(frame), "y ~ g + x + day", max_depth=1, prune=None)
    assert again.training.data == back.training.data
    near = frame.assign(x=np.nextafter(frame["x"], 2.0))
    other = crank.fit(near, "y ~ g + x + day", max_depth=1, prune=None)
    assert other.training.data != back.training.data
    for kind in (
        crank.linear(frame, "y ~ x", cv=None),
        crank.additive(frame, "y ~ x"),
        crank.forest(frame, "y ~ x", n_trees=2),
        crank.boost(frame, "y ~ x", rounds=2),
        crank.blend(frame, "y ~ x", members=["tree", "linear"], cv=2),
    ):
        alone = crank.fit(frame, "y ~ x", max_depth=1, prune=None)
        assert kind.training.data == alone.training.data
    with pytest.raises(OptionError, match="cannot be stored"):
        model.to_json(metadata={"a": object()})
    plain = crank.fit(frame, "y ~ x", max_depth=2, prune=None)
    sql = plain.to_sql("sqlite", metadata={"note": "ends */ here"})
    first, rest = sql.split("\n", 1)
    assert rest == plain.to_sql("sqlite")
    assert json.loads(str(plain.to_json(metadata={"note": "ends */ here"})))["fingerprint"] in first
    assert first.count("*/") == 1


def test_the_schema_is_a_json_schema_that_rows_keep(
    model: RankingModel, frame: pd.DataFrame, content: bytes
) -> None:
    schema = model.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    check.validate({"x": 0.5, "g": None, "day": "2020-01-05"})
    assert not check.is_valid({"x": "low", "g": "a", "day": None})
    assert not check.is_valid({"x": 1.0})
    about = schema["properties"]
    assert about["x"]["x-crank"]["maximum"] == frame["x"].max()
    assert about["g"]["x-crank"]["levels"] == ["a", "b"]
    assert about["g"]["x-crank"]["missing"] == frame["g"].isna().mean()
    assert json.loads(str(model.to_json()))["inputs"] == schema
    scorer = Scorer(content)
    assert scorer.schema is not None
    assert scorer.schema["properties"] == {n: about[n] for n in scorer.columns}
    linear = crank.linear(frame, "y ~ x")
    assert linear.schema()["properties"]["x"]["type"] == "number"


def test_missing_unknown_and_far_values_are_counted(content: bytes) -> None:
    scorer = Scorer(content)
    rows = {"x": [0.5, -1.0, 9.0, None], "g": ["a", "zz", None, ""], "day": ["2031-01-01"] * 4}
    report = scorer.inspect(rows) + scorer.inspect(rows)
    assert report.n == 8
    assert report.to_dict()["columns"]["x"] == {"missing": 2, "unknown": 0, "below": 2, "above": 2}
    assert report.columns["g"].unknown == 4
    assert report.columns["day"].above == 8
    with pytest.raises(DataError, match="Export the model again"):
        Scorer(GOLDEN / "onnx-1" / "stump.onnx").inspect({"x": [1.0]})


def test_bad_rows_are_marked_and_the_others_scored(
    model: RankingModel, frame: pd.DataFrame
) -> None:
    good = {"x": 0.5, "g": "a", "day": "2020-02-01"}
    rows = [
        good,
        {**good, "x": "low"},
        {**good, "x": float("inf")},
        {**good, "g": 3},
        {"x": 0.5, "g": "a"},
        {**good, "day": "tomorrow"},
        {**good, "g": None},
        {**good, "g": "zz"},
    ]
    cases: list[tuple[Literal["nan", "error"], set[int]]] = [
        ("nan", {1, 2, 3, 4, 5}),
        ("error", {1, 2, 3, 4, 5, 7}),
    ]
    for unknown, bad in cases:
        scorer = Scorer(model.to_onnx(unknown=unknown) or b"", on_error="row")
        found = scorer.rows(rows)
        assert set(found.errors) == bad == set(np.flatnonzero(np.isnan(found.values)))
        assert scorer(rows)[0] == model.predict([good]).item()
        assert scorer.leaf(rows)[1] == -1
        np.testing.assert_array_equal(scorer(rows), found.values)
        np.testing.assert_array_equal(scorer(frame), model.predict(frame))
        with pytest.raises(DataError):
            Scorer(model.to_onnx(unknown=unknown) or b"")(rows)
    with pytest.raises(DataError, match="'g' of the formula is not in the data"):
        scorer([{"x": 1.0, "day": None}])
    mixed = [None, good, "x", 5]
    assert scorer.rows(mixed).errors == dict.fromkeys((0, 2, 3), "it is no dict of columns")
    assert scorer(mixed)[1] == model.predict([good]).item()
    with pytest.raises(DataError, match="row 0 is no dict of columns"):
        Scorer(model.to_onnx() or b"")(mixed)
    typed = crank.fit(frame, "y ~ x", max_depth=2, prune=None).to_onnx(types={"x": "float"})
    assert set(Scorer(typed or b"", on_error="row").rows({"x": [0.1, 0.5]}).errors) == {0}


def test_records_and_arrow_give_the_same_scores(model: RankingModel, frame: pd.DataFrame) -> None:
    scorer = Scorer(model.to_onnx() or b"")
    table = pa.Table.from_pandas(frame)
    wanted = model.predict(frame)
    records = table.to_pylist()
    for data in (table, table.to_batches()[0], records):
        np.testing.assert_array_equal(scorer(data), wanted)
        np.testing.assert_array_equal(model.predict(data), wanted)
    assert scorer([]).shape == (0,)
    numbers = pa.table({"x": np.linspace(0.0, 1.0, 10)})
    feed = Scorer(crank.fit(frame, "y ~ x", prune=None).to_onnx() or b"").feeds(numbers)["x"]
    assert np.shares_memory(feed, numbers["x"].chunk(0).to_numpy())
