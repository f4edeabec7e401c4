"""Dates in formulas: days since 1970-01-01, in every frame, in model files and in ONNX."""

import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crank
from crank.datafiles import Expected
from crank.datafiles.fields import as_column
from crank.design.spec import DesignSpec
from crank.errors import DataError, FormulaError, OptionError
from crank.formula import learn_design, learn_response, parse_formula
from crank.frames.table import Table
from crank.scoring import file_scorer, score_file
from crank.serve import Scorer

DAYS = [dt.date(1969, 12, 31), dt.date(2020, 2, 29), None]
TIMES = [dt.datetime(2020, 1, 1, 6), dt.datetime(1960, 1, 1, 18, 0, 0, 1), None]
BERLIN = dt.timezone(dt.timedelta(hours=2))

DATE_COLUMNS = {
    "objects": DAYS,
    "numpy": np.array(DAYS, dtype="datetime64[D]"),
    "numpy-ns": np.array(DAYS, dtype="datetime64[ns]"),
    "pandas": pd.to_datetime(pd.Series(DAYS)),
    "pandas-objects": pd.Series(DAYS, dtype=object),
    "pandas-arrow": pd.Series(DAYS, dtype="date32[pyarrow]"),
    "polars": pl.Series(DAYS),
    "arrow": pa.chunked_array([pa.array(DAYS)]),
}


@pytest.mark.parametrize("kind", DATE_COLUMNS)
def test_dates_of_any_frame_are_days_since_1970(kind: str) -> None:
    table = Table.read({"day": DATE_COLUMNS[kind]})
    assert table.kind("day") == "date"
    # R: as.numeric(as.Date(c("1969-12-31", "2020-02-29", NA)))
    np.testing.assert_array_equal(table.days("day"), [-1, 18321, np.nan])
    np.testing.assert_array_equal(table.missing("day"), [False, False, True])


@pytest.mark.parametrize("unit", ["h", "s", "ms", "us", "ns"])
def test_times_are_fractions_of_days(unit: str) -> None:
    table = Table.read({"t": np.array(TIMES, dtype="datetime64[us]").astype(f"datetime64[{unit}]")})
    moment = 1e-6 / 86400 if unit in ("us", "ns") else 0
    np.testing.assert_allclose(
        table.days("t"), [18262.25, -3653 + 0.75 + moment, np.nan], rtol=1e-15
    )


