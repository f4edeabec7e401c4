"""Files of earlier versions load, and score what they scored when they were written."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crank
from crank.export.json import FORMAT
from crank.records.kinds import KINDS
from tests.narrowing import of

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(p for p in GOLDEN.glob("format-*/*.json") if not p.name.endswith(".scores.json"))


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    return of(dict, json.loads((GOLDEN / "rows.json").read_text(encoding="utf-8")))


def test_every_built_in_learner_has_a_golden_file() -> None:
    for folder in {path.parent for path in FILES}:
        files = [json.loads(p.read_text(encoding="utf-8")) for p in FILES if p.parent == folder]
        parts = [file.get("ranker", file) for file in files]
        stored = {part["learner"]["name"] for part in parts if "learner" in part}
        assert stored >= {"stump", "tree", "logistic", "svm", "lightgbm", "sklearn"}


def test_every_kind_has_a_golden_file_of_the_format_of_today() -> None:
    folder = GOLDEN / f"format-{FORMAT}"
    every = [json.loads(p.read_text(encoding="utf-8")) for p in FILES if p.parent == folder]
    stored = {file["kind"] for file in every}
    assert stored == set(KINDS)


def assert_as_pinned(path: Path, found: Any, pinned: list[float]) -> None:
    # scores of a tree are looked up; a sum may differ in its last digit between machines
    rtol = 0.0 if json.loads(path.read_text()).get("kind", "tree") == "tree" else 1e-13
    np.testing.assert_allclose(found, pinned, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_golden_file_scores_what_it_always_did(path: Any, rows: dict[str, list[Any]]) -> None:
    m = crank.load(path)
    pinned = json.loads(path.with_suffix(".scores.json").read_text())
    for type_, values in pinned.items():
        assert_as_pinned(path, m.predict(rows, type_), values)
    assert len(set(pinned["score"])) > 1


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_golden_file_can_be_read_pruned_and_written_again(
    path: Any, rows: dict[str, list[Any]]
) -> None:
    m = crank.load(path)
    assert m.formula in str(m.summary())
    if isinstance(m, crank.TreeModel):
        assert m.prune(n_leaves=2).tree.n_leaves <= 2
    assert set(m.evaluate(rows).index) >= {"kendall", "iauc"}
    again = crank.from_json(m.to_json())
    np.testing.assert_array_equal(again.predict(rows), m.predict(rows))


BARE = """
import sys
BLOCKED = set("lightgbm sklearn formulaic numba scipy pandas narwhals statsmodels".split())
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import json
import crank
rows = json.load(open(sys.argv[1]))
for path in sys.argv[2:]:
    print(json.dumps(crank.load(path).predict(rows).tolist()))
print(sorted(BLOCKED & set(sys.modules)))
"""


def test_scoring_a_stored_model_needs_numpy_alone() -> None:
    command = [sys.executable, "-c", BARE, str(GOLDEN / "rows.json"), *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *scores, loaded = done.stdout.splitlines()
    for path, line in zip(FILES, scores, strict=True):
        pinned = json.loads(path.with_suffix(".scores.json").read_text())["score"]
        assert_as_pinned(path, json.loads(line), pinned)
    assert loaded == "[]"
