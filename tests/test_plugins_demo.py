"""The example plugin, installed for real into a throw-away environment and used by name."""

import json
import site
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "crank-plugin-demo"


def run(*command: Any, cwd: Any) -> Any:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A new environment that sees crank and its dependencies, with the plugin installed by pip."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=sys.platform != "win32")
    python = next(p for p in (home / "bin/python", home / "Scripts/python.exe") if p.exists())
    found = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
    packages = Path(found.stdout.strip())
    # addsitedir, not a bare path: crank itself may be an editable install
    lines = [f"import site; site.addsitedir({path!r})" for path in site.getsitepackages()]
    (packages / "outer.pth").write_text("\n".join(lines), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    # without hatchling at hand pip fetches it, as for any distribution
    how = ["--no-build-isolation"] if find_spec("hatchling") else []
    done = run(*pip, "install", "--quiet", "--no-deps", *how, DEMO, cwd=home)
    if "No matching distribution found for hatchling" in done.stderr + done.stdout:
        pytest.skip("the build backend hatchling is neither installed nor to be had from an index")
    assert done.returncode == 0, done.stderr
    return python


def in_environment(python: Any, code: Any, cwd: Any) -> Any:
    """Run code in a fresh process that has never heard of this checkout; return what it prints."""
    done = run(python, "-c", code, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plugin_is_listed_with_its_own_distribution(environment: Any, tmp_path: Path) -> None:
    code = """
import json, sys, crank
from crank.plugins.registry import installed
assert "qda" in installed() and "crank_plugin_demo" not in sys.modules
print(crank.learners().set_index("name").loc["qda"].to_json())
"""
    row = json.loads(in_environment(environment, code, tmp_path))
    assert row["distribution"] == "crank-plugin-demo"
    assert row["version"] == "0.1.0"
    assert row["status"] == "ok"
    assert row["takes_missing"] is True
    assert "quadratic discriminant" in row["description"]


def test_the_plugin_keeps_the_contract_where_it_is_installed(
    environment: Any, tmp_path: Path
) -> None:
    code = """
from crank.plugins.registry import get_learner
from crank.testing import check_learner
print(check_learner(get_learner("qda", {"pool": 0.3})).ok)
"""
    assert in_environment(environment, code, tmp_path).strip() == "True"


def test_the_plugins_own_tests_pass(environment: Any, tmp_path: Path) -> None:
    done = run(
        environment,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        DEMO / "tests",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_models_are_fitted_with_the_plugin_by_name(environment: Any, tmp_path: Path) -> None:
    code = """
import crank, numpy as np, pandas as pd
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 2))
frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "g": rng.choice(["u", "v"], 600)})
frame["y"] = -(X**2).sum(axis=1) + 0.3 * rng.normal(size=600)
frame.loc[::50, "b"] = np.nan
train, test = frame[:400], frame[400:]
m = crank.fit(train, "y ~ a + b + g", learner="qda", learner_params={"shrink": 0.2},
              criterion="kendall", max_depth=3, prune=None)
stumps = crank.fit(train, "y ~ a + b + g", criterion="kendall", max_depth=3, prune=None)
for model in (m, stumps):
    print(crank.metrics.kendall(test["y"], model.predict(test)))
assert "qda(" in str(m.rules())
try:
    crank.fit(train, "y ~ a", learner="qda", learner_params={"shrunk": 1})
except crank.errors.OptionError as error:
    print(error)
"""
    curved, stumps, message = in_environment(environment, code, tmp_path).splitlines()
    assert float(curved) > float(stumps) > 0.6
    assert "'qda' has no parameter 'shrunk'" in message
    assert "Did you mean 'shrink'?" in message


def test_stored_rules_are_read_by_the_plugins_name(environment: Any, tmp_path: Path) -> None:
    code = """
import json, numpy as np
from crank.plugins.registry import get_learner, name_of, rule_from_dict
X = np.random.default_rng(0).normal(size=(50, 2))
learner = get_learner("qda")
rule = learner.fit(X, np.where(X[:, 0] > 0, 1.0, -1.0), np.ones(50), rng=None)
again = rule_from_dict(name_of(learner), json.loads(json.dumps(rule.to_dict())))
assert np.array_equal(again.decision(X), rule.decision(X))
print(name_of(learner))
"""
    assert in_environment(environment, code, tmp_path).strip() == "qda"


def test_without_the_plugin_the_name_is_unknown() -> None:
    from crank.errors import UnknownLearnerError
    from crank.plugins.registry import get_learner

    if find_spec("crank_plugin_demo"):
        pytest.skip("the plugin is installed here")
    with pytest.raises(UnknownLearnerError, match="no split learner named 'qda'"):
        get_learner("qda")
