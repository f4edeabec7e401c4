"""Fit and judge, one row of a CSV file each; what the file holds already is not done again."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import crank
from benchmarks.quality import automatic, boosters, ours, peers
from benchmarks.quality.sets import load, split
from benchmarks.quality.targets import Floats, Method
from benchmarks.timing import cpu_seconds

RESULTS = Path(__file__).parents[1] / "results" / "quality.csv"
SPLITS = 5
CHEAP: dict[str, Method] = ours.CHEAP | peers.CHEAP
DEAR: dict[str, Method] = ours.DEAR | boosters.DEAR | peers.DEAR
METHODS = (*CHEAP, *DEAR, *automatic.NAMES)
BUDGET_OF = "crank blend"


@dataclass(frozen=True)
class Result:
    """One method on one split of one set; without figures, and with a note, if it failed."""

    set: str
    split: int
    method: str
    kendall: float | None
    iauc: float | None
    wall: float
    cpu: float
    n_train: int
    n_test: int
    note: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What was done."""
        return self.set, self.split, self.method


def plan(sets: list[str], methods: list[str], splits: int) -> Iterator[tuple[str, int, str]]:
    """Order the work so that what is there early says something: split by split, cheap first."""
    for number in range(splits):
        for tier in (CHEAP, {**DEAR, **dict.fromkeys(automatic.NAMES)}):
            for name in sets:
                for method in tier:
                    if method in methods:
                        yield name, number, method


def run(path: Path, sets: list[str], methods: list[str], splits: int) -> None:
    """Do whatever is not in the file yet, and say how far it is."""
    known = {result.key: result for result in read(path)}
    work = [key for key in plan(sets, methods, splits) if key not in known]
    absent: set[str] = set()
    began = time.monotonic()
    print(f"{len(known)} results are there, {len(work)} to go", flush=True)
    for at, (name, number, method) in enumerate(work):
        if method in absent:
            continue
        blend = known.get((name, number, BUDGET_OF))
        if method in automatic.NAMES and blend is None:
            continue
        try:
            result = judge(name, number, method, 0.0 if blend is None else blend.cpu)
        except ModuleNotFoundError as error:
            absent.add(method)
            print(f"{method} is left out: {error}", flush=True)
            continue
        known[result.key] = result
        append(path, result)
        took = time.monotonic() - began
        left = took / (at + 1) * (len(work) - at - 1)
        figure = "failed" if result.kendall is None else f"{result.kendall:.4f}"
        print(
            f"[{at + 1}/{len(work)}, {left / 60:.0f} min left] {name} {number} {method}: {figure} "
            f"in {result.cpu:.1f} CPU s {result.note}",
            flush=True,
        )


def judge(name: str, number: int, method: str, budget: float) -> Result:
    """Fit to the training rows of a split and judge on the others."""
    train, test = split(load(name), number)
    fit = (CHEAP | DEAR).get(method)
    if fit is None:
        fit = automatic.flaml(budget, stacking=automatic.NAMES[method])
    wall, cpu = time.perf_counter(), cpu_seconds()
    score: Floats | None = None
    note = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = fit(train, test, number)
        except ModuleNotFoundError:
            raise
        except Exception as error:  # a failure of any peer is a result
            note = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    took = round(time.perf_counter() - wall, 3), round(cpu_seconds() - cpu, 3)
    kendall = iauc = None
    if score is not None and np.isfinite(score).all():
        y = test["y"].to_numpy(dtype=np.float64)
        kendall = round(float(crank.metrics.kendall(y, score)), 6)
        iauc = round(float(crank.metrics.iauc(y, score)), 6)
    elif score is not None:
        note = "scores are not finite"
    sizes = len(train), len(test)
    return Result(name, number, method, kendall, iauc, *took, *sizes, note)


def read(path: Path = RESULTS) -> list[Result]:
    """Read what earlier runs found; a line that a stopped run left unfinished is not read."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("note") is not None]
    return [
        Result(
            row["set"],
            int(row["split"]),
            row["method"],
            float(row["kendall"]) if row["kendall"] else None,
            float(row["iauc"]) if row["iauc"] else None,
            float(row["wall"]),
            float(row["cpu"]),
            int(row["n_train"]),
            int(row["n_test"]),
            row["note"],
        )
        for row in rows
    ]


def append(path: Path, result: Result) -> None:
    """Add one line to the file."""
    path.parent.mkdir(exist_ok=True)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    with path.open("a", encoding="utf-8", newline="") as file:
        if old and not old.endswith("\n"):  # a stopped run left half a line
            file.write("\n")
        names = [field.name for field in fields(Result)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        if not old:
            writer.writeheader()
        writer.writerow(asdict(result))
