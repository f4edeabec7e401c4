import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.narrowing import present

pytestmark = pytest.mark.no_cover

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def load(name: str) -> ModuleType:
    path = BENCHMARKS / f"{name}.py"
    spec = present(importlib.util.spec_from_file_location(f"benchmark_{name}", path))
    module = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(module)
    return module


def table_rows(text: str) -> list[list[str]]:
    return [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")]


def test_metrics_benchmark_reports_every_metric_and_order() -> None:
    text = load("metrics").report([50, 60], curve=80, grid=5, repeat=1)
    names = [row[0].strip() for row in table_rows(text)]
    for name in ("kendall", "iauc", "auc_profile", "concordance"):
        assert names.count(name) == 4
    assert "U-shaped" in names
    assert "swinging weights" in names


def test_coverage_benchmark_reports_rates() -> None:
    module = load("interval_coverage")
    rows = table_rows(module.report(draws=4, sizes=[20], truth_rows=500))
    rates = [float(cell) for row in rows for cell in row[2:] if cell.strip()[:2] in ("0.", "1.")]
    assert len(rates) == len(module.SETTINGS) * 3 + 3 * 4
    assert all(0.0 <= rate <= 1.0 for rate in rates)


def test_crossvalidation_benchmark_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load("crossvalidation")
    kept = tmp_path / "kept.csv"
    arguments = ["x", "--fits", "1", "--sizes", "30", "--new-rows", "200", "--results", str(kept)]
    monkeypatch.setattr("sys.argv", arguments)
    module.main()
    shown = capsys.readouterr().out
    rows = [line for line in shown.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 4 * 9 - 2 * 3
    assert all(" 1.00" in row or " .00" in row or "none" in row for row in rows)
    monkeypatch.setattr(module, "simulate", None)  # nothing is left to simulate
    module.main()
    assert capsys.readouterr().out == shown
