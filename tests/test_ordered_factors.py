"""Ordered factors: one cut along their levels, the same in text, files, ONNX and SQL."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank.design.spec import DesignSpec
from crank.errors import DataError
from crank.formula import learn_design, parse_formula
from crank.frames.table import Table
from crank.serve import Scorer

SIZES = ["S", "M", "L", "XL"]


def sample(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    code = rng.integers(0, 4, n)
    y = np.array([0.0, 1.5, 1.4, 2.0])[code] + rng.normal(0, 0.3, n)
    size = pd.Categorical(np.array(SIZES)[code], SIZES, ordered=True)
    return pd.DataFrame({"size": size, "x": rng.normal(size=n), "y": y})


FRAME = sample()
POLARS = pl.from_pandas(FRAME.astype({"size": str})).with_columns(
    pl.col("size").cast(pl.Enum(SIZES))
)


def design(formula: str, data: pd.DataFrame = FRAME, *, native: bool = True) -> DesignSpec:
    table = Table.read(data)
    return learn_design(parse_formula(formula, table.names), table, native=native)


@pytest.mark.parametrize("data", [FRAME, POLARS], ids=["pandas", "polars"])
def test_an_ordered_factor_is_one_column_that_is_cut_like_a_number(data: pd.DataFrame) -> None:
    spec = design("y ~ size", data)
    assert spec.names == ("size",)
    assert spec.levels == (None,)
    assert spec.level_names == (tuple(SIZES),)
    np.testing.assert_array_equal(spec.matrix(FRAME)[:, 0], FRAME["size"].cat.codes)
    again = DesignSpec.from_dict(spec.to_dict())
    assert again == spec
    assert spec.to_dict()["factors"][0]["type"] == "ordered"


@pytest.mark.parametrize("data", [FRAME, POLARS], ids=["pandas", "polars"])
def test_a_cut_is_written_with_the_names_of_levels(data: pd.DataFrame) -> None:
    model = crank.fit(data, "y ~ size", max_depth=1, prune=None, criterion="kendall")
    text = str(model)
    assert "size >= M" in text
    assert "size <= S" in text
    reverse = crank.fit(FRAME.assign(y=-FRAME["y"]), "y ~ size", max_depth=1, prune=None)
    assert "size <= " in str(reverse)
    assert "size >= " in str(reverse)


def test_c_takes_the_order_away() -> None:
    spec = design("y ~ C(size)")
    assert spec.levels == (tuple(SIZES),)
    unordered = FRAME.assign(size=FRAME["size"].cat.as_unordered())
    assert design("y ~ size", unordered).levels == (tuple(SIZES),)


def test_interactions_and_dummies_ignore_the_order() -> None:
    data = FRAME.assign(g=np.where(FRAME["x"] > 0, "u", "v"))
    assert design("y ~ size:g", data).levels[0] is not None
    assert design("y ~ size:x", data).names == tuple(f"size[{s}]:x" for s in SIZES)
    assert design("y ~ size", native=False).names == tuple(f"size[T.{s}]" for s in SIZES[1:])


def test_new_rows_may_hold_any_type_of_text() -> None:
    spec = design("y ~ size")
    for new in (
        {"size": ["L", None, "S"]},
        pd.DataFrame({"size": pd.Categorical(["L", None, "S"])}),
        pl.DataFrame({"size": ["L", None, "S"]}),
    ):
        np.testing.assert_array_equal(spec.matrix(new)[:, 0], [2, np.nan, 0])
    with pytest.raises(DataError, match=r"'size' has values that the model does not know: 'XS'"):
        spec.matrix({"size": ["XS"]})
    assert np.isnan(spec.matrix({"size": ["XS"]}, unknown="missing")).all()


@pytest.mark.parametrize("unknown", ["missing", "error"])
def test_files_and_onnx_score_ordered_factors_alike(tmp_path: Path, unknown: str) -> None:
    gaps = FRAME.copy()
    gaps.loc[::9, "size"] = np.nan
    model = crank.fit(gaps, "y ~ size + x", max_depth=4, prune=None)
    model.to_json(tmp_path / "m.json")
    again = crank.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(gaps), model.predict(gaps))
    assert str(again) == str(model)
    scorer = Scorer(model.to_onnx(unknown="error" if unknown == "error" else "nan"))
    np.testing.assert_array_equal(scorer(gaps), model.predict(gaps))
    odd = {"size": ["XS", "M"], "x": [0.5, 0.1]}
    if unknown == "error":
        with pytest.raises(DataError, match=r"does not know"):
            scorer(odd)
    else:
        np.testing.assert_array_equal(scorer(odd), model.predict(odd, unknown="missing"))


def test_sql_lists_the_levels_of_each_side() -> None:
    duckdb = pytest.importorskip("duckdb")
    gaps = FRAME.assign(size=FRAME["size"].astype(object))
    gaps.loc[::9, "size"] = None
    fitted = gaps.assign(size=pd.Categorical(gaps["size"], SIZES, ordered=True))
    model = crank.fit(fitted, "y ~ size + x", max_depth=4, prune=None)
    connection = duckdb.connect()
    connection.register("rows", pl.from_pandas(gaps).to_arrow())
    scores = connection.execute(model.to_sql("duckdb", table="rows")).fetchdf()["score"]
    np.testing.assert_array_equal(scores, model.predict(fitted))


def test_numbers_may_be_ordered_levels() -> None:
    data = FRAME.assign(size=pd.Categorical(FRAME["size"].cat.codes * 10, ordered=True))
    spec = design("y ~ size", data)
    assert spec.level_names == (("0", "10", "20", "30"),)
    np.testing.assert_array_equal(spec.matrix({"size": [20, 0]})[:, 0], [2, 0])
    model = crank.fit(data, "y ~ size", max_depth=2, prune=None)
    np.testing.assert_array_equal(Scorer(model.to_onnx())(data), model.predict(data))


@pytest.mark.parametrize(
    ("condition", "levels"),
    [
        ("size >= 'M'", "ML"),
        ("size < 'M'", "S"),
        ("'M' < size", "L"),
        ("size <= 'L'", "SML"),
        ("'S' < size <= 'L'", "ML"),
    ],
)
def test_levels_are_compared_along_their_order_as_in_r(condition: str, levels: str) -> None:
    """R: size <- factor(c("S", "M", "L"), levels = c("S", "M", "L"), ordered = TRUE)."""
    size = pd.Categorical(list("SML") * 10, categories=list("SML"), ordered=True)
    frame = pd.DataFrame({"size": size, "y": np.arange(30.0)})
    frame["named"] = [v in levels for v in frame["size"].astype(str)]
    assert crank.fit(frame, "y ~ size", subset=condition, prune=None).training.n == 10 * len(levels)
    if levels != "SML":
        m = crank.fit(frame, f"y ~ I({condition})", prune=None, max_depth=1)
        truth = crank.fit(frame, "y ~ named", prune=None, max_depth=1)
        np.testing.assert_array_equal(m.predict(frame), truth.predict(frame))
        again = crank.from_json(m.to_json())
        np.testing.assert_array_equal(
            again.predict(frame.assign(size=frame["size"].astype(str))), m.predict(frame)
        )


def test_levels_that_a_comparison_cannot_use_are_named() -> None:
    size = pd.Categorical(list("SML") * 10, categories=list("SML"), ordered=True)
    frame = pd.DataFrame({"size": size, "y": np.arange(30.0)})
    with pytest.raises(DataError, match="'XL', which is none of its levels: 'S', 'M', 'L'"):
        crank.fit(frame, "y ~ size", subset="size < 'XL'")
    with pytest.raises(DataError, match="is true for none of the levels of 'size'"):
        crank.fit(frame, "y ~ size", subset="size > 'L'")
