"""Real plugins, installed by pip into an environment of their own and used in every way."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from tests.test_plugins_demo import environment, in_environment, run  # noqa: F401 - a fixture

PLUGINS = Path(__file__).parent / "plugins"

# one process for all: starting Python and its libraries is what takes time here
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

def sample(n, seed, holes):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in "abc"})
    frame["c"] = rng.choice(list("uvwxyz"), n) if holes else frame["c"]
    high = frame["c"].isin(["v", "y"]) if holes else 0.0
    frame["y"] = frame["a"] + 0.5 * frame["b"] + 2.0 * high + 0.3 * rng.normal(size=n)
    if holes:  # also in the response's own columns, and a text that is missing
        frame.loc[rng.random(n) < 0.1, "a"] = np.nan
        frame.loc[rng.random(n) < 0.1, "c"] = None
    return frame

for folder, name, parameter, values in PLUGINS:
    holes = get_learner(name).takes_categories
    train, new = sample(300, 0, holes), sample(10_000, 1, holes).drop(columns="y")
    train.to_csv("train.csv", index=False)
    new[:50].to_csv(f"{name}.csv", index=False)
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
    grid.fit(train[["a", "b"]], train["y"])
    assert grid.best_params_[f"learner__{parameter}"] in values
    m.to_json(f"{name}.json")
    np.save(f"{name}.npy", m.predict(pd.read_csv(f"{name}.csv")))
    if holes:
        one = get_learner(name, {"n_estimators": 1})
        shown = crank.fit(train, "y ~ a + b + c", learner=one, max_depth=1, prune=None).rules()
        assert "c in {" in str(shown) and "missing" in str(shown)
        odd, how = new[:3].assign(c="never met"), {"unknown": "missing"}
        assert (crank.load(f"{name}.json").predict(odd, **how) == m.predict(odd, **how)).all()
    options = ["--learner", name, "--prune", "none", "-o", "cli.json"]
    said("fit", "train.csv", "y ~ a + b + c", *options)
    assert crank.load("cli.json").learner.name == name
    said("score", "cli.json", f"{name}.csv", "-o", "scored.csv")
    scored, wanted = pd.read_csv("scored.csv"), crank.load("cli.json")
    assert (scored["score"] == wanted.predict(pd.read_csv(f"{name}.csv"))).all()
print("ok")
"""
READ = """
import sys
import numpy as np, pandas as pd, crank
for _, name, *_ in PLUGINS:
    m = crank.load(f"{name}.json")
    assert (m.predict(pd.read_csv(f"{name}.csv")) == np.load(f"{name}.npy")).all()
assert "xgboost" not in sys.modules
print("ok")
"""
USED = [
    ("crank-lda", "lda", "ridge", [0.01, 1.0]),
    ("crank-stumps", "random-stump", "columns", [1, 3]),
]
if find_spec("xgboost"):  # not for every platform
    USED.append(("crank-xgb", "xgboost", "max_depth", [1, 3]))


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
    install(environment, tmp_path, *(PLUGINS / folder for folder, *_ in USED))
    given = f"PLUGINS = {USED!r}\n"
    assert in_environment(environment, given + USE, tmp_path).strip().endswith("ok")
    assert in_environment(environment, given + READ, tmp_path).strip() == "ok"


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
    checked = run(environment, "-m", "crank.cli", "learners", "check", "nearest-mean", cwd=home)
    assert "checks passed, 3 skipped, 0 failed." in checked.stdout, checked.stderr
    assert checked.returncode == 0
