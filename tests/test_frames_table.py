"""Reading raw columns: the same answers from every kind of frame, and clear refusals."""

import datetime
from collections.abc import Callable
from datetime import time, timedelta
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crank
from crank.errors import DataError
from crank.frames.columns import MISSING_TEXT
from crank.frames.table import Table

COLUMNS: dict[str, list[Any]] = {
    "float": [1.5, None, 3.0],
    "int": [1, 2, 3],
    "gap": [1, None, 3],
    "flag": [True, False, True],
    "maybe": [True, None, False],
    "text": ["b", None, "a"],
}


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "float": [1.5, np.nan, 3.0],
            "int": [1, 2, 3],
            "gap": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "text": ["b", None, "a"],
        }
    )


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas objects": lambda: pd.DataFrame(
        {n: pd.Series(v, dtype=object) for n, v in COLUMNS.items()}
    ),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.LazyFrame(COLUMNS),
    "narwhals": lambda: nw.from_native(pl.DataFrame(COLUMNS)),
    "dict of lists": lambda: COLUMNS,
    "dict of series": lambda: {n: pl.Series(v) for n, v in COLUMNS.items()},
    "table": lambda: Table.read(COLUMNS),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_gives_the_same_columns(frame: str) -> None:
    table = Table.read(FRAMES[frame]())
    assert (table.names, table.n_rows) == (tuple(COLUMNS), 3)
    kinds = ["number", "number", "number", "boolean", "boolean", "category"]
    assert [table.kind(name) for name in table.names] == kinds
    numbers: list[tuple[str, list[float]]] = [
        ("float", [1.5, np.nan, 3.0]),
        ("int", [1, 2, 3]),
        ("gap", [1, np.nan, 3]),
        ("flag", [1, 0, 1]),
        ("maybe", [1, np.nan, 0]),
    ]
    for name, expected in numbers:
        values = table.numeric(name)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(table.missing(name), np.isnan(expected))
    np.testing.assert_array_equal(table.missing("text"), [False, True, False])
    codes, levels = table.codes("text")
    assert levels == ("a", "b")
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(codes, [1, -1, 0])
    np.testing.assert_array_equal(table.codes("gap", [3, 1])[0], [1, -1, 0])


def test_pyarrow_tables_are_read() -> None:
    pa = pytest.importorskip("pyarrow")
    table = Table.read(pa.table(COLUMNS))
    np.testing.assert_array_equal(table.numeric("gap"), [1, np.nan, 3])
    np.testing.assert_array_equal(table.codes("text")[0], [1, -1, 0])


def test_floats_are_not_copied_and_float32_stays() -> None:
    wide = np.arange(4.0)
    narrow = wide.astype(np.float32)
    for table in (
        Table.read(pd.DataFrame({"x": wide, "s": narrow})),
        Table.read({"x": wide, "s": narrow}),
    ):
        assert np.shares_memory(table.numeric("x"), table.numeric("x"))
        assert table.numeric("s").dtype == np.float32
    assert np.shares_memory(Table.read({"x": wide}).numeric("x"), wide)


def test_a_declared_order_is_kept_with_its_absent_levels() -> None:
    order = ["low", "mid", "high"]
    values = ["high", None, "low"]
    for data in (
        pd.DataFrame({"q": pd.Categorical(values, categories=order)}),
        pd.DataFrame({"q": pd.Categorical(values, categories=order, ordered=True)}),
        pl.DataFrame({"q": pl.Series(values, dtype=pl.Enum(order))}),
        {"q": pd.Categorical(values, categories=order)},
    ):
        table = Table.read(data)
        assert table.kind("q") == "category"
        codes, levels = table.codes("q")
        assert levels == tuple(order)
        np.testing.assert_array_equal(codes, [2, -1, 0])


def test_polars_categoricals_are_sorted_because_their_order_is_an_accident() -> None:
    data = pl.DataFrame({"q": pl.Series(["b", "a", None], dtype=pl.Categorical)})
    codes, levels = Table.read(data).codes("q")
    assert levels == ("a", "b")
    np.testing.assert_array_equal(codes, [1, 0, -1])


