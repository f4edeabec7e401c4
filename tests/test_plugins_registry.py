"""Discovery is lazy, tolerant of broken plugins and strict about names and parameters."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crank.errors import (
    DataError,
    MissingExtraError,
    OptionError,
    PluginError,
    PluginWarning,
    UnknownLearnerError,
)
from crank.plugins import registry
from crank.plugins.base import SplitLearner
from crank.plugins.logistic import Logistic
from crank.plugins.registry import (
    get_learner,
    installed,
    learners,
    name_of,
    rule_from_dict,
)
from tests.narrowing import of, present
from tests.published import GOOD, publish


def in_fresh_process(code: str, *path: Path) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(map(str, path)), "PATH": ""},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def row_of(name: str) -> list[Any]:
    table = learners()
    return table[table["name"] == name].to_dict("records")


def test_built_in_learners_enter_by_the_same_door() -> None:
    found = installed()
    assert {"lightgbm", "logistic", "stump", "svm", "tree"} <= set(found)
    assert found["svm"].distribution == "crank-rank"
    for name in ("lightgbm", "logistic", "stump", "svm", "tree"):
        assert isinstance(get_learner(name), SplitLearner)


def test_learners_lists_one_row_each_with_capabilities() -> None:
    table = learners()
    assert list(table.columns) == [
        "name",
        "distribution",
        "version",
        "description",
        "takes_missing",
        "takes_categories",
        "exports_onnx",
        "status",
    ]
    assert table["name"].is_monotonic_increasing
    own = table[table["distribution"] == "crank-rank"].set_index("name")
    assert own.loc["stump", "takes_categories"]
    assert not own.loc["logistic", "takes_categories"]
    assert own.loc[["lightgbm", "logistic", "stump", "svm", "tree"], "takes_missing"].all()
    assert (own["description"].str.len() > 0).all()


def test_discovery_imports_no_learner_and_no_heavy_package() -> None:
    loaded = in_fresh_process(
        "import sys; from crank.plugins.registry import installed, get_learner\n"
        "assert len(installed()) >= 5\n"
        "assert 'crank.plugins.svm' not in sys.modules\n"
        "for name in ('logistic', 'svm', 'tree', 'lightgbm'): get_learner(name)\n"
        "import crank.plugins.sklearn\n"
        "print(*sys.modules)"
    ).split()
    assert not {"sklearn", "lightgbm", "numba", "scipy.stats", "pandas"} & set(loaded)


def test_unknown_name_lists_what_is_installed_and_the_nearest() -> None:
    with pytest.raises(UnknownLearnerError) as caught:
        get_learner("svn")
    message = str(caught.value)
    assert message.startswith("no split learner named 'svn'. Installed: ")
    assert "logistic" in message
    assert message.endswith("Did you mean 'svm'?")


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("raise RuntimeError('half an install')", "half an install"),
        ("import package_that_is_not_there", "package_that_is_not_there"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("Other = 1", "Mine"),
    ],
)
def test_a_broken_plugin_harms_nobody_else(site: Path, source: str, cause: str) -> None:
    publish(site, "broken-plugin", "broken", source)
    with pytest.raises(PluginError, match=r"broken-plugin 1\.0") as caught:
        get_learner("broken")
    assert cause in str(caught.value)
    assert isinstance(get_learner("logistic"), Logistic)
    (row,) = row_of("broken")
    assert "broken-plugin" in row["status"]
    assert pd.isna(row["takes_missing"])
    assert row_of("logistic")[0]["status"] == "ok"


def test_import_crank_survives_a_broken_plugin_and_does_not_load_it(tmp_path: Path) -> None:
    publish(tmp_path, "broken-plugin", "broken", "raise RuntimeError('no')")
    out = in_fresh_process(
        "import sys, crank\n"
        "from crank.plugins.registry import get_learner\n"
        "get_learner('logistic')\n"
        "assert 'broken_plugin' not in sys.modules\n"
        "print(crank.learners().set_index('name').loc['broken', 'status'])",
        tmp_path,
    )
    assert "RuntimeError: no" in out


@pytest.mark.parametrize("source", ["class Mine: pass", "Mine = 3"])
def test_what_is_no_learner_is_refused(site: Path, source: str) -> None:
    publish(site, "not-a-learner", "odd", source)
    with pytest.raises(PluginError, match="SplitLearner"):
        get_learner("odd")
    assert "SplitLearner" in row_of("odd")[0]["status"]


def test_two_distributions_with_one_name_are_an_error_that_names_both(site: Path) -> None:
    publish(site, "first-plugin", "twin", GOOD)
    publish(site, "second-plugin", "twin", GOOD)
    with pytest.raises(PluginError, match="first-plugin and second-plugin") as caught:
        get_learner("twin")
    assert "Write 'first-plugin:twin' or 'second-plugin:twin'" in str(caught.value)
    assert "first_plugin" not in sys.modules
    rows = row_of("twin")
    assert [row["distribution"] for row in rows] == ["first-plugin", "second-plugin"]
    assert all("first-plugin" in r["status"] and "second-plugin" in r["status"] for r in rows)
    assert isinstance(get_learner("logistic"), Logistic)
    chosen = get_learner("second-plugin:twin", {"C": 3.0})
    assert type(chosen).__module__ == "second_plugin"
    assert name_of(chosen) == "second-plugin:twin"


def test_a_built_in_keeps_its_name_and_its_rival_is_reached_by_distribution(site: Path) -> None:
    publish(site, "bold-plugin", "logistic", GOOD)
    with pytest.warns(PluginWarning, match="write 'bold-plugin:logistic' for the other"):
        assert type(get_learner("logistic")) is Logistic
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert type(get_learner("logistic")) is Logistic
        other = get_learner("bold_plugin:logistic")
        own, rival = row_of("logistic")
    assert type(other).__module__ == "bold_plugin"
    assert name_of(other) == "bold-plugin:logistic"
    assert name_of(Logistic) == "logistic"
    assert own["status"] == "ok"
    assert rival["status"] == "ok as 'bold-plugin:logistic'; 'logistic' is built in"
    with pytest.raises(UnknownLearnerError, match="no split learner named 'shy-plugin:logistic'"):
        get_learner("shy-plugin:logistic")


MALFORMED = {
    "requires = 3": "requires = 3",
    "requires = {'torch': None}": "a mapping of package names",
    "requires = {'no package': 'x'}": "a mapping of package names",
    "contract = 2": "version 2 of the contract; this crank keeps 1. Install a newer crank",
    "contract = 0": "too old for this crank",
    "contract = '1'": "as an integer",
    "rule = None": "a class derived from SplitRule",
    "fit = lambda self, X, y: None": "cannot be asked to fit",
    "def fit(self, X, label, weight): pass": r"Allowed: fit(self, X, label, weight, *, rng)",
    "takes_categories = True": "'levels'",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_class_breaks_its_own_row_only(site: Path, line: str) -> None:
    publish(site, "odd-plugin", "odd", GOOD + f"    takes_monotone = False\n    {line}\n")
    with pytest.raises(PluginError) as caught:
        get_learner("odd")
    for text in (str(caught.value), row_of("odd")[0]["status"]):
        assert "'odd' of odd-plugin 1.0" in text
        assert MALFORMED[line] in text
    assert row_of("logistic")[0]["status"] == "ok"


def test_a_description_that_is_no_text_breaks_its_own_row_only(site: Path) -> None:
    source = "class Bad:\n    def __str__(self): raise KeyError('no words')\n" + GOOD
    publish(site, "odd-plugin", "odd", source + "    description = Bad()\n")
    (row,) = row_of("odd")
    assert "'odd' of odd-plugin 1.0 cannot be read: KeyError: 'no words'" in row["status"]
    assert row_of("logistic")[0]["status"] == "ok"


def test_abstract_classes_say_what_they_lack(site: Path) -> None:
    publish(
        site,
        "half-plugin",
        "half",
        "from crank.plugins.base import SplitLearner, SplitRule\n"
        + GOOD
        + "    class rule(SplitRule): pass\n"
        "class Half(SplitLearner): pass\n",
    )
    with pytest.raises(PluginError, match="rule, its rule, lacks decision, from_dict, to_dict"):
        get_learner("half")
    half = sys.modules["half_plugin"].Half
    with pytest.raises(PluginError, match=r"Half of half-plugin 1.0 is abstract: Half lacks fit"):
        get_learner(half)


def test_the_same_distribution_twice_on_the_path_is_no_duplicate(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(site / "a", "my-plugin", "mine", GOOD, version="1.0")
    publish(site / "b", "my-plugin", "mine", GOOD, version="2.0")
    monkeypatch.syspath_prepend(str(site / "b"))
    monkeypatch.syspath_prepend(str(site / "a"))
    assert installed()["mine"].version == "1.0"
    assert get_learner("mine").description == "mine"


def test_a_plugin_installed_meanwhile_is_found(site: Path) -> None:
    with pytest.raises(UnknownLearnerError):
        get_learner("mine")
    publish(site, "my-plugin", "mine", GOOD)
    learner = get_learner("mine", {"C": 2.0})
    assert vars(learner)["C"] == 2.0
    assert name_of(learner) == "mine"


def test_names_of_learners() -> None:
    assert name_of(Logistic) == "logistic"

    class Private(Logistic):
        pass

    assert name_of(Private()) is None


@pytest.mark.parametrize(
    ("name", "params", "parts"),
    [
        ("svm", {"kernal": "linear"}, ["'svm'", "'kernal'", "C, gamma", "Did you mean 'kernel'?"]),
        ("logistic", {"c": 1.0}, ["'logistic'", "'c'", "Did you mean 'C'?"]),
        ("logistic", {"C": -1.0}, ["C of Logistic is -1.0", "above 0"]),
        ("logistic", {"C": "much"}, ["C of Logistic is 'much'"]),
        ("logistic", {"C": True}, ["C of Logistic is True"]),
        ("logistic", {"C": float("nan")}, ["C of Logistic is nan"]),
        ("svm", {"kernel": "lineal"}, ["'rbf', 'linear'", "Did you mean 'linear'?"]),
        ("svm", {"gamma": "auto"}, ["gamma of SupportVector is 'auto'"]),
        ("tree", {"max_depth": 0}, ["max_depth", "an integer from 1 up"]),
        ("tree", {"max_depth": 2.5}, ["max_depth", "2.5"]),
        ("lightgbm", {"num_leaves": 1}, ["num_leaves", "from 2 up"]),
        ("lightgbm", {"reg_lambda": -1}, ["reg_lambda", "from 0 up"]),
    ],
)
def test_bad_parameters_say_what_is_allowed(name: str, params: Any, parts: Any) -> None:
    with pytest.raises(OptionError) as caught:
        get_learner(name, params)
    for part in parts:
        assert part in str(caught.value)


def test_a_learner_or_its_class_may_be_given() -> None:
    ready = Logistic(C=3.0)
    assert get_learner(ready) is ready
    assert of(Logistic, get_learner(Logistic, {"C": 2.0})).C == 2.0
    with pytest.raises(OptionError, match="beside a finished Logistic"):
        get_learner(ready, {"C": 1.0})
    with pytest.raises(PluginError, match="SplitLearner"):
        get_learner(dict)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="SklearnLearner"):
        get_learner(3)  # type: ignore[arg-type]


def test_errors_while_building_name_the_learner(site: Path) -> None:
    publish(
        site,
        "fussy-plugin",
        "fussy",
        GOOD + "    def __init__(self, need, *, mood='good'):\n"
        "        raise {'bad': ValueError, 'odd': OSError}[mood]('no luck')\n",
    )
    with pytest.raises(OptionError, match=r"'fussy'.*'need'.*need, mood"):
        get_learner("fussy")
    with pytest.raises(OptionError, match="'fussy' refuses its parameters: no luck"):
        get_learner("fussy", {"need": 1, "mood": "bad"})
    with pytest.raises(PluginError, match="'fussy' cannot be built: OSError: no luck"):
        get_learner("fussy", {"need": 1, "mood": "odd"})


def test_a_missing_extra_is_named_without_importing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crank-rank\[lightgbm\]'"):
        get_learner("lightgbm")
    (row,) = row_of("lightgbm")
    assert "crank-rank[lightgbm]" in row["status"]
    assert row["takes_missing"]
    assert row_of("logistic")[0]["status"] == "ok"


def test_rules_are_read_by_the_learners_name_even_if_it_cannot_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    label = np.where(X[:, 0] > 0, 1.0, -1.0)
    for name in ("lightgbm", "logistic", "svm", "tree"):
        rule = get_learner(name).fit(X, label, np.ones(60), rng=rng)
        with monkeypatch.context() as without:
            without.setattr(registry, "find_spec", lambda name: None)
            again = rule_from_dict(name, json.loads(json.dumps(present(rule).to_dict())))
        np.testing.assert_array_equal(present(again).decision(X), present(rule).decision(X))


def test_stored_rules_that_do_not_fit_are_refused(site: Path) -> None:
    with pytest.raises(UnknownLearnerError):
        rule_from_dict("svn", {})
    with pytest.raises(DataError, match="lacks the field 'columns'"):
        rule_from_dict("logistic", {})
    publish(
        site,
        "careless-plugin",
        "careless",
        "from crank.plugins.base import SplitRule\n" + GOOD + "    class rule(SplitRule):\n"
        "        from_dict = classmethod(lambda cls, d: d['what'])\n"
        "        decision = to_dict = None\n",
    )
    with pytest.raises(PluginError, match=r"'careless' of careless-plugin 1\.0 cannot read"):
        rule_from_dict("careless", {})
    with pytest.raises(PluginError, match="as int"):
        rule_from_dict("careless", {"what": 3})
