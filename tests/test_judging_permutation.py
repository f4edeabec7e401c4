from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError

FORMULA = "y ~ x1*g + log(x2) + poly(x1, 2) + flag"


@pytest.fixture
def model(toy: pd.DataFrame) -> crank.TreeModel:
    return crank.fit(toy[:140], FORMULA, criterion="kendall", max_depth=4, prune=None)


def by_hand(
    model: crank.TreeModel,
    frame: pd.DataFrame,
    name: str,
    metric: Callable[..., Any],
    repeats: int,
    rng: np.random.Generator,
) -> float:
    """Shuffle a column of the frame itself and predict anew."""
    base = metric(frame["y"], model.predict(frame))
    drops = []
    for _ in range(repeats):
        order = rng.permutation(len(frame))
        shuffled = frame.assign(**{name: frame[name].to_numpy()[order]})
        drops.append(base - metric(frame["y"], model.predict(shuffled)))
    return float(np.mean(drops))


@pytest.mark.parametrize("name", ["iauc", "kendall"])
@pytest.mark.parametrize("learner", ["stump", "logistic"])
def test_all_terms_of_a_raw_column_move_together(
    toy: pd.DataFrame, name: str, learner: str
) -> None:
    m = crank.fit(toy[:140], FORMULA, learner=learner, max_depth=3, prune=None)
    test = toy[140:]
    table = m.permutation_importance(test, metric=name, repeats=3, random_state=5)
    rng = np.random.default_rng(5)
    expected = {
        variable.name: by_hand(m, test, variable.name, getattr(crank.metrics, name), 3, rng)
        for variable in m.design.variables
    }
    assert set(table["variable"]) == set(expected) == {"x1", "x2", "g", "flag"}
    for variable, importance in zip(table["variable"], table["importance"], strict=True):
        assert importance == pytest.approx(expected[variable], abs=1e-12)
    assert table["importance"].is_monotonic_decreasing


def test_a_column_that_the_tree_does_not_use_has_no_importance_and_no_error() -> None:
    frame = crank.datasets.regression(400, p=6, random_state=0).frame
    m = crank.fit(frame[:200], "y ~ .", max_depth=1, prune=None)
    table = m.permutation_importance(frame[200:]).set_index("variable")
    used = table["importance"] != 0
    assert used.sum() == 1
    assert (table.loc[~used, "se"] == 0).all()
    assert (table.loc[used, "se"] > 0).all()


def test_standard_errors_are_those_of_new_samples() -> None:
    train = crank.datasets.regression(300, p=5, random_state=1).frame
    m = crank.fit(train, "y ~ .", criterion="kendall", max_depth=3, prune=None)
    found = []
    for seed in range(60):
        test = crank.datasets.regression(150, p=5, random_state=100 + seed).frame
        table = m.permutation_importance(test, repeats=5, random_state=seed)
        found.append(table.set_index("variable").loc[["x1", "x4"]])
    spread = np.std([f["importance"] for f in found], axis=0)
    stated = np.sqrt(np.mean([f["se"] ** 2 for f in found], axis=0))
    # sixty samples know a standard deviation to about ten percent
    np.testing.assert_allclose(stated, spread, rtol=0.35)


def test_one_shuffle_has_a_standard_error_too(model: crank.TreeModel, toy: pd.DataFrame) -> None:
    table = model.permutation_importance(toy[140:], repeats=1)
    assert np.isfinite(table["se"]).all()
    np.testing.assert_allclose(table["ci_high"] - table["importance"], 1.959964 * table["se"])


def test_equal_weights_change_nothing_and_the_seed_decides(
    model: crank.TreeModel, toy: pd.DataFrame
) -> None:
    test = toy[140:].assign(w=2.5)
    plain = model.permutation_importance(test, random_state=1)
    pd.testing.assert_frame_equal(
        model.permutation_importance(test, weights="w", random_state=1), plain
    )
    assert not model.permutation_importance(test, random_state=2).equals(plain)


def test_rows_without_a_response_take_no_part(model: crank.TreeModel, toy: pd.DataFrame) -> None:
    test = toy[140:].reset_index(drop=True)
    more = pd.concat([test, test[:20].assign(y=np.nan)], ignore_index=True)
    pd.testing.assert_frame_equal(
        model.permutation_importance(more), model.permutation_importance(test)
    )


def test_polars_and_categories_with_gaps(ames: pd.DataFrame) -> None:
    polars = pytest.importorskip("polars")
    train, test = ames[:600], ames[600:800]
    formula = "price ~ Neighborhood + `Garage.Type` + area + `Lot.Frontage`"
    m = crank.fit(train, formula, criterion="kendall", max_depth=4, prune=None)
    options: Any = {"unknown": "missing", "repeats": 2}
    table = m.permutation_importance(test, **options)
    assert table["ci_low"][0] > 0
    columns = ["price", "Neighborhood", "Garage.Type", "area", "Lot.Frontage"]
    frame = polars.DataFrame(
        {c: [None if v != v else v for v in test[c].tolist()] for c in columns}, strict=False
    )
    pd.testing.assert_frame_equal(m.permutation_importance(frame, **options), table)


def test_wrong_options_are_named(model: crank.TreeModel, toy: pd.DataFrame) -> None:
    with pytest.raises(OptionError, match="metric='auc'"):
        model.permutation_importance(toy, metric="auc")
    with pytest.raises(OptionError, match="repeats=0"):
        model.permutation_importance(toy, repeats=0)
    with pytest.raises(DataError, match="missing in all"):
        model.permutation_importance(toy.assign(y=np.nan))