def test_levels_keep_their_type_and_match_by_value() -> None:
    table = Table.read({"k": [3, 1, 2], "b": [True, False, True]})
    assert table.codes("k")[1] == (1, 2, 3)
    assert all(type(level) is int for level in table.codes("k")[1])
    assert table.codes("b")[1] == (False, True)
    floats = Table.read({"k": [1.0, 3.0, np.nan, 9.0]})
    np.testing.assert_array_equal(floats.codes("k", (1, 2, 3))[0], [0, 2, -1, -2])


def test_categories_that_json_cannot_hold_become_text() -> None:
    cut = pd.cut(pd.Series([0.5, 1.5, 2.5]), [0, 1, 2, 3])
    assert Table.read(pd.DataFrame({"q": cut})).codes("q")[1] == ("(0, 1]", "(1, 2]", "(2, 3]")


def test_values_outside_the_given_levels_are_marked() -> None:
    table = Table.read({"g": ["a", "z", None]})
    np.testing.assert_array_equal(table.codes("g", ("a", "b"))[0], [0, -2, -1])


def test_a_column_of_nulls_fits_wherever_it_is_put() -> None:
    for nothing in ([None, None], np.array([np.nan, np.nan]), pl.Series([None, None])):
        table = Table.read({"x": nothing})
        assert table.kind("x") == "number"
        np.testing.assert_array_equal(table.numeric("x"), [np.nan, np.nan])
        np.testing.assert_array_equal(table.codes("x", ("a", "b"))[0], [-1, -1])


def test_rows_are_chosen_by_mask_or_number_and_again() -> None:
    for data in (pandas_frame(), pl.DataFrame(COLUMNS)):
        table = Table.read(data).rows([2, 0, 2])
        assert table.n_rows == 3
        np.testing.assert_array_equal(table.numeric("int"), [3, 1, 3])
        np.testing.assert_array_equal(table.codes("text")[0], [0, 1, 0])
        again = table.rows(np.array([False, True, True]))
        np.testing.assert_array_equal(again.numeric("int"), [1, 3])
        assert again.rows([]).n_rows == 0
    coded = Table.read(pd.DataFrame({"q": pd.Categorical(["a", "b"])})).rows([1])
    assert coded.codes("q")[1] == ("a", "b")
    with pytest.raises(DataError, match=r"shape \(2,\).*3 rows"):
        table.rows([True, False])


def test_scalars_make_one_row_and_masked_arrays_have_gaps() -> None:
    table = Table.read({"x": 3, "g": "a"})
    assert (table.n_rows, table.numeric("x")[0], table.codes("g")[1]) == (1, 3.0, ("a",))
    masked = Table.read({"x": np.ma.array([1, 2], mask=[False, True])})
    np.testing.assert_array_equal(masked.numeric("x"), [1, np.nan])


def test_decimals_are_numbers() -> None:
    for data in (
        {"x": [Decimal("1.5"), None]},
        pl.DataFrame({"x": [Decimal("1.5"), None]}),
    ):
        np.testing.assert_array_equal(Table.read(data).numeric("x"), [1.5, np.nan])


def test_dates_are_days() -> None:
    day = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    for data in (
        pd.DataFrame({"x": [1, 2], "day": pd.to_datetime(day)}),
        pl.DataFrame({"x": [1, 2], "day": day}),
        {"x": [1, 2], "day": np.array(day, dtype="datetime64[D]")},
        {"x": [1, 2], "day": pl.Series(day)},
    ):
        table = Table.read(data)
        assert table.kind("day") == "date"
        np.testing.assert_array_equal(table.days("day"), [18262, 18263])
        assert not table.missing("day").any()
        assert len(table.codes("day")[1]) == 2
        with pytest.raises(DataError, match=r"'day' holds dates .* where numbers are needed"):
            table.numeric("day")
        with pytest.raises(DataError, match=r"'x' has dtype .* where dates are needed"):
            table.days("x")


