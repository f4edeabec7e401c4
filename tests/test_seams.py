"""A new kind of ranker, a new criterion and a new figure are new files, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crank
from crank import criteria
from crank.errors import ModelFileError, NotExportableError, OptionError
from crank.metrics import figures
from crank.records.kinds import KINDS
from tests.narrowing import number, of
from tests.seams.criterion import TOP
from tests.seams.figure import UPPER
from tests.seams.ranker import KIND, SignedSum, SignedSumModel, fit


@pytest.fixture
def signed_sum(monkeypatch: pytest.MonkeyPatch, toy: pd.DataFrame) -> SignedSumModel:
    monkeypatch.setitem(KINDS, SignedSum.kind, KIND)
    return fit(toy, "y ~ x1 + log(x2)")


def test_a_new_kind_predicts_and_is_judged(signed_sum: SignedSumModel, toy: pd.DataFrame) -> None:
    score = toy["x1"] + np.log(toy["x2"])
    np.testing.assert_array_equal(signed_sum.predict(toy), score)
    assert number(signed_sum.evaluate(toy).loc["kendall", "estimate"]) > 0.7
    tree = crank.fit(toy, "y ~ x1 + x2", max_depth=3, prune=None)
    assert len(crank.compare(signed_sum, tree, data=toy).tests) == 1
    importance = signed_sum.permutation_importance(toy, repeats=2)
    assert set(importance["variable"]) == {"x1", "x2"}
    assert (importance["importance"] > 0.05).all()
    np.testing.assert_array_equal(signed_sum.augment(toy)[".score"], score)


def test_a_new_kind_is_read_by_people(signed_sum: SignedSumModel) -> None:
    assert str(signed_sum) == "+ x1 + log(x2)"
    assert repr(signed_sum) == "<SignedSumModel 'y ~ x1 + log(x2)': 2 signs, n = 240>"
    assert "Signs:" in str(signed_sum.summary())
    assert signed_sum.tidy()["sign"].tolist() == [1, 1]
    assert signed_sum.importance()["share"].sum() == 1.0


def test_a_new_kind_is_saved_and_exported(signed_sum: SignedSumModel, toy: pd.DataFrame) -> None:
    text = signed_sum.to_json()
    assert text is not None
    again = crank.from_json(text)
    assert type(again) is SignedSumModel
    np.testing.assert_array_equal(again.predict(toy), signed_sum.predict(toy))
    content = signed_sum.to_onnx(outputs=["score"])
    assert content is not None
    np.testing.assert_allclose(
        crank.serve.Scorer(content)(toy), signed_sum.predict(toy), rtol=1e-12, atol=1e-12
    )
    with pytest.raises(NotExportableError, match="kind 'signed sum' cannot be written as sql"):
        signed_sum.to_sql()
    with pytest.raises(ModelFileError, match="SignedSumModel, not a TreeModel"):
        crank.TreeModel.from_json(text)


@pytest.fixture
def top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criteria, "_CRITERIA", dict(criteria._CRITERIA))
    criteria.register(TOP)


@pytest.mark.usefixtures("top")
@pytest.mark.parametrize("n", [300, 20_000], ids=["numpy", "compiled"])
def test_a_new_criterion_grows_trees(n: int) -> None:
    sample = crank.datasets.regression(n, p=5, random_state=0)
    m = crank.fit(sample.frame, "y ~ .", criterion="top", max_depth=2, prune=None)
    share = (sample.y >= np.quantile(sample.y, 0.9)).astype(float)
    leaf = m.predict(sample.frame, "leaf")
    assert share[leaf == 0].mean() > 2.0 * share.mean()
    assert "the top tenth against the rest" in str(m.summary())
    again = crank.from_json(m.to_json() or "")
    np.testing.assert_array_equal(again.predict(sample.frame), m.predict(sample.frame))
    with pytest.raises(OptionError, match="'top' exists already"):
        criteria.register(TOP)


@pytest.fixture
def upper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_FIGURES", dict(figures._FIGURES))
    figures.register(UPPER)


@pytest.mark.usefixtures("upper")
def test_a_new_figure_judges_and_its_gains_add_up() -> None:
    sample = crank.datasets.regression(120, p=5, random_state=0)
    m = crank.fit(sample.frame, "y ~ .", max_depth=3, prune=None, leaf_order="oriented")
    found = m.training.figures["upper"].estimate
    assert m.tree.figure(UPPER) == pytest.approx(found, abs=1e-12)
    assert m.importance("upper")["importance"].sum() == pytest.approx(2 * found - 1, abs=1e-12)
    assert m.evaluate(sample.frame).loc["upper", "estimate"] == pytest.approx(found, abs=1e-12)
    assert "upper" in of(crank.TreeModel, crank.from_json(m.to_json())).tree.totals


@pytest.mark.usefixtures("upper")
def test_a_new_figure_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(criteria, "_CRITERIA", dict(criteria._CRITERIA))
    criteria.register(replace(criteria.get_criterion("kendall"), name="upper", figure=UPPER))
    sample = crank.datasets.regression(120, p=5, random_state=0)
    m = crank.fit(sample.frame, "y ~ .", criterion="upper", max_depth=3, cv=4)
    assert m.figure is UPPER
    assert m.pruning_path().attrs["metric"] == "upper"
    assert "cross-validation of upper" in str(m.summary())
