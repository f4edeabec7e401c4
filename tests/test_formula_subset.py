"""Subsets by a condition: the formula's expressions, missing counted as false."""

import datetime as dt
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank.errors import DataError, FormulaError
from crank.formula import read_subset
from crank.frames.table import Table

DATA = {
    "age": [30.0, 95, None, 60],
    "sex": ["f", "f", "m", None],
    "ok": [True, False, True, True],
    "day": [dt.date(2020, 1, k) for k in (1, 2, 3, 4)],
    "my age": [1, 2, 3, 4],
}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("age < 90", [0, 3]),
        ("age < 90 & sex == 'f'", [0]),
        ("age < 90 | ok", [0, 2, 3]),
        ("ok", [0, 2, 3]),
        ("!ok", [1]),
        ("not (sex == 'f')", [2]),
        ("sex %in% c('m', 'x')", [2]),
        ("30 < age <= 95", [1, 3]),
        ("day >= as.Date('2020-01-03')", [2, 3]),
        ("`my age` %% 2 == 0", [1, 3]),
        ("log(age) > 4 and ok", [3]),
        ("age > mean_age", [1]),
    ],
)
def test_rows_are_chosen_as_rs_subset_does(condition: str, rows: list[int]) -> None:
    """R: which(with(d, …)); a missing value is not true."""
    for data in (DATA, pd.DataFrame(DATA), pl.DataFrame(DATA)):
        mask = read_subset(condition, Table.read(data), context={"mean_age": cast(Any, 61)})
        assert mask.dtype == np.bool_
        assert np.flatnonzero(mask).tolist() == rows


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("a > 0 | b > 0", [0, 1, 2, 3, 6]),
        ("a > 0 & b > 0", [0]),
        ("!(a > 0 & b > 0)", [1, 3, 4, 5, 7]),
        ("!(a > 0 | b > 0)", [4]),
        ("a != 0 | b != 0", [0, 1, 2, 3, 6]),
        ("a > 0 | g == 'u'", [0, 3, 6]),
        ("!(a > 0) | b > 0", [0, 1, 2, 4, 7]),
        ("0 < a < 2", [0, 3, 6]),
        ("a > 0 | TRUE", [0, 1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_a_missing_value_leaves_a_decided_condition_as_it_is(
    condition: str, rows: list[int]
) -> None:
    """R 4.2.2: a <- rep(c(1, 0, NA), 3); b <- rep(c(1, 0, NA), each = 3);
    g <- rep(c("u", NA, "v"), 3); which(eval(condition)) - 1.
    """
    three = [1.0, 0.0, np.nan]
    table = Table.read({"a": three * 3, "b": np.repeat(three, 3), "g": ["u", None, "v"] * 3})
    assert np.flatnonzero(read_subset(condition, table)).tolist() == rows
    m = crank.fit(
        {"y": np.arange(9.0), "a": three * 3, "b": np.repeat(three, 3)},
        "y ~ a",
        subset="a > 0 | b > 0",
        prune=None,
    )
    assert m.training.n == 5


@pytest.mark.parametrize(
    ("condition", "error", "message"),
    [
        ("age", FormulaError, r"the subset 'age' is not a condition"),
        ("age + 1", FormulaError, r"not a condition"),
        ("age <", FormulaError, r"the subset 'age <' cannot be read.*Write it as 'age < 90'"),
        ("agee < 3", DataError, r"column 'agee' .*Did you mean 'age'\?"),
        ("C(sex)", FormulaError, r"not a condition"),
        ("", FormulaError, r"the subset '' cannot be read: it is empty"),
        ("age ~ sex", FormulaError, r"cannot stand|cannot be read"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    condition: str, error: type[FormulaError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_subset(condition, Table.read(DATA))


def test_fit_takes_a_condition() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=300), "w": rng.uniform(1, 2, 300)})
    data["y"] = data["x"] + rng.normal(size=300)
    chosen = (data["x"] < 0.5).to_numpy()
    by_text = crank.fit(data, "y ~ x", subset="x < 0.5", weights="w", max_depth=3, prune=None)
    by_mask = crank.fit(data, "y ~ x", subset=chosen, weights="w", max_depth=3, prune=None)
    assert by_text.training.n == chosen.sum()
    np.testing.assert_array_equal(by_text.predict(data), by_mask.predict(data))


def test_a_condition_that_is_never_true_says_so(toy: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"subset 'x1 > 100' is true in none of the 240 rows"):
        crank.fit(toy, "y ~ x1", subset="x1 > 100")
