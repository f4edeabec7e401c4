import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from crank.errors import OptionError
from crank.metrics import get_scorer, iauc, kendall, scorer_names


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=120)


def test_names_lead_to_the_metrics(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = LinearRegression().fit(X, y)
    s, w = model.predict(X), np.arange(120.0)
    assert get_scorer("kendall")(model, X, y) == kendall(y, s)
    assert get_scorer("iauc")(model, X, y) == iauc(y, s)
    assert get_scorer("iauc_uniform")(model, X, y) == iauc(y, s, weighting="uniform")
    assert get_scorer("iauc")(model, X, y, sample_weight=w) == iauc(y, s, weights=w)
    assert scorer_names() == ["iauc", "iauc_uniform", "kendall"]


def test_scorers_serve_cross_validation_and_grid_search(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = data
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(random_state=0))
    scores = cross_val_score(model, X, y, scoring=get_scorer("iauc"), cv=3)
    assert ((scores > 0.6) & (scores <= 1.0)).all()
    both = {name: get_scorer(name) for name in scorer_names()}
    result = cross_validate(model, X, y, scoring=both, cv=3)
    assert result["test_iauc"].tolist() == scores.tolist()
    search = GridSearchCV(
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [1, 4]},
        scoring=get_scorer("kendall"),
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"max_depth": 4}


def test_a_constant_prediction_scores_one_half(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    assert get_scorer("iauc")(DummyRegressor().fit(X, y), X, y) == 0.5


def test_a_column_of_predictions_is_a_score(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = LinearRegression().fit(X, y[:, np.newaxis])
    assert get_scorer("kendall")(model, X, y) == kendall(y, model.predict(X)[:, 0])


def test_classifiers_rank_by_decision_or_probability(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    label = y > 0
    logistic, bayes = LogisticRegression().fit(X, label), GaussianNB().fit(X, label)
    scorer = get_scorer("kendall")
    assert scorer(logistic, X, y) == kendall(y, logistic.decision_function(X))
    assert scorer(bayes, X, y) == kendall(y, bayes.predict_proba(X)[:, 1])
    ordinal = np.digitize(y, [-1.0, 1.0])
    for model in (LogisticRegression().fit(X, ordinal), GaussianNB().fit(X, ordinal)):
        assert scorer(model, X, y) == kendall(y, model.predict(X))


def test_scorers_survive_pickling_and_compare_equal() -> None:
    scorer = get_scorer("iauc")
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert repr(scorer) == "MetricScorer(name='iauc')"


def test_pandas_in_any_index_order(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(120)[::-1])
    model = LinearRegression().fit(frame, y)
    series = pd.Series(y, index=frame.index)
    assert get_scorer("iauc")(model, frame, series) == iauc(y, model.predict(frame))


@pytest.mark.parametrize("name", ["auc", "Iauc", None])
def test_an_unknown_name_lists_the_known_ones(name: Any) -> None:
    with pytest.raises(OptionError, match=r"no scorer named .*iauc, iauc_uniform, kendall"):
        get_scorer(name)
