"""The benchmark harness runs and lays its figures out; no test looks at the times."""

import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[1]


SECTIONS = {
    "one_tree": "One tree",
    "formula": "From a data frame",
    "growing": "The grower beside its learners",
    "prediction": "Prediction",
    "scaling": "Growth",
    "metrics": "Rank metrics",
    "serving": "Serving",
    "latency": "Latency of a fresh process",
}


def run(*arguments: Path | str) -> CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def timing() -> ModuleType:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks import timing
    finally:
        sys.path.remove(str(ROOT))
    return timing


def test_every_section_writes_its_tables(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    page = tmp_path / "page.md"
    done = run("--small", "--output", page, "--only", *SECTIONS)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for name in SECTIONS.values():
        assert f"## {name}" in text
    assert "300 rows, with a formula" in text
    width = 0
    for line in text.splitlines():
        if line.startswith("|"):
            width = width or line.count("|")
            assert line.count("|") == width, line
        else:
            width = 0


def test_contestants_take_turns_in_changing_order(timing: ModuleType) -> None:
    calls = []
    times = timing.race({k: lambda k=k: calls.append(k) for k in "abc"}, rounds=3, warm=False)
    assert "".join(calls) == "abcbcacab"
    assert all(len(t.wall) == len(t.cpu) == 3 for t in times.values())


def test_a_ratio_is_the_median_of_the_ratios_within_a_round(timing: ModuleType) -> None:
    ours = timing.Times(np.array([1.0, 2.0, 10.0]), np.ones(3))
    peer = timing.Times(np.array([3.0, 4.0, 20.0]), np.array([5.0, 6.0, 7.0]))
    assert peer.over(ours) == (2.0, 6.0)
    table = timing.ratio_table("what", [("x", {"crank": ours, "peer": peer})])
    assert table[2:] == ["| x | peer | 2 s | 4 s | 2.00 | 1 s | 6 s | 6.00 |"]


def test_promises_are_held_against_what_was_measured(timing: ModuleType) -> None:
    bars = [
        timing.Bar("a", 2.0, least=2),
        timing.Bar("b", 1.9, least=2),
        timing.Bar("c", 5, most=4),
    ]
    assert [bar.met for bar in bars] == [True, False, False]
    assert not timing.Bar("d", float("nan"), least=1).met
    table = timing.bar_table(bars)
    assert table[2:] == [
        "| a | ≥ 2 | 2 | met |",
        "| b | ≥ 2 | 1.9 | **missed** |",
        "| c | ≤ 4 | 5 | **missed** |",
    ]
