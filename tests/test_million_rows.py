"""A million rows with ties, gaps and a factor: the compiled path from a data frame to figures."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.metrics.figures import KENDALL

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def million() -> Any:
    rng = np.random.default_rng(0)
    n = 1_000_000
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n).astype(np.float32)})
    frame["g"] = pd.Categorical(np.array(["u", "v", "w"])[rng.integers(0, 3, n)])
    frame["y"] = (frame["a"] + (frame["g"] == "u") + rng.normal(size=n)).round(2)
    frame.loc[::9, "a"] = np.nan
    return frame


def test_a_million_rows_are_fitted_scored_and_judged(million: Any) -> None:
    m = crank.fit(million, "y ~ a + b + g", criterion="kendall", max_depth=4, prune=None)
    assert m.training.n == 1_000_000
    leaf = m.predict(million, "leaf")
    np.testing.assert_array_equal(np.bincount(leaf), m.tidy()["n"])
    direct = crank.metrics.kendall(million["y"], m.predict(million))
    assert direct == pytest.approx(m.tree.figure(KENDALL), abs=1e-12)
    assert direct > 0.7
    terms = m.importance("kendall").set_index("term")["importance"]
    assert terms["a"] > terms["g"] > 0.05 > terms["b"]


def test_few_of_a_million_rows_are_scored_alike_alone_and_together(million: Any) -> None:
    m = crank.fit(million, "y ~ a + b + g", criterion="iauc", max_depth=3, prune=None)
    together = m.predict(million)[:50]
    alone = [m.predict(million.iloc[[i]])[0] for i in range(50)]
    np.testing.assert_array_equal(together, alone)
