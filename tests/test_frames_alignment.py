"""A Series of another index is refused wherever one value a row is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError
from crank.metrics import compare, concordance, kendall

FRAME = crank.datasets.regression(60, 5, random_state=0).frame.set_index(np.arange(60) + 100)
MODEL = crank.fit(FRAME, "y ~ .", prune=None, max_depth=2)
SHIFTED = pd.Series(np.linspace(1, 2, 60))
REVERSED = pd.Series(np.linspace(1, 2, 60), index=FRAME.index[::-1])
OPTIONS: dict[str, Any] = {"prune": None, "max_depth": 2}


@pytest.mark.parametrize("values", [SHIFTED, REVERSED])
@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda v: crank.fit(FRAME, "y ~ .", weights=v, **OPTIONS), "weights"),
        (lambda v: crank.fit(FRAME, "y ~ .", subset=v > 1.5, **OPTIONS), "subset"),
        (lambda v: crank.fit(FRAME, "y ~ .", subset=(v > 1.5).astype("boolean")), "subset"),
        (lambda v: MODEL.evaluate(FRAME, weights=v), "weights"),
        (lambda v: MODEL.evaluate(FRAME, groups=v.round(1)), "groups"),
        (lambda v: crank.compare(MODEL, MODEL, data=FRAME, weights=v), "weights"),
        (lambda v: crank.compare(MODEL, MODEL, data=FRAME, groups=v), "groups"),
        (lambda v: MODEL.permutation_importance(FRAME, weights=v), "weights"),
        (lambda v: kendall(FRAME["y"], FRAME["x1"], weights=v), "weights"),
        (lambda v: concordance(FRAME["y"], FRAME["x1"], groups=v), "groups"),
    ],
)
def test_a_series_of_another_index_is_refused(
    call: Callable[..., Any], what: str, values: pd.Series[Any]
) -> None:
    with pytest.raises(DataError, match=f"{what} has another index than (data|y)"):
        call(values)


def test_a_series_of_the_same_index_is_used_and_arrays_go_by_position() -> None:
    weights = np.linspace(1, 2, 60)
    aligned = pd.Series(weights, index=FRAME.index)
    by_index = crank.fit(FRAME, "y ~ .", weights=aligned, subset=aligned > 1.2, **OPTIONS)
    by_place = crank.fit(FRAME, "y ~ .", weights=weights, subset=weights > 1.2, **OPTIONS)
    assert by_index.to_json() == by_place.to_json()
    assert kendall(FRAME["y"], FRAME["x1"], weights=aligned) == kendall(
        FRAME["y"].to_numpy(), FRAME["x1"], weights=SHIFTED
    )


def test_row_numbers_in_a_series_need_no_index() -> None:
    rows = pd.Series([3, 1, 4, 15, 9, 2, 6, 5, 35, 8], index=list("abcdefghij"))
    model = crank.fit(FRAME, "y ~ .", subset=rows, min_samples_leaf=1, **OPTIONS)
    assert model.training.n == 10


def test_groups_are_a_column_or_labels_and_cluster_the_errors() -> None:
    site = np.repeat(np.arange(20), 3)
    data = FRAME.assign(site=[f"s{k}" for k in site])
    by_name, by_label = MODEL.evaluate(data, groups="site"), MODEL.evaluate(data, groups=site)
    pd.testing.assert_frame_equal(by_name, by_label)
    score = MODEL.predict(data)
    expected = concordance(data["y"], score, metric="kendall", groups=site)
    assert by_name.loc["kendall", "se"] == expected.se != MODEL.evaluate(data).loc["kendall", "se"]
    other = crank.fit(FRAME, "y ~ x2", **OPTIONS)
    found = crank.compare(MODEL, other, data=data, groups="site", metric="kendall").tests.iloc[0]
    test = compare(data["y"], score, other.predict(data), metric="kendall", groups=site)
    assert (found["se"], found["pvalue"]) == (test.se, test.pvalue)


def test_rows_without_a_response_need_no_group() -> None:
    site = np.repeat(np.arange(20.0), 3)
    data = FRAME.assign(site=site)
    data.iloc[5, list(data.columns).index("y")] = np.nan
    data.iloc[5, list(data.columns).index("site")] = np.nan
    assert MODEL.evaluate(data, groups="site").loc["kendall", "n"] == 59
    data.iloc[6, list(data.columns).index("site")] = np.nan
    with pytest.raises(DataError, match="groups must not be missing"):
        MODEL.evaluate(data, groups="site")


def test_bad_groups_say_what_is_allowed() -> None:
    with pytest.raises(DataError, match="groups column 'sit' is not in the data"):
        MODEL.evaluate(FRAME.assign(site=1), groups="sit")
    with pytest.raises(DataError, match="groups has shape"):
        MODEL.evaluate(FRAME, groups=[1, 2])
