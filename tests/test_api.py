"""crank.fit: what goes in, what comes out, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank.errors import CrankError, DataError, FormulaError, OptionError, UnknownLearnerError
from tests.narrowing import number, of

FORMULA = "y ~ x1 + log(x2) + C(g)"


def test_the_ten_line_example_ranks(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, FORMULA)
    score = m.predict(toy)
    assert crank.metrics.kendall(toy["y"], score) > 0.8
    assert m.tree.n_leaves == len(np.unique(score))


def test_prediction_types_agree_with_each_other(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, FORMULA, prune=None)
    score, leaf = m.predict(toy), m.predict(toy, "leaf")
    quantile, median = m.predict(toy, type="quantile"), m.predict(toy, "median")
    table = m.tidy().set_index("leaf")
    assert (np.diff(table["score"]) < 0).all()
    np.testing.assert_array_equal(score, table.loc[leaf, "score"])
    np.testing.assert_array_equal(quantile, table.loc[leaf, "quantile"])
    np.testing.assert_array_equal(median, table.loc[leaf, "y_median"])
    assert leaf.dtype.kind == "i"
    for k, rows in toy.groupby(leaf):
        row = table.loc[of(int, k)]
        assert row["n"] == len(rows)
        assert row["y_median"] == pytest.approx(rows["y"].median())
    assert ((quantile > 0) & (quantile < 1)).all()


def test_pandas_and_polars_give_the_same_model(toy: pd.DataFrame) -> None:
    a = crank.fit(toy, FORMULA)
    other = pl.DataFrame(toy.to_dict(orient="list"))
    b = crank.fit(other, FORMULA)
    assert str(a) == str(b)
    np.testing.assert_array_equal(a.predict(other), b.predict(toy))


@pytest.mark.parametrize("criterion", ["crank", "kendall", "iauc", "spearman"])
@pytest.mark.parametrize("transform", [np.exp, lambda y: y**3, lambda y: 1e-9 * y - 5])
def test_increasing_transforms_of_y_change_nothing(
    toy: pd.DataFrame, criterion: str, transform: Callable[..., Any]
) -> None:
    a = crank.fit(toy, FORMULA, criterion=criterion)
    b = crank.fit(toy.assign(y=transform(toy["y"])), FORMULA, criterion=criterion)
    np.testing.assert_array_equal(a.predict(toy), b.predict(toy))
    assert a.rules() == b.rules()


def test_a_transformed_response_gives_the_same_tree(toy: pd.DataFrame) -> None:
    toy = toy.assign(z=np.exp(toy["y"]))
    a = crank.fit(toy, "z ~ x1 + x2 + g")
    b = crank.fit(toy, "log(z) ~ x1 + x2 + g")
    assert a.rules() == b.rules()
    assert b.response.name == "log(z)"


def test_weights_by_name_and_by_array_agree_and_zero_is_absent(toy: pd.DataFrame) -> None:
    w = np.arange(len(toy)) % 3
    named = crank.fit(toy.assign(w=w), "y ~ x1 + x2 + g", weights="w", prune=None)
    array = crank.fit(toy, "y ~ x1 + x2 + g", weights=w, prune=None)
    absent = crank.fit(toy[w > 0], "y ~ x1 + x2 + g", weights=w[w > 0], prune=None)
    assert named.rules() == array.rules() == absent.rules()
    assert named.training.n == int((w > 0).sum())


def test_integer_weights_equal_repeated_rows(toy: pd.DataFrame) -> None:
    w = 1 + np.arange(len(toy)) % 3
    repeated = toy.loc[toy.index.repeat(w)]
    options: dict[str, Any] = {"prune": None, "min_samples_leaf": 1, "max_depth": 4}
    for criterion in ("crank", "kendall", "iauc", "spearman"):
        a = crank.fit(toy, FORMULA, weights=w, criterion=criterion, **options)
        b = crank.fit(repeated, FORMULA, criterion=criterion, **options)
        np.testing.assert_array_equal(a.predict(toy), b.predict(toy))
        for name, figure in a.training.figures.items():
            assert figure.estimate == pytest.approx(b.training.figures[name].estimate)


def test_the_dot_leaves_response_and_weights_out(toy: pd.DataFrame) -> None:
    m = crank.fit(toy.assign(w=1.0), "y ~ .", weights="w")
    assert set(m.design.terms) == {"x1", "x2", "g", "flag"}


def test_subset_takes_a_mask_or_row_numbers(toy: pd.DataFrame) -> None:
    mask = toy["g"] != "c"
    a = crank.fit(toy, "y ~ x1 + x2", subset=mask)
    b = crank.fit(toy, "y ~ x1 + x2", subset=np.flatnonzero(mask))
    c = crank.fit(toy[mask], "y ~ x1 + x2")
    assert str(a) == str(b) == str(c)
    assert a.training.n_dropped == 0


def test_missing_responses_are_dropped_and_counted_or_refused(toy: pd.DataFrame) -> None:
    gaps = toy.assign(y=toy["y"].where(toy.index % 10 > 0))
    m = crank.fit(gaps, FORMULA)
    assert m.training.n_dropped == 24
    assert "24 dropped" in str(m.summary())
    with pytest.raises(DataError, match=r"column .y. is missing in 24 of 240 rows.*na_action"):
        crank.fit(gaps, FORMULA, na_action="raise")


def test_missing_predictors_pass_to_learners_that_take_them(toy: pd.DataFrame) -> None:
    gaps = toy.assign(x1=toy["x1"].where(toy.index % 5 > 0), g=toy["g"].where(toy.index % 7 > 0))
    m = crank.fit(gaps, "y ~ x1 + x2 + g", na_action="raise")
    assert m.training.n == len(toy)
    assert np.isfinite(m.predict(gaps)).all()


def test_unseen_levels_are_refused_or_missing(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, FORMULA)
    new = toy.head(3).assign(g=["a", "zebra", "b"])
    with pytest.raises(DataError, match="zebra"):
        m.predict(new)
    gone = toy.head(3).assign(g=np.array(["a", None, "b"], dtype=object))
    np.testing.assert_array_equal(m.predict(new, unknown="missing"), m.predict(gone))


def test_the_model_keeps_no_training_data(toy: pd.DataFrame) -> None:
    import pickle

    small = crank.fit(toy, FORMULA, max_depth=2, prune=None)
    large = crank.fit(pd.concat([toy] * 40), FORMULA, max_depth=2, prune=None)
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 500


def test_the_same_call_gives_the_same_model(toy: pd.DataFrame) -> None:
    for learner in ("stump", "tree", "logistic"):
        fits = [crank.fit(toy, FORMULA, learner=learner, random_state=3) for _ in range(2)]
        np.testing.assert_array_equal(fits[0].predict(toy), fits[1].predict(toy))
        assert str(fits[0].summary()) == str(fits[1].summary())


def test_a_binary_response_is_ranked_by_its_auc(toy: pd.DataFrame) -> None:
    binary = toy.assign(y=(toy["y"] > 0).astype(int))
    m = crank.fit(binary, FORMULA)
    assert set(m.training.figures) == {"kendall"}
    with pytest.raises(DataError, match="three distinct values"):
        crank.fit(binary, FORMULA, criterion="iauc")


def test_nothing_to_learn_gives_one_leaf() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.ones(60), "y": rng.normal(size=60)})
    m = crank.fit(frame, "y ~ x")
    assert m.tree.n_leaves == 1
    assert (m.predict(frame, "leaf") == 0).all()
    assert "all rows" in m.rules()
    assert m.training.figures["iauc"].estimate == pytest.approx(0.5)


def test_duplicate_columns_give_the_same_partition(toy: pd.DataFrame) -> None:
    a = crank.fit(toy, "y ~ x1 + x2", prune=None)
    b = crank.fit(toy.assign(z=toy["x1"]), "y ~ x1 + z + x2", prune=None)
    np.testing.assert_array_equal(a.predict(toy), b.predict(toy.assign(z=toy["x1"])))


def bad(
    error: type[Any],
    says: str,
    change: Callable[..., Any] = lambda d: d,
    formula: str = FORMULA,
    **options: Any,
) -> Any:
    return pytest.param(error, says, change, formula, options, id=says)


@pytest.mark.parametrize(
    ("error", "says", "change", "formula", "options"),
    [
        bad(DataError, "'income'", formula="y ~ income"),
        bad(DataError, "Did you mean 'x1'", formula="y ~ x11"),
        bad(DataError, "'z'", formula="z ~ x1"),
        bad(UnknownLearnerError, "Did you mean 'svm'?", learner="svn"),
        bad(OptionError, "Did you mean 'kendall'?", criterion="kendal"),
        bad(OptionError, "na_action='omit'", na_action="omit"),
        bad(FormulaError, "~", formula="x1 + x2"),
        bad(FormulaError, "right", formula="y ~ 1"),
        bad(FormulaError, "right", formula="y ~ "),
        bad(DataError, "constant", lambda d: d.assign(y=1.0)),
        bad(DataError, "'y'", lambda d: d.assign(y="text")),
        bad(DataError, "missing in all 240 rows", lambda d: d.assign(y=np.nan)),
        bad(DataError, "-1 in row 2", weights=[1.0, 1.0, -1.0] + [1.0] * 237),
        bad(DataError, "shape (3,)", weights=[1.0, 2.0, 3.0]),
        bad(DataError, "weights column 'w' is not in the data", weights="w"),
        bad(DataError, "cannot be read as numbers", weights=["a"] * 240),
        bad(DataError, "no rows", lambda d: d.head(0)),
        bad(DataError, "1 row", lambda d: d.head(1)),
        bad(DataError, "inf", lambda d: d.assign(x1=np.inf)),
        bad(DataError, "inf", lambda d: d.assign(y=np.where(d.index == 3, np.inf, d["y"]))),
        bad(DataError, "log(x2)", lambda d: d.assign(x2=-1.0)),
        bad(DataError, "subset has dtype", subset=[True, False]),
        bad(DataError, "the data has rows 0 to 239", subset=[0, 240]),
        bad(DataError, "at least 4 rows; got 3", lambda d: d.head(3)),
        bad(DataError, "row", weights=[0.0] * 240),
    ],
)
def test_bad_input_is_refused_with_a_clear_message(
    toy: pd.DataFrame,
    error: type[DataError],
    says: str,
    change: Callable[..., Any],
    formula: str,
    options: dict[str, Any],
) -> None:
    with pytest.raises(error) as caught:
        crank.fit(change(toy), formula, **options)
    assert isinstance(caught.value, CrankError)
    assert says in str(caught.value)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.drop(columns="x1"), "'x1'"),
        (lambda d: d.assign(x1="text"), "'x1'"),
        (lambda d: d.assign(g=1.5), "'g'"),
        (lambda d: "not a frame", "str"),
    ],
)
def test_new_data_that_does_not_fit_the_model_is_refused(
    toy: pd.DataFrame, change: Callable[..., Any], says: str
) -> None:
    m = crank.fit(toy, FORMULA, max_depth=2, prune=None)
    with pytest.raises(DataError) as caught:
        m.predict(change(toy))
    assert says in str(caught.value)


def test_an_unknown_type_of_prediction_is_refused(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, FORMULA, max_depth=2, prune=None)
    with pytest.raises(OptionError, match=r"type='scores'.*Did you mean 'score'\?"):
        m.predict(toy, type="scores")


def test_no_rows_to_predict_give_no_scores(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, FORMULA, max_depth=2, prune=None)
    assert m.predict(toy.head(0)).shape == (0,)


def test_the_default_serves_a_binary_response() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=400) > 1.5).astype(float)
    data = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    new = rng.normal(size=(2000, 4))
    test = pd.DataFrame(new, columns=list("abcd"))
    test["y"] = (new[:, 0] + new[:, 1] + 0.7 * rng.normal(size=2000) > 1.5).astype(float)
    found = {}
    for criterion in ("auto", "kendall", "crank"):
        m = crank.fit(data, "y ~ .", criterion=criterion)
        found[criterion] = number(m.evaluate(test).loc["kendall", "estimate"])
    assert found["auto"] == found["kendall"] > found["crank"] + 0.02
    m = crank.fit(data, "y ~ .")
    assert "criterion  kendall (Kendall's τ of the whole tree): y has two" in str(m.summary())
    assert m.glance()["criterion"][0] == "kendall"


def test_groups_may_be_a_column_or_labels_and_gaps_in_them_are_dropped(toy: pd.DataFrame) -> None:
    groups = np.arange(240) // 6
    by_array = crank.fit(toy, "y ~ x1 + x2 + g", groups=groups)
    by_name = crank.fit(toy.assign(who=groups), "y ~ x1 + x2 + g", groups="who")
    assert by_array.training == by_name.training
    assert by_array.training.n_groups == 40
    gaps = toy.assign(who=np.where(groups == 3, np.nan, groups))
    m = crank.fit(gaps, "y ~ x1 + x2 + g", groups="who")
    assert (m.training.n_dropped, m.training.n_groups) == (6, 39)
    with pytest.raises(DataError, match="the groups is missing in 6 of 240 rows"):
        crank.fit(gaps, "y ~ x1 + x2", groups="who", na_action="raise")
    with pytest.raises(DataError, match="one label in all"):
        crank.fit(toy, "y ~ x1 + x2", groups=np.zeros(240))
    some = crank.fit(toy, "y ~ x1 + x2", groups=groups, subset=groups < 20, prune=None)
    assert some.training.n_groups == 20
    assert "who" not in {
        v.name for v in crank.fit(toy.assign(who=groups), "y ~ .", groups="who").variables
    }


@pytest.mark.parametrize("name", ["fit", "linear", "additive", "forest", "boost", "blend"])
def test_a_formula_in_the_place_of_the_data_names_the_function_called(name: str) -> None:
    data = {"y": [1, 2], "x": [1, 2]}
    words = rf"looks like a formula\. The data comes first, .*: crank\.{name}\(data, 'y ~ x'\)"
    with pytest.raises(DataError, match=words):
        getattr(crank, name)("y ~ x", data)


def test_a_formula_in_the_place_of_the_data_is_told_to_methods_too(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", prune=None)
    with pytest.raises(DataError, match=r"The data comes first.*model\.update\(data, '\. \+ x2'\)"):
        m.update(". + x2", toy)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"looks like a formula\. Give a data frame"):
        m.predict("y ~ x1")
    with pytest.raises(FormulaError, match=r"a formula must be text such as .*, got DataFrame"):
        m.update(toy, toy)  # type: ignore[arg-type]