def test_times_of_any_frame_are_the_same() -> None:
    columns = [
        TIMES,
        pd.Series(TIMES, dtype="datetime64[us]"),
        pd.Series(TIMES, dtype="timestamp[us][pyarrow]"),
        pl.Series(TIMES),
        pa.chunked_array([pa.array(TIMES)]),
    ]
    first, *others = (Table.read({"t": column}).days("t") for column in columns)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_time_zones_count_as_utc() -> None:
    local = dt.datetime(2020, 1, 1, 1, tzinfo=BERLIN)
    utc = dt.datetime(2019, 12, 31, 23)
    for column in (
        [local],
        pd.Series([local]),
        pd.Series([utc]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pl.Series([utc]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        pa.chunked_array([pa.array([utc], pa.timestamp("us", "Asia/Tokyo"))]),
    ):
        assert Table.read({"t": column}).days("t").tolist() == [18261 + 23 / 24]


def sample(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    y = (
        np.sin(np.arange(n)) * 0.3
        + (day >= pd.Timestamp("2021-03-01"))
        + 0.001 * (day.day_of_year.to_numpy())
    )
    return pd.DataFrame({"day": day, "x": rng.normal(size=n), "y": y})


FRAME = sample()
FORMULAS = ["y ~ day", "y ~ day + x", "y ~ I(day %% 7) + poly(day, 2) + x:day", "y ~ ns(day, df=4)"]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("learner", ["stump", "logistic"])
def test_models_on_dates_are_the_same_in_files_and_in_onnx(
    formula: str, learner: str, tmp_path: Path
) -> None:
    model = crank.fit(FRAME, formula, learner=learner, max_depth=3, prune=None)
    scores = model.predict(FRAME)
    assert len(set(scores)) > 1
    model.to_json(tmp_path / "m.json")
    again = crank.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(FRAME), scores)
    scorer = Scorer(model.to_onnx())
    for frame in (FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)):
        np.testing.assert_array_equal(scorer(frame), scores)
        np.testing.assert_array_equal(again.predict(frame), scores)
    row = {"day": dt.date(2021, 6, 1), "x": 0.5}
    one = pd.DataFrame({"day": [pd.Timestamp("2021-06-01")], "x": [0.5]})
    assert scorer(row).tolist() == model.predict(row).tolist() == model.predict(one).tolist()


def test_the_graph_takes_days_as_doubles() -> None:
    model = crank.fit(FRAME, "y ~ day", max_depth=2, prune=None)
    scorer = Scorer(model.to_onnx())
    (given,) = scorer.session.get_inputs()
    assert (given.name, given.type) == ("day", "tensor(double)")
    assert json.loads(scorer.metadata["columns"]) == {
        "day": {"kind": "date", "unit": "days since 1970-01-01 UTC"}
    }
    days = (FRAME["day"] - pd.Timestamp("1970-01-01")).dt.days.to_numpy(float)[:, None]
    (scores,) = scorer.session.run(["score"], {"day": days})
    np.testing.assert_array_equal(scores[:, 0], model.predict(FRAME))
    with pytest.raises(OptionError, match=r"'int64' for column 'day', which holds dates"):
        model.to_onnx(types={"day": "int64"})


def test_missing_dates_are_missing() -> None:
    gaps = FRAME.copy()
    gaps.loc[::7, "day"] = pd.NaT
    model = crank.fit(gaps, "y ~ day + x", max_depth=3, prune=None)
    scorer = Scorer(model.to_onnx())
    np.testing.assert_array_equal(scorer(gaps), model.predict(gaps))
    nothing = {"day": [None], "x": [0.1]}
    np.testing.assert_array_equal(scorer(nothing), model.predict(nothing))


def test_numbers_and_dates_are_not_taken_for_each_other() -> None:
    on_dates = crank.fit(FRAME, "y ~ day", max_depth=2, prune=None)
    on_numbers = crank.fit(FRAME.assign(day=1.0 * FRAME.index), "y ~ day", max_depth=2, prune=None)
    for model, wrong in ((on_dates, {"day": [18262.0]}), (on_numbers, FRAME)):
        wanted = "dates" if model is on_dates else "numbers"
        for use in (model.predict, Scorer(model.to_onnx())):
            with pytest.raises(DataError, match=rf"'day' .* where {wanted} are needed"):
                use(wrong)
    with pytest.raises(DataError, match=r"where dates are needed.*pd.to_datetime.*2020-12-31"):
        on_dates.predict({"day": ["2020-01-01", "soon"]})


def test_text_in_iso_format_is_read_as_dates() -> None:
    model = crank.fit(FRAME, "y ~ day", max_depth=3, prune=None)
    texts = {"day": [*FRAME["day"].dt.strftime("%Y-%m-%d"), None]}
    scores = model.predict(texts)
    np.testing.assert_array_equal(scores[:-1], model.predict(FRAME))
    scorer = Scorer(model.to_onnx())
    np.testing.assert_array_equal(scorer(texts), scores)
    assert scorer({"day": "2021-06-01"}).tolist() == scorer({"day": dt.date(2021, 6, 1)}).tolist()
    assert crank.fit(FRAME, "y ~ day", subset="day < as.Date('2021-01-01')", prune=None).training.n


def test_a_date_is_compared_with_a_date() -> None:
    model = crank.fit(FRAME, "y ~ I(day >= as.Date('2021-03-01'))", max_depth=1, prune=None)
    late = FRAME["day"] >= "2021-03-01"
    np.testing.assert_array_equal(model.predict(FRAME) == model.predict(FRAME).max(), late)


def test_a_category_may_be_made_of_dates() -> None:
    data = {"y": [1, 2, 3, 4], "day": np.array(["2020-01-01", "2020-01-02"] * 2, "datetime64[D]")}
    table = Table.read(data)
    spec = learn_design(parse_formula("y ~ C(day)", table.names), table, native=False)
    assert spec.names == ("C(day)[T.18263]",)
    again = DesignSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    np.testing.assert_array_equal(again.matrix(data), [[0], [1], [0], [1]])


def test_a_response_of_dates_is_ranked_by_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta((1000 * np.round(x, 3)).astype(int), "ns")
    data = pd.DataFrame({"when": when, "x": x})
    table = Table.read(data)
    y = learn_response(parse_formula("when ~ x", table.names), table).values(table)
    exact = when.astype("int64").to_numpy()
    assert len(set(y)) == len(set(exact))  # floats alone know times to a third of a µs
    np.testing.assert_array_equal(np.argsort(y, kind="stable"), np.argsort(exact, kind="stable"))
    by_date = crank.fit(data, "when ~ x", criterion="kendall", max_depth=3, prune=None)
    by_number = crank.fit(
        {"when": np.round(x, 3), "x": x}, "when ~ x", criterion="kendall", max_depth=3, prune=None
    )
    np.testing.assert_array_equal(by_date.predict(data), by_number.predict(data))
    by_date.to_json(tmp_path / "m.json")
    again = crank.load(tmp_path / "m.json")
    kendall = crank.metrics.kendall(exact, by_date.predict(data))
    assert again.evaluate(data).loc["kendall", "estimate"] == pytest.approx(kendall, rel=1e-12)


def test_files_hold_dates_in_iso_format(tmp_path: Path) -> None:
    model = crank.fit(FRAME, "y ~ day + x", max_depth=3, prune=None)
    csv, out = tmp_path / "new.csv", tmp_path / "out.csv"
    FRAME.to_csv(csv, index=False)
    for name in ("m.json", "m.onnx"):
        path = tmp_path / name
        (model.to_json if name.endswith("json") else model.to_onnx)(path)
        assert score_file(file_scorer(path), csv, out) == len(FRAME)
        np.testing.assert_array_equal(pd.read_csv(out)["score"], model.predict(FRAME))
    fields = ["2020-01-01", "", "2020-01-01T12:00", "NaT"]
    column = as_column(fields, Expected("date"), "day", range(2, 6))
    np.testing.assert_array_equal(
        Table.read({"day": column}).days("day"), [18262, np.nan, 18262.5, np.nan]
    )
    with pytest.raises(DataError, match=r"'day' holds 'soon' in line 3.*a date such as 2020-12-31"):
        as_column(["2020-01-01", "soon"], Expected("date"), "day", [2, 3])


def test_a_column_of_dates_and_text_is_called_mixed() -> None:
    with pytest.raises(DataError, match=r"'day' mixes values of the types date, str"):
        Table.read({"day": [dt.date(2020, 1, 1), "soon"]}).kind("day")


def test_a_mix_of_dates_and_text_is_sent_to_a_parser_of_dates() -> None:
    mixed = [dt.date(2020, 1, 1), "2020-01-05"] * 5
    with pytest.raises(DataError, match=r"the types date, str.*with pd\.to_datetime\."):
        crank.fit({"y": range(10), "when": mixed}, "y ~ when")


def days_of_spring() -> pd.DataFrame:
    day = pd.Series(pd.date_range("2019-12-25", periods=40))
    frame = pd.DataFrame({"day": day, "x": np.arange(40.0) % 7, "g": ["a", "b"] * 20})
    frame["y"] = frame["x"] + 5.0 * (frame["day"] > "2020-01-01")
    frame.loc[3, "day"] = pd.NaT
    return frame


@pytest.mark.parametrize(
    ("condition", "n"),
    [
        ("day > '2020-01-01'", 32),
        ("day >= '2020-01-01'", 33),
        ("'2020-01-01' >= day", 7),
        ("'2019-12-30' < day <= '2020-01-02'", 3),
        ("day != '2020-01-01'", 38),
        ("day %in% c('2020-01-01', '2020-01-05')", 2),
        ("day < '2020-01-01' | x > 5", 10),
        ("day < '2020-01-01T12:00'", 7),
    ],
)
def test_rows_are_chosen_by_dates_written_as_text_as_in_r(condition: str, n: int) -> None:
    """R 4.2.2: d <- data.frame(day = as.Date("2019-12-25") + 0:39, x = 0:39 %% 7).

    d$day[4] <- NA; nrow(subset(d, condition)).
    """
    frame = days_of_spring()
    for data in (frame, pl.from_pandas(frame), frame.assign(day=frame["day"].dt.date)):
        assert crank.fit(data, "y ~ x", subset=condition, prune=None).training.n == n


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('I(day > "2020-01-01")', "I(day > as.Date('2020-01-01'))"),
        ("I('2020-01-01' < day)", "I(day > as.Date('2020-01-01'))"),
        ("I(day == '2020-01-05')", "I(day == as.Date('2020-01-05'))"),
        ("ifelse(day <= '2020-01-01', 1, 0):x", "ifelse(day <= as.Date('2020-01-01'), 1, 0):x"),
    ],
)
def test_a_text_beside_a_column_of_dates_is_that_date(text: str, same: str) -> None:
    frame = days_of_spring()
    one = crank.fit(frame, f"y ~ x + {text}", prune=None)
    other = crank.fit(frame, f"y ~ x + {same}", prune=None)
    score = one.predict(frame)
    np.testing.assert_array_equal(score, other.predict(frame))
    steps = [json.loads(m.to_json())["design"]["factors"][-1]["steps"] for m in (one, other)]
    assert steps[0] == steps[1]
    np.testing.assert_array_equal(crank.from_json(one.to_json()).predict(frame), score)
    np.testing.assert_array_equal(Scorer(one.to_onnx())(frame), score)
    written = frame.assign(day=frame["day"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(one.predict(written), score)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (
            "I(day > 'soon')",
            r"which holds dates, with the text 'soon', which is none\. Write",
        ),
        ("I(day == '2020-13-01')", "with the text '2020-13-01', which is none"),
        ("I(x > '2020-01-01')", "but the column holds numbers. Texts are compared with columns"),
        ("I(g > 'a')", "but the column holds categories, which are equal or not but in no order"),
        ("I(day + 1 > '2020-01-01')", "only a column can be compared with a text"),
        ("as.Date(g)", r"column 'g' has dtype .* where dates are needed.*2020-12-31"),
        ("as.Date(day, '%d')", "takes 1 argument without names"),
        ("as.Date(day + 1)", "only a column can be"),
        ("as.Date('soon')", "takes a column, or a date as text"),
    ],
)
def test_texts_that_are_no_dates_are_refused_with_a_way_out(term: str, message: str) -> None:
    with pytest.raises((DataError, FormulaError), match=message):
        crank.fit(days_of_spring(), f"y ~ x + {term}")


