"""Distillation: a readable model keeps the order of another, and its figures are what they say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError
from tests.narrowing import of


def sample(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x1": rng.normal(size=n), "x2": rng.normal(size=n)})
    frame["g"] = rng.choice(list("abc"), n)
    frame["y"] = frame["x1"] + frame["g"].map({"a": 0.0, "b": 1.0, "c": 2.0})
    frame["y"] += 0.5 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def teacher() -> crank.LinearModel:
    return crank.linear(sample(200, 0), "y ~ .")


def test_a_linear_student_of_a_linear_model_loses_little(
    teacher: crank.LinearModel,
) -> None:
    found = crank.distill(teacher, sample(150, 1), kind="linear")
    assert found.fidelity.estimate > 0.99
    assert found.price is not None
    assert abs(found.price.estimate) < 0.01


def test_more_leaves_are_more_faithful(teacher: crank.LinearModel) -> None:
    few, many = (crank.distill(teacher, sample(200, 2), max_leaves=k) for k in (3, 16))
    leaves = [of(crank.TreeModel, found.model).tree.n_leaves for found in (few, many)]
    assert leaves[0] <= 3 < leaves[1] <= 16
    assert many.fidelity.estimate > few.fidelity.estimate + 0.02
    assert few.price is not None
    assert many.price is not None
    assert few.price.estimate > many.price.estimate
    assert few.price.ci_low < few.price.estimate < few.price.ci_high


def test_figures_are_out_of_sample(teacher: crank.LinearModel) -> None:
    data = sample(120, 3)
    found = crank.distill(teacher, data, max_leaves=20)
    seen = crank.metrics.kendall(teacher.predict(data), found.model.predict(data))
    assert found.fidelity.estimate < seen


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_rows_of_no_weight_are_as_if_absent(kind: Any, teacher: crank.LinearModel) -> None:
    data = sample(120, 5)
    weights = np.tile([0.0, 1.0, np.nan, 2.0], 30)
    kept = weights > 0
    found = crank.distill(teacher, data, weights=weights, kind=kind)
    wanted = crank.distill(teacher, data[kept], weights=weights[kept], kind=kind)
    assert found.n == wanted.n == 60
    assert (found.fidelity, found.price) == (wanted.fidelity, wanted.price)
    assert np.array_equal(found.model.predict(data), wanted.model.predict(data))
    with pytest.raises(DataError, match="no row has a weight"):
        crank.distill(teacher, data, weights=np.zeros(120))


def test_too_few_rows_for_folds_ask_for_more(teacher: crank.LinearModel) -> None:
    with pytest.raises(DataError, match="more rows"):
        crank.distill(teacher, sample(3, 5))


def test_no_response_is_needed(teacher: crank.LinearModel) -> None:
    data = sample(100, 4).drop(columns="y")
    found = crank.distill(teacher, data, "x1 + g", max_leaves=5)
    assert found.price is None
    assert "price" not in str(found)
    assert {variable.name for variable in found.model.variables} <= {"x1", "g"}


def test_y_is_no_predictor_of_the_student(teacher: crank.LinearModel) -> None:
    data = sample(100, 5).assign(w=2.0)
    for formula in (None, "."):
        found = crank.distill(teacher, data, formula, max_leaves=5, weights="w")
        assert "y" not in {variable.name for variable in found.model.variables}
    assert "fidelity" in str(found)


@pytest.mark.parametrize("wrong", [{"max_leaves": 1}, {"cv": 1}, {"kind": "forest"}])
def test_wrong_options_are_refused(wrong: dict[str, Any], teacher: crank.LinearModel) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        crank.distill(teacher, sample(50, 6), **wrong)


def test_a_constant_model_has_no_order(teacher: crank.LinearModel) -> None:
    data = sample(50, 7).assign(x1=0.0, x2=0.0, g="a")
    with pytest.raises(DataError, match="no order to mimic"):
        crank.distill(teacher, data)