def test_columns_that_no_formula_takes_are_refused_only_when_they_are_used() -> None:
    for data in (
        pd.DataFrame({"x": [1, 2], "t": pd.to_timedelta([1, 2], unit="D")}),
        pl.DataFrame({"x": [1, 2], "t": [datetime.timedelta(1), datetime.timedelta(2)]}),
    ):
        table = Table.read(data)
        np.testing.assert_array_equal(table.numeric("x"), [1, 2])
        for use in (table.kind, table.numeric, table.codes, table.missing):
            with pytest.raises(
                DataError, match=r"'t' has dtype .*cannot use.*Convert it to a number"
            ):
                use("t")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "data must be a pandas, polars or pyarrow data frame or a dict of columns, got int"),
        (np.eye(2), "got ndarray. Give the values named columns"),
        ({"x": [1, 2], "z": [1]}, "'z' has 1 rows, 'x' has 2. Give columns of one length"),
        ({"x": np.eye(2)}, r"'x' has 2 dimensions \(shape \(2, 2\)\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "these appear more than once: 'a'"),
        ({1: [1], "1": [2]}, "these appear more than once: '1'"),
    ],
)
def test_what_is_no_table_is_refused(data: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Table.read(data)


def test_wrong_uses_of_a_column_are_explained() -> None:
    table = Table.read({"income": [1.0, 2.0], "cut": ["a", "b"], "odd": ["a", 1]})
    with pytest.raises(
        DataError,
        match=r"'incme' of the formula is not in the data. Columns: income, cut, odd. Did you mean",
    ):
        table.numeric("incme")
    with pytest.raises(
        DataError, match=r"'cut' holds categories \(dtype object\) where numbers are needed"
    ):
        table.numeric("cut")
    with pytest.raises(DataError, match=r"'odd' mixes values of the types int, str.*astype\(str\)"):
        table.kind("odd")
    with pytest.raises(
        DataError,
        match=r"'income' holds numbers \(dtype float64\) where text.*Known levels: 'a', 'b'",
    ):
        table.codes("income", ("a", "b"))
    with pytest.raises(DataError, match=r"'cut' holds text \(dtype object\) where numbers"):
        table.codes("cut", (1, 2))


# Hypothesis tries constants of the modules that are loaded, which the order of the tests decides
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters=MISSING_TEXT), max_size=3)


@given(st.lists(st.one_of(st.none(), TEXTS), min_size=1))
def test_codes_find_every_text_again(values: Any) -> None:
    for data in ({"g": values}, pd.DataFrame({"g": pd.Series(values, dtype=object)})):
        codes, levels = Table.read(data).codes("g")
        assert list(levels) == sorted({v for v in values if v is not None})
        assert [levels[c] if c >= 0 else None for c in codes] == values


@pytest.mark.parametrize("read", [Table.numeric, Table.codes])
def test_whole_numbers_beyond_all_floats_are_refused(read: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="'x' holds whole numbers that are too large"):
        read(Table.read({"x": [1, 10**400]}), "x")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "Int64"])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_frame_of_one_type_is_read_as_column_by_column(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, n: int
) -> None:
    values = np.random.default_rng(n).integers(0, 2, (n, 3))
    frame = pd.DataFrame(values, columns=["a", 2, "c"]).astype(dtype)
    if dtype.startswith("float") and n > 1:
        frame.iloc[1, 0] = np.nan
    at_once = Table.read(frame)
    monkeypatch.setattr("crank.frames.sources.FEW_VALUES", -1)
    one_by_one = Table.read(frame)
    assert at_once.names == one_by_one.names == ("a", "2", "c")
    assert at_once.n_rows == one_by_one.n_rows == n
    for name in at_once.names:
        assert at_once.kind(name) == one_by_one.kind(name)
        assert at_once.dtype(name) == one_by_one.dtype(name)
        np.testing.assert_array_equal(at_once.numeric(name), one_by_one.numeric(name))
        assert at_once.numeric(name).dtype == one_by_one.numeric(name).dtype
        np.testing.assert_array_equal(at_once.missing(name), one_by_one.missing(name))
    picked = at_once.rows(np.arange(n)[::-1])
    np.testing.assert_array_equal(picked.numeric("a"), one_by_one.numeric("a")[::-1])