WRITTEN = {
    "ns(day, knots=as.Date('2020-09-01'))": "ns(day, knots=[18506])",
    "ns(day, df=3, Boundary.knots=c(as.Date('2019-01-01'), as.Date('2022-01-01')))": (
        "ns(day, df=3, Boundary.knots=c(17897, 18993))"
    ),
    "bs(day, knots=c(as.Date('2020-06-01'), as.Date('2020-09-01T12:00')))": (
        "bs(day, knots=[18414, 18506.5])"
    ),
    "cut(day, c(as.Date('2019-01-01'), as.Date('2020-06-01'), as.Date('2022-01-01')))": (
        "cut(day, [17897, 18414, 18993])"
    ),
    "clip(day, as.Date('2020-02-01'), as.Date('2020-09-01'))": "clip(day, 18293, 18506)",
    "cut(day, seq(as.Date('2019-12-31'), as.Date('2022-01-01'), 122))": (
        "cut(day, seq(18261, 18993, 122))"
    ),
}


@pytest.mark.parametrize("term", WRITTEN)
def test_options_may_be_dates_that_are_written_out(term: str) -> None:
    # R: as.numeric(as.Date("2020-09-01")) is 18506
    rng = np.random.default_rng(4)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 150), unit="D")
    frame = pd.DataFrame({"day": day, "y": np.sin(np.arange(150) / 9.0) + rng.normal(size=150)})
    learner = "stump" if "c" in term[:2] else "logistic"
    m, same = (
        crank.fit(frame, f"y ~ {text}", max_depth=2, prune=None, learner=learner)
        for text in (term, WRITTEN[term])
    )
    wanted = same.predict(frame)
    assert len(set(wanted)) > 1
    np.testing.assert_array_equal(m.predict(frame), wanted)
    for again in (crank.from_json(m.to_json()), pickle.loads(pickle.dumps(m)), m.update(frame)):
        np.testing.assert_array_equal(again.predict(frame), wanted)
    np.testing.assert_array_equal(Scorer(m.to_onnx())(frame), wanted)


