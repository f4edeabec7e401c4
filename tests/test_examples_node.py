"""The Node example scores a file as Python does."""

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

import crank
from crank.models.base import RankingModel

pytestmark = pytest.mark.no_cover

EXAMPLE = Path(__file__).parents[1] / "examples" / "node-scoring"
QUIET = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
IMPATIENT = ["--fetch-retries=0", "--fetch-timeout=60000"]


@pytest.fixture(scope="module")
def folder(pytestconfig: pytest.Config) -> Path:
    """The example with its package installed; kept between runs in pytest's cache."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    target = pytestconfig.cache.mkdir("node-scoring")
    for name in ("package.json", "score.mjs"):
        shutil.copy(EXAMPLE / name, target)
    if not (target / "node_modules").exists():
        with TemporaryDirectory(dir=target) as fresh:
            shutil.copy(EXAMPLE / "package.json", fresh)
            install = [npm, "install", *QUIET, *IMPATIENT]
            done = subprocess.run(install, cwd=fresh, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"onnxruntime-web cannot be had from npm: {done.stderr.strip()[-300:]}")
            # in one step: an interrupt leaves no half of it for the next run, and of two test
            # processes that install at the same time the second finds the first one's
            with suppress(OSError):
                Path(fresh, "node_modules").rename(target / "node_modules")
            assert (target / "node_modules").exists()
    return target


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = 300
    frame = pd.DataFrame(
        {
            "carat": rng.lognormal(size=n),
            "cut": rng.choice(["Fair", "Good", "Très bien"], n),
            "boxed": rng.random(n) < 0.5,
            "count": rng.integers(0, 5, n),
        }
    )
    effect = frame["cut"].map({"Fair": -1.0, "Good": 0.0, "Très bien": 1.0})
    frame["price"] = np.log(frame["carat"]) + effect + 0.5 * frame["boxed"] * frame["count"]
    frame["price"] += 0.2 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "carat"] = np.nan
    frame.loc[rng.random(n) < 0.1, "cut"] = None
    return frame


def run(folder: Path, model: Path, rows: Path) -> subprocess.CompletedProcess[str]:
    command = ["node", "score.mjs", str(model), str(rows)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def as_json(frame: pd.DataFrame) -> str:
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return json.dumps(records)


CASES = [
    ("stump", "price ~ carat + I(cut == 'Fair') + isin(cut, ['', 'Good'])"),
    ("stump", "price ~ carat + cut + boxed + C(count)"),
    ("logistic", "price ~ log(carat) + cut * boxed + bs(count, df=3)"),
]


def test_node_gives_the_same_scores(folder: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    """One test, so that tests running side by side do not install the package twice."""
    new = frame.drop(columns="price")
    new.loc[::19, "cut"] = "unseen"
    new.loc[::17, "cut"] = ""  # a text, which null is not
    rows = tmp_path / "rows.json"
    rows.write_text(as_json(new), encoding="utf-8")
    for learner, formula in CASES:
        model = crank.fit(frame, formula, learner=learner, max_depth=4, prune=None)
        model.to_onnx(tmp_path / "m.onnx")
        done = run(folder, tmp_path / "m.onnx", rows)
        assert done.returncode == 0, done.stderr
        got = pd.DataFrame(json.loads(done.stdout))
        assert np.array_equal(got["score"], model.predict(new, unknown="missing"))
        assert np.array_equal(got["leaf"], model.predict(new, "leaf", unknown="missing"))
    for wrong, said in WRONG:
        rows.write_text(wrong, encoding="utf-8")
        failed = run(folder, tmp_path / "m.onnx", rows)
        assert failed.returncode == 1
        assert said in failed.stderr
    complete = new.dropna()
    complete = complete[complete["cut"].isin(["Fair", "Good"])]
    rows.write_text(as_json(complete), encoding="utf-8")
    for fit in OTHERS:
        ranker = fit(frame, "price ~ carat + cut + boxed + count")
        ranker.to_onnx(tmp_path / "m.onnx")
        done = run(folder, tmp_path / "m.onnx", rows)
        assert done.returncode == 0, done.stderr
        got = pd.DataFrame(json.loads(done.stdout))
        np.testing.assert_allclose(got["score"], ranker.predict(complete), rtol=1e-12, atol=1e-12)


WRONG = [
    ('[{"cut": "Fair", "boxed": true, "count": 1}]', 'row 0 lacks the column "carat"'),
    ('[{"carat": "0,3", "cut": "Fair", "boxed": true, "count": 1}]', 'column "carat": "0,3"'),
    ('[{"carat": "", "cut": "Fair", "boxed": true, "count": 1}]', 'column "carat": ""'),
    ('[{"carat": 1, "cut": 5, "boxed": true, "count": 1}]', 'column "cut": 5'),
    ('[{"carat": 1, "cut": "\\uffff", "boxed": true, "count": 1}]', 'column "cut"'),
]
OTHERS: list[Callable[[pd.DataFrame, str], RankingModel]] = [
    lambda data, formula: crank.linear(data, formula, cv=None),
    lambda data, formula: crank.forest(data, formula, n_trees=5),
    lambda data, formula: crank.boost(data, formula, rounds=5),
]
