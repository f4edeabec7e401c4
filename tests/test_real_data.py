"""Every learner with every criterion on real data, judged on rows that it has not seen."""

import numpy as np
import pandas as pd
import pytest

import crank

pytestmark = pytest.mark.no_cover

LEARNERS = ["stump", "tree", "logistic", "svm", "lightgbm"]
CRITERIA = ["crank", "kendall", "iauc", "spearman"]
FORMULAS = {
    "diamonds": "price ~ log(carat) + cut + color + clarity + depth + table",
    "boston": "medv ~ .",
    "ames": "price ~ .",
}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", FORMULAS)
def test_every_learner_and_criterion_beats_a_constant_score(
    name: str, learner: str, criterion: str, request: pytest.FixtureRequest
) -> None:
    frame = request.getfixturevalue(name)
    frame = frame.sample(min(len(frame), 2500), random_state=1)
    cut = len(frame) * 4 // 5
    train, test = frame.iloc[:cut], frame.iloc[cut:]
    model = crank.fit(
        train, FORMULAS[name], learner=learner, criterion=criterion, max_depth=3, prune=None
    )
    assert model.training.n == len(train)
    figures = model.evaluate(test, unknown="missing")
    assert (figures["ci_low"] > 0.6).all()


def test_ames_has_what_the_test_says(ames: pd.DataFrame) -> None:
    text = [name for name in ames if ames[name].dtype.kind not in "iuf"]
    assert len(text) == 43
    assert ames.isna().any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("diamonds", FORMULAS["diamonds"]),
        ("ames", "price ~ area + `Overall.Qual` + Neighborhood + `Year.Built` + `Garage.Cars`"),
        ("nhefs", "wt82_71 ~ age + wt71 + smokeintensity + sex + race + education + exercise"),
    ],
)
def test_one_standard_error_pruning_is_smaller_and_nearly_as_good(
    name: str, formula: str, request: pytest.FixtureRequest
) -> None:
    frame = request.getfixturevalue(name)
    frame = frame.dropna(subset=[formula.split(" ~ ")[0]])
    test_rows = np.arange(len(frame)) % 3 == 0
    train, test = frame[~test_rows], frame[test_rows]
    grown = crank.fit(train, formula, criterion="iauc", prune=None)
    pruned = crank.fit(train, formula, criterion="iauc", prune="1se")
    assert pruned.tree.n_leaves < grown.tree.n_leaves
    y = test[formula.split(" ~ ")[0]]
    best = max(
        crank.metrics.iauc(y, pruned.prune(n_leaves=n).predict(test, unknown="missing"))
        for n in pruned.pruning_path()["n_leaves"]
    )
    assert crank.metrics.iauc(y, pruned.predict(test, unknown="missing")) > best - 0.01