@pytest.mark.parametrize("text", ["'2020-13-01'", "2020", "day", "'soon'"])
def test_an_option_that_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(FormulaError, match=r"a date such as as\.Date\('2020-12-31'\)"):
        crank.fit({"day": DAYS, "y": [1, 2, 3]}, f"y ~ ns(day, knots=as.Date({text}))")


def written(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(day=frame["day"].dt.strftime("%Y-%m-%d"))


@pytest.mark.parametrize(
    ("term", "same"),
    [
        ("as.Date(day)", "day"),
        ("I(as.Date(day) > '2020-01-01')", "I(day > '2020-01-01')"),
        ("I('2020-01-01' >= as.Date(day))", "I('2020-01-01' >= day)"),
        ("I(as.Date(`day`) - as.Date('2019-01-01'))", "I(day - as.Date('2019-01-01'))"),
        ("ns(as.Date(day), df=3)", "ns(day, df=3)"),
    ],
)
def test_texts_are_read_as_dates(term: str, same: str) -> None:
    frame = days_of_spring().dropna()
    learner = "logistic" if "ns" in term else "stump"
    options: dict[str, Any] = {"learner": learner, "max_depth": 2, "prune": None}
    wanted = crank.fit(frame, f"y ~ x + {same}", **options).predict(frame)
    assert len(set(wanted)) > 1
    for data in (frame, written(frame), pl.from_pandas(written(frame))):
        m = crank.fit(data, f"y ~ x + {term}", **options)
        assert next(v.kind for v in m.variables if v.name == "day") == "date"
        for new in (frame, written(frame)):
            np.testing.assert_array_equal(m.predict(new), wanted)
            np.testing.assert_array_equal(crank.from_json(m.to_json()).predict(new), wanted)
            np.testing.assert_array_equal(Scorer(m.to_onnx())(new), wanted)


def test_texts_are_read_as_dates_in_conditions_responses_and_folds() -> None:
    frame = days_of_spring()
    chosen = crank.fit(written(frame), "y ~ x", subset="as.Date(day) < '2020-01-01'", prune=None)
    assert chosen.training.n == 6
    m = crank.fit(written(frame), "as.Date(day) ~ x", prune=None)
    same = crank.fit(frame, "day ~ x", prune=None)
    np.testing.assert_array_equal(m.predict(frame), same.predict(frame))
    linear = crank.linear(written(frame), "y ~ x + as.Date(day)", penalty=0.1, cv=None)
    found, wanted = (
        linear.diagnose(data, thresholds=[0.5], cv=2, random_state=0).table
        for data in (written(frame), frame)
    )
    pd.testing.assert_frame_equal(found, wanted)


def test_numbers_are_no_dates() -> None:
    with pytest.raises(DataError, match=r"needs dates, but column 'x' holds none"):
        crank.fit(days_of_spring(), "y ~ as.Date(x)")
