"""Paired comparison of models."""

from typing import Literal

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError
from crank.judging.comparison import holm


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    train = crank.datasets.regression(400, 5, random_state=0).frame
    return train, crank.datasets.regression(1000, 5, random_state=1).frame


@pytest.fixture(scope="module")
def models(data: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, crank.TreeModel]:
    train, _ = data
    return {
        "one": crank.fit(train, "y ~ x1", prune=None, max_depth=2),
        "all": crank.fit(train, "y ~ .", learner="logistic", criterion="kendall"),
        "few": crank.fit(train, "y ~ x1 + x2 + x4"),
    }


def test_a_model_against_itself_shows_no_difference(
    data: tuple[pd.DataFrame, pd.DataFrame], models: dict[str, crank.TreeModel]
) -> None:
    result = crank.compare(models["all"], models["all"], data=data[1])
    row = result.tests.iloc[0]
    assert (row["difference"], row["pvalue"]) == (0.0, 1.0)


@pytest.mark.parametrize("metric", ["iauc", "kendall"])
def test_the_test_is_the_one_of_the_metrics(
    data: tuple[pd.DataFrame, pd.DataFrame],
    models: dict[str, crank.TreeModel],
    metric: Literal["iauc", "kendall"],
) -> None:
    _, test = data
    result = crank.compare(models["all"], models["one"], data=test, metric=metric)
    expected = crank.metrics.compare(
        test["y"], models["all"].predict(test), models["one"].predict(test), metric=metric
    )
    row = result.tests.iloc[0]
    assert row["difference"] == expected.difference > 0.1
    assert row["pvalue"] == expected.pvalue < 1e-6
    assert result.n == len(test)
    assert "Paired comparison" in str(result)


def test_several_models_are_adjusted_for_their_number(
    data: tuple[pd.DataFrame, pd.DataFrame], models: dict[str, crank.TreeModel]
) -> None:
    result = crank.compare(models, data=data[1])
    assert result.estimates["model"].iloc[0] == "all"
    assert len(result.tests) == 3
    assert (result.tests["pvalue_adjusted"] >= result.tests["pvalue"]).all()


def test_holm_agrees_with_r() -> None:
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.9), "holm")
    found = holm(np.array([0.01, 0.02, 0.03, 0.04, 0.9]))
    np.testing.assert_allclose(found, [0.05, 0.08, 0.09, 0.09, 0.9])


def test_increasing_transforms_of_one_response_compare(
    data: tuple[pd.DataFrame, pd.DataFrame], models: dict[str, crank.TreeModel]
) -> None:
    train, test = data
    shifted = crank.fit(train, "exp(y / 10) ~ x1 + x2", prune=None)
    assert crank.compare(models["one"], shifted, data=test).n == len(test)


def test_what_cannot_be_compared_is_refused(
    data: tuple[pd.DataFrame, pd.DataFrame], models: dict[str, crank.TreeModel]
) -> None:
    train, test = data
    other = crank.fit(train, "x1 ~ x2 + y", prune=None)
    with pytest.raises(DataError, match="Compare models of one response"):
        crank.compare(models["one"], other, data=test)
    with pytest.raises(OptionError, match="two or more models; got 1"):
        crank.compare(models["one"], data=test)
    with pytest.raises(OptionError, match="among them a str"):
        crank.compare(models["one"], "m2", data=test)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="metric='tau'"):
        crank.compare(models["one"], models["all"], data=test, metric="tau")  # type: ignore[arg-type]
