"""crank-scorer: the same code, with what scoring needs and nothing else installed."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from packaging.requirements import Requirement

import crank
from crank.errors import OF_SCORING

ROOT = Path(__file__).parents[1]
NEEDED = ("numpy", "narwhals", "onnxruntime")
SCORE = """
import json, sys
import crank
from crank.serve import Scorer

rows = json.load(open("rows.json"))
model = crank.load("m.json")
heavy = {"pandas", "scipy", "sklearn", "numba", "onnx"} & set(sys.modules)
try:
    model.summary()
except ImportError as error:
    refused = type(error).__name__ + ": " + str(error)
scores = Scorer("m.onnx")(rows).tolist()
print(json.dumps([scores, model.predict(rows).tolist(), sorted(heavy), refused]))
"""


def project(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return found


def test_both_distributions_have_the_same_doors() -> None:
    whole, light = (
        project(ROOT / path) for path in ("pyproject.toml", "packaging/scorer/pyproject.toml")
    )
    for same in ("entry-points", "scripts", "license", "requires-python", "authors"):
        assert light[same] == whole[same]
    extras, of_all = light["optional-dependencies"], whole["optional-dependencies"]
    assert tuple(sorted(extras)) == OF_SCORING
    for name, brought in extras.items():
        own = [text for text in of_all[name] if not text.startswith("crank-rank")]
        assert brought == own
    listed = whole["dependencies"] + whole["optional-dependencies"]["onnx"]
    assert set(light["dependencies"]) <= set(listed)
    assert [text.partition(">")[0] for text in light["dependencies"]] == list(NEEDED)


def needed() -> set[str]:
    """Distributions that scoring needs, with what these require."""
    found: set[str] = set()
    waiting = list(NEEDED)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            wanted = map(Requirement, distribution(name).requires or ())
            waiting += [r.name for r in wanted if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the light wheel, unpacked, and links to what it depends on."""
    if os.name == "nt":
        pytest.skip("links need a privilege on Windows")
    built, site = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built],
        cwd=ROOT / "packaging" / "scorer",
        check=True,
        capture_output=True,
    )
    (wheel,) = built.glob("crank_scorer-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    for name in needed():
        for file in distribution(name).files or ():
            top = file.parts[0]
            if not top.startswith("..") and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return site


def run(bare: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with nothing but the folder and the standard library."""
    return subprocess.run(
        [sys.executable, "-S", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(bare)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_scoring_needs_numpy_narwhals_and_onnxruntime_only(bare: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=200), "g": rng.choice(["a", "b", "c"], 200)}).assign(
        y=lambda d: d["x"] + (d["g"] == "b")
    )
    model = crank.fit(frame, "y ~ x + g", prune=None)
    model.to_json(tmp_path / "m.json")
    model.to_onnx(tmp_path / "m.onnx")
    rows = {"x": frame["x"].tolist(), "g": frame["g"].tolist()}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    frame[["x", "g"]].to_csv(tmp_path / "rows.csv", index=False)

    done = run(bare, tmp_path, "-c", SCORE)
    assert done.returncode == 0, done.stderr
    from_onnx, from_json, heavy, refused = json.loads(done.stdout)
    assert from_onnx == from_json == model.predict(frame).tolist()
    assert heavy == []
    assert refused.startswith("MissingExtraError: pandas is not installed: crank-scorer brings")

    for file in ("m.json", "m.onnx"):
        done = run(bare, tmp_path, "-m", "crank.cli", "score", file, "rows.csv", "-o", "s.csv")
        assert done.returncode == 0, done.stderr
        assert pd.read_csv(tmp_path / "s.csv")["score"].tolist() == from_json
    for command, remedy in (
        ("summary", "pip uninstall crank-scorer, then pip install crank-rank"),
        ("serve", "pip install 'crank-scorer[serve]'"),  # crank-rank would stand beside it
    ):
        done = run(bare, tmp_path, "-m", "crank.cli", command, "m.json")
        assert done.returncode == 1
        assert remedy in done.stderr