ROWS = 40
NESTED: dict[str, tuple[list[Any], str]] = {
    "lists": ([[1, 2]] * ROWS, "of the type list.*Give one value for each row"),
    "arrays": ([np.array([1.0, 2.0])] * ROWS, "of the type ndarray.*Give one value for each row"),
    "dicts": ([{"a": 1}] * ROWS, "of the type dict.*Give one value for each row"),
    "series": ([pd.Series([1, 2])] * ROWS, "of the type Series.*Give one value"),
    "complex": ([1 + 2j] * ROWS, "of the type complex.*real part"),
    "durations": ([timedelta(1)] * ROWS, r"timedelta.*data\['z'\] / pd.Timedelta\('1D'\)"),
    "times": ([time(1, 2)] * ROWS, "of the type time.*hours since midnight"),
    "bytes": ([b"ab"] * ROWS, "of the type bytes.*Decode it"),
    "objects": ([object()] * ROWS, "of the type object.*text with"),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("frame", [pd.DataFrame, dict])
def test_columns_that_no_formula_can_use_are_refused_with_a_way_out(name: str, frame: Any) -> None:
    values, message = NESTED[name]
    column = np.empty(ROWS, dtype=object)
    for k, value in enumerate(values):
        column[k] = value
    data = frame({"x": np.arange(float(ROWS)), "y": np.arange(float(ROWS)) % 7, "z": column})
    for fit in (crank.fit, crank.linear, crank.forest, crank.boost, crank.additive):
        with pytest.raises(DataError, match=f"column 'z' .*{message}.*leave it out of the formula"):
            fit(data, "y ~ x + z")


@pytest.mark.parametrize(
    ("dtype", "values", "message"),
    [
        (pl.List(pl.Int64), [[1, 2]], "Give one value for each row"),
        (pl.Struct({"a": pl.Int64}), [{"a": 1}], "Give one value for each row"),
        (pl.Duration(), [timedelta(1)], "Convert it to a number, for example to days"),
        (pl.Time(), [time(1)], "hours since midnight"),
        (pl.Binary(), [b"a"], "Decode it"),
    ],
)
def test_columns_of_polars_that_no_formula_can_use_are_refused_alike(
    dtype: Any, values: list[Any], message: str
) -> None:
    table = Table.read(pl.DataFrame({"z": pl.Series(values * 5, dtype=dtype)}))
    with pytest.raises(DataError, match=f"column 'z' has dtype .*{message}"):
        table.missing("z")


def test_a_dict_may_hold_what_pandas_holds_columns_in() -> None:
    days = pd.date_range("2020-01-01", periods=4)
    table = Table.read(
        {
            "whole": pd.array([1, None, 3, 4], dtype="Int64"),
            "true": pd.array([True, None, False, True], dtype="boolean"),
            "text": pd.array(["a", None, "b", "a"], dtype="string"),
            "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.0, 0.0]),
            "index": pd.Index([4, 3, 2, 1]),
            "days": days,
            "spans": days - days[0],
        }
    )
    np.testing.assert_array_equal(table.numeric("whole"), [1.0, np.nan, 3.0, 4.0])
    assert table.kind("true") == "boolean"
    assert table.values("text") == ["a", None, "b", "a"]
    np.testing.assert_array_equal(table.numeric("sparse"), [0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(table.numeric("index"), [4.0, 3.0, 2.0, 1.0])
    assert table.days("days")[0] == 18262.0
    with pytest.raises(DataError, match=r"dtype timedelta64.*pd.Timedelta"):
        table.missing("spans")


def test_missing_values_beside_pandas_na_are_still_seen() -> None:
    table = Table.read({"x": np.array([pd.NA, np.nan, 1.0, None], dtype=object)})
    assert table.missing("x").tolist() == [True, True, False, True]
