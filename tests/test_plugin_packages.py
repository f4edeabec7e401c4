"""Real plugins, installed by pip into an environment of their own and used in every way."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from tests.test_plugin_demo import environment, in_environment, run  # noqa: F401 - a fixture

PLUGINS = Path(__file__).parent / "plugins"

# one process for both: starting Python and its libraries is what takes time here
USE = """
import contextlib, io, pickle, threading
import numpy as np, pandas as pd, crank
from sklearn.model_selection import GridSearchCV
from crank.cli import main
from crank.plugins.registry import get_learner
from crank.testing import check_learner

def said(*command):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert not main(list(command)), out.getvalue()
    return out.getvalue()

rng = np.random.default_rng(0)
train, new = (
    pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.normal(size=n)})
    for n in (300, 10_000)
)
train["y"] = train["a"] + 0.5 * train["b"] + 0.3 * rng.normal(size=300)
train.to_csv("train.csv", index=False)
new[:50].to_csv("new.csv", index=False)
for folder, name, parameter, values in (
    ("crank-lda", "lda", "ridge", [0.01, 1.0]),
    ("crank-stumps", "random-stump", "columns", [1, 3]),
):
    assert check_learner(get_learner(name), new_process=False).ok
    shown = said("learners", "show", name)
    assert f"{folder} 0.3.0" in shown and parameter in shown
    m = crank.fit(train, "y ~ a + b + c", learner=name, max_depth=3, prune=None)
    scores = m.predict(new)
    assert len(set(scores)) > 4
    assert (crank.serve.Scorer(m.to_onnx())(new) == scores).all()
    assert (pickle.loads(pickle.dumps(m)).predict(new) == scores).all()
    found = []
    threads = [threading.Thread(target=lambda: found.append(m.predict(new))) for _ in range(2)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert len(found) == 2 and all((f == scores).all() for f in found)
    tree = crank.RankingTree(get_learner(name), max_depth=2, random_state=0)
    grid = GridSearchCV(tree, {f"learner__{parameter}": values}, cv=2, error_score="raise")
    grid.fit(train[["a", "b", "c"]], train["y"])
    assert grid.best_params_[f"learner__{parameter}"] in values
    m.to_json(f"{name}.json")
    np.save(f"{name}.npy", m.predict(pd.read_csv("new.csv")))
    options = ["--learner", name, "--prune", "none", "-o", "cli.json"]
    said("fit", "train.csv", "y ~ a + b + c", *options)
    assert crank.load("cli.json").learner.name == name
print("ok")
"""
READ = """
import numpy as np, pandas as pd, crank
for name in ("lda", "random-stump"):
    m = crank.load(f"{name}.json")
    assert (m.predict(pd.read_csv("new.csv")) == np.load(f"{name}.npy")).all()
print("ok")
"""


def install(python: Path, cwd: Path, *folders: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    # without hatchling at hand the fixture has fetched it, or skipped
    how = ["--no-build-isolation"] if find_spec("hatchling") else []
    done = run(*pip, "install", "--quiet", "--no-deps", *how, *folders, cwd=cwd)
    assert done.returncode == 0, done.stderr


def test_plugins_serve_in_every_way(
    environment: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    install(environment, tmp_path, PLUGINS / "crank-lda", PLUGINS / "crank-stumps")
    assert in_environment(environment, USE, tmp_path).strip().endswith("ok")
    assert in_environment(environment, READ, tmp_path).strip() == "ok"


def test_a_new_project_installs_and_passes_as_it_is_generated(
    environment: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    made = run(environment, "-m", "crank.cli", "learners", "new", "nearest-mean", cwd=tmp_path)
    assert "Wrote crank-nearest-mean" in made.stdout, made.stderr
    home = tmp_path / "crank-nearest-mean"
    assert (home / ".github/workflows/tests.yml").exists()
    install(environment, tmp_path, home)
    done = run(environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
