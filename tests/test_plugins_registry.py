"""Discovery is lazy, tolerant of broken plugins and strict about names and parameters."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from crank.errors import (
    DataError,
    MissingExtraError,
    OptionError,
    PluginError,
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

GOOD = """
from crank.plugins.logistic import Logistic

class Mine(Logistic):
    description = "mine"
"""


def publish(folder, distribution, name, source, version="1.0", attribute="Mine"):
    """Write what pip would leave in site-packages for a distribution with one learner."""
    module = distribution.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    points = f"[crank.learners]\n{name} = {module}:{attribute}\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    importlib.invalidate_caches()  # they see what is new by its time, which moves in steps


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path; modules imported from it are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def in_fresh_process(code, *path):
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(map(str, path)), "PATH": ""},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def row_of(name):
    table = learners()
    return table[table["name"] == name].to_dict("records")


def test_built_in_learners_enter_by_the_same_door():
    found = installed()
    assert {"lightgbm", "logistic", "stump", "svm", "tree"} <= set(found)
    assert found["svm"].distribution == "crank-rank"
    for name in ("lightgbm", "logistic", "stump", "svm", "tree"):
        assert isinstance(get_learner(name), SplitLearner)


def test_learners_lists_one_row_each_with_capabilities():
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


def test_discovery_imports_no_learner_and_no_heavy_package():
    loaded = in_fresh_process(
        "import sys; from crank.plugins.registry import installed, get_learner\n"
        "assert len(installed()) >= 5\n"
        "assert 'crank.plugins.svm' not in sys.modules\n"
        "for name in ('logistic', 'svm', 'tree', 'lightgbm'): get_learner(name)\n"
        "import crank.plugins.sklearn\n"
        "print(*sys.modules)"
    ).split()
    assert not {"sklearn", "lightgbm", "numba", "scipy.stats", "pandas"} & set(loaded)


def test_unknown_name_lists_what_is_installed_and_the_nearest():
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
def test_a_broken_plugin_harms_nobody_else(site, source, cause):
    publish(site, "broken-plugin", "broken", source)
    with pytest.raises(PluginError, match=r"broken-plugin 1\.0") as caught:
        get_learner("broken")
    assert cause in str(caught.value)
    assert isinstance(get_learner("logistic"), Logistic)
    (row,) = row_of("broken")
    assert "broken-plugin" in row["status"]
    assert pd.isna(row["takes_missing"])
    assert row_of("logistic")[0]["status"] == "ok"


def test_import_crank_survives_a_broken_plugin_and_does_not_load_it(tmp_path):
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
def test_what_is_no_learner_is_refused(site, source):
    publish(site, "not-a-learner", "odd", source)
    with pytest.raises(PluginError, match="SplitLearner"):
        get_learner("odd")
    assert "SplitLearner" in row_of("odd")[0]["status"]


def test_two_distributions_with_one_name_are_an_error_that_names_both(site):
    publish(site, "first-plugin", "twin", GOOD)
    publish(site, "second-plugin", "twin", GOOD)
    with pytest.raises(PluginError, match="first-plugin and second-plugin"):
        get_learner("twin")
    assert "first_plugin" not in sys.modules
    rows = row_of("twin")
    assert [row["distribution"] for row in rows] == ["first-plugin", "second-plugin"]
    assert all("first-plugin" in r["status"] and "second-plugin" in r["status"] for r in rows)
    assert isinstance(get_learner("logistic"), Logistic)


def test_a_plugin_cannot_take_the_name_of_a_built_in_silently(site):
    publish(site, "bold-plugin", "logistic", GOOD)
    with pytest.raises(PluginError, match="bold-plugin and crank-rank"):
        get_learner("logistic")


def test_the_same_distribution_twice_on_the_path_is_no_duplicate(site, monkeypatch):
    publish(site / "a", "my-plugin", "mine", GOOD, version="1.0")
    publish(site / "b", "my-plugin", "mine", GOOD, version="2.0")
    monkeypatch.syspath_prepend(str(site / "b"))
    monkeypatch.syspath_prepend(str(site / "a"))
    assert installed()["mine"].version == "1.0"
    assert get_learner("mine").description == "mine"


def test_a_plugin_installed_meanwhile_is_found(site):
    with pytest.raises(UnknownLearnerError):
        get_learner("mine")
    publish(site, "my-plugin", "mine", GOOD)
    learner = get_learner("mine", {"C": 2.0})
    assert learner.C == 2.0
    assert name_of(learner) == "mine"


def test_names_of_learners():
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
def test_bad_parameters_say_what_is_allowed(name, params, parts):
    with pytest.raises(OptionError) as caught:
        get_learner(name, params)
    for part in parts:
        assert part in str(caught.value)


def test_a_learner_or_its_class_may_be_given():
    ready = Logistic(C=3.0)
    assert get_learner(ready) is ready
    assert get_learner(Logistic, {"C": 2.0}).C == 2.0
    with pytest.raises(OptionError, match="beside a finished Logistic"):
        get_learner(ready, {"C": 1.0})
    with pytest.raises(PluginError, match="SplitLearner"):
        get_learner(dict)
    with pytest.raises(OptionError, match="SklearnLearner"):
        get_learner(3)


def test_errors_while_building_name_the_learner(site):
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


def test_a_missing_extra_is_named_without_importing(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crank-rank\[lightgbm\]'"):
        get_learner("lightgbm")
    (row,) = row_of("lightgbm")
    assert "crank-rank[lightgbm]" in row["status"]
    assert row["takes_missing"]
    assert row_of("logistic")[0]["status"] == "ok"


def test_rules_are_read_by_the_learners_name_even_if_it_cannot_fit(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    label = np.where(X[:, 0] > 0, 1.0, -1.0)
    for name in ("lightgbm", "logistic", "svm", "tree"):
        rule = get_learner(name).fit(X, label, np.ones(60), rng=rng)
        with monkeypatch.context() as without:
            without.setattr(registry, "find_spec", lambda name: None)
            again = rule_from_dict(name, json.loads(json.dumps(rule.to_dict())))
        np.testing.assert_array_equal(again.decision(X), rule.decision(X))


def test_stored_rules_that_do_not_fit_are_refused(site):
    with pytest.raises(UnknownLearnerError):
        rule_from_dict("svn", {})
    with pytest.raises(DataError, match="lacks the field 'columns'"):
        rule_from_dict("logistic", {})
    publish(
        site,
        "careless-plugin",
        "careless",
        "from crank.plugins.base import SplitRule\n" + GOOD + "    class rule(SplitRule):\n"
        "        from_dict = classmethod(lambda cls, d: d['what'])\n",
    )
    with pytest.raises(PluginError, match="'careless' cannot read"):
        rule_from_dict("careless", {})
    with pytest.raises(PluginError, match="as int"):
        rule_from_dict("careless", {"what": 3})
