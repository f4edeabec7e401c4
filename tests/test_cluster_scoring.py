"""Models on Dask data frames: lazy predictions, figures from counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import DataError, OptionError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(autouse=True)
def in_this_process() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 400
    rows = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
    rows["y"] = rows.x + (rows.g == "a") + rng.normal(size=n)
    rows["w"] = rng.choice([0.0, 0.5, 1.3, 2.0], n)
    rows.loc[5, "y"] = np.nan
    return rows.set_index(np.arange(n) + 1000)


@pytest.fixture(scope="module")
def tree(frame: pd.DataFrame) -> crank.RankingModel:
    return crank.fit(frame, "y ~ x + g", max_depth=3, prune=None)


def test_predictions_are_lazy_and_keep_the_index(
    frame: pd.DataFrame, tree: crank.RankingModel
) -> None:
    parts = dd.from_pandas(frame, npartitions=3)
    for kind in tree.predictions:
        found = tree.predict(parts, kind)
        assert found.npartitions == 3
        values = found.compute()
        assert values.index.equals(frame.index)
        np.testing.assert_array_equal(values, tree.predict(frame, kind))
    with pytest.raises(DataError, match="'g' of the formula is not in the data"):
        tree.predict(parts[["x"]])


def test_augment_is_lazy(frame: pd.DataFrame, tree: crank.RankingModel) -> None:
    lazy = tree.augment(dd.from_pandas(frame, npartitions=2))
    assert list(lazy.columns) == list(tree.augment(frame).columns)
    found = lazy.compute()
    np.testing.assert_array_equal(found[".score"], tree.predict(frame))
    np.testing.assert_array_equal(found[".leaf"], tree.predict(frame, "leaf"))


@pytest.mark.parametrize("weights", [None, "w"])
def test_evaluation_equals_the_local_one(
    frame: pd.DataFrame, tree: crank.RankingModel, weights: str | None
) -> None:
    local = tree.evaluate(frame, weights=weights)
    here = tree.evaluate(dd.from_pandas(frame, npartitions=4), weights=weights)
    assert here.n.tolist() == local.n.tolist()
    np.testing.assert_allclose(here.estimate, local.estimate, rtol=1e-9)
    pairs = ["kendall", "iauc"]
    np.testing.assert_allclose(here.se[pairs], local.se[pairs], rtol=1e-4)
    np.testing.assert_allclose(here.ci_low[pairs], local.ci_low[pairs], rtol=1e-4)
    np.testing.assert_allclose(here.se, local.se, rtol=1e-6)


def test_standard_errors_do_not_depend_on_how_rows_are_counted(frame: pd.DataFrame) -> None:
    few = frame.assign(x=frame.x.round(), y=frame.y.round())
    model = crank.fit(few, "y ~ x + g", max_depth=2, prune=None)
    local = model.evaluate(few)
    here = model.evaluate(dd.from_pandas(few, npartitions=3))
    np.testing.assert_allclose(here, local, rtol=1e-9)


def test_many_scores_are_put_into_classes(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crank.cluster.scoring.CELLS", 2**12)
    monkeypatch.setattr("crank.cluster.scoring.SCORE_LEVELS", 2**5)
    rng = np.random.default_rng(1)
    many = pd.DataFrame({"x": rng.normal(size=6000)})
    many["y"] = many.x + rng.normal(size=6000)
    model = crank.linear(many, "y ~ x")
    local = model.evaluate(many)
    here = model.evaluate(dd.from_pandas(many, npartitions=3))
    np.testing.assert_allclose(here.estimate, local.estimate, atol=0.005)
    np.testing.assert_allclose(here.se, local.se, rtol=0.1)


def test_what_cannot_be_evaluated_is_refused(frame: pd.DataFrame, tree: crank.RankingModel) -> None:
    parts = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(OptionError, match="groups= cannot be used"):
        tree.evaluate(parts, groups="g")
    with pytest.raises(OptionError, match="weights of a Dask data frame"):
        tree.evaluate(parts, weights=np.ones(len(frame)))
    with pytest.raises(DataError, match="a Dask data frame cannot be used here"):
        crank.compare(tree, tree, data=parts)
    with pytest.raises(DataError, match="missing in all rows"):
        tree.evaluate(dd.from_pandas(frame.assign(y=np.nan), npartitions=2))
