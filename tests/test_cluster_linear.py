"""Linear rankers on data in partitions: the coefficients and errors of local ones."""

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
    n = 500
    rows = pd.DataFrame({"a": rng.normal(5.0, 2.0, n), "b": rng.normal(size=n)})
    rows["g"] = rng.choice(["u", "v", "w"], n)
    rows["double"] = 2.0 * rows.a + 1.0
    rows["y"] = rows.a - rows.b + (rows.g == "v") + rng.logistic(size=n)
    rows["w"] = rng.choice([0.5, 1.2, 3.0], n)
    rows.loc[rng.random(n) < 0.05, "b"] = np.nan
    return rows


@pytest.mark.parametrize(
    ("link", "weights", "penalty"), [("logit", None, 0.0), ("probit", "w", 0.01)]
)
def test_coefficients_equal_the_local_ones(
    frame: pd.DataFrame, link: str, weights: str | None, penalty: float
) -> None:
    options = {"link": link, "weights": weights, "penalty": penalty, "cv": None}
    formula = "y ~ a + b + C(g) + double"
    local = crank.linear(frame, formula, **options)  # type: ignore[arg-type]
    here = crank.linear(dd.from_pandas(frame, npartitions=3), formula, **options)  # type: ignore[arg-type]
    assert here.training.n == local.training.n
    assert here.training.n_dropped == local.training.n_dropped
    one, two = here.coefficients(), local.coefficients()
    assert one.term.tolist() == two.term.tolist()
    np.testing.assert_allclose(one.estimate, two.estimate, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.std_error, two.std_error, rtol=1e-4)
    known = frame.dropna()
    np.testing.assert_allclose(here.predict(known), local.predict(known), rtol=1e-4, atol=1e-4)
    one, two = (m.predict(known, "probability") for m in (here, local))
    np.testing.assert_allclose(one, two, atol=1e-3)
    for name, figure in local.training.figures.items():
        found = here.training.figures[name]
        assert found.estimate == pytest.approx(figure.estimate, abs=1e-4)
        assert found.se == pytest.approx(figure.se, rel=1e-2)
    assert crank.from_json(here.to_json() or "").summary()


def test_what_a_cluster_cannot_fit_is_refused(frame: pd.DataFrame) -> None:
    parts = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(OptionError, match=r"penalty='cv'.*sample=100_000"):
        crank.linear(parts, "y ~ a", penalty="cv")
    with pytest.raises(OptionError, match="smooth terms cannot be fitted"):
        crank.linear(parts, "y ~ s(a)")
    with pytest.raises(OptionError, match="monotone= is not for Dask data frames as a whole"):
        crank.linear(parts, "y ~ a", monotone={"a": 1})
    with pytest.raises(OptionError, match="client= is for Dask data frames"):
        crank.linear(frame, "y ~ a", client=object())
    with pytest.raises(DataError, match=r"a: this column never puts a pair .*separation"):
        crank.linear(dd.from_pandas(frame.assign(y=frame.a), npartitions=2), "y ~ a")
