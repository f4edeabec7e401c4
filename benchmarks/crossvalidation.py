"""Bias of cross-validated figures and coverage of their 95% intervals; writes a Markdown table.

Run ``python -m benchmarks.crossvalidation``; ``--fits 20`` for a quick look, ``--results file``
to keep what was measured and go on from there. The truth of a fit is the figure of its own
model on 4,000 new rows. The aims: bias within ±.01 with signal and ±.02 on noise from 60 rows on;
coverage of at least .90 from 60 rows on, and .85 at 30.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crank.fitting.tree import fit_tree
from crank.metrics.figures import get_figure
from crank.plugins.stump import Stump
from crank.rankers.options import TreeOptions
from crank.ranks import rank

COLUMNS = 5
SIZES = (30, 60, 200)
RESPONSES = ("continuous", "tied", "binary")
SIGNALS = ("noise", "weak", "strong")
CRITERIA = ("auto", "crank", "kendall", "iauc")
CUTS = {"noise": 0.674, "weak": 0.754, "strong": 2.24}
"""Above these a quarter of the rows is positive, if y is binary."""
WIDTHS = {"noise": 1.0, "weak": 1.1, "strong": 2.1}
"""Of the five or so classes of a tied y: standard deviations."""


class Cell(NamedTuple):
    """One setting of the simulation."""

    n: int
    response: str
    signal: str
    criterion: str

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and responses; classes of y are those of a large sample."""
        X, error = rng.normal(size=(n, COLUMNS)), rng.normal(size=n)
        y = {
            "noise": error,
            "weak": 0.5 * X[:, 0] + error,
            "strong": 2.0 * X[:, 0] + np.abs(X[:, 1]) + 0.5 * error,
        }[self.signal]
        if self.response == "tied":
            return X, np.round(y / WIDTHS[self.signal])
        return X, (y > CUTS[self.signal]).astype(float) if self.response == "binary" else y

    def usable(self, y: np.ndarray) -> bool:
        """Whether a sample has rows enough of two values to be dealt out."""
        return len(y) - int(np.unique(y, return_counts=True)[1].max()) >= 2


class Found(NamedTuple):
    """What many fits say of one figure."""

    figure: str
    bias: float
    error: float
    coverage: float
    width: float
    unjudged: float

    def __str__(self) -> str:
        if self.unjudged == 1.0:
            return "none"
        text = f"{self.bias:+.3f} {self.coverage:.2f}".replace("0.", ".").replace("-", "−")
        return text + (f" ({self.unjudged:.0%} without)" if self.unjudged else "")


def cells(criteria: list[str], sizes: list[int]) -> Iterator[Cell]:
    """List all settings; on a binary y "auto" is kendall, and the IAUC needs three values."""
    for criterion, response, signal, n in product(criteria, RESPONSES, SIGNALS, sizes):
        if not (response == "binary" and criterion in ("kendall", "iauc")):
            yield Cell(n, response, signal, criterion)


def simulate(cell: Cell, fits: int, new_rows: int, seed: int) -> list[Found]:
    """Fit again and again, and hold the cross-validated figures against new rows."""
    rng = np.random.default_rng([seed, cell.n])
    options = TreeOptions(criterion=cell.criterion)
    found: dict[str, list[tuple[float, bool, float]]] = {"kendall": []}
    for _ in range(fits):
        X, y = cell.draw(rng, cell.n)
        while not cell.usable(y):
            X, y = cell.draw(rng, cell.n)
        fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
        X, y = cell.draw(rng, new_rows)
        score = fitted.tree.score(X)
        for name, one in fitted.crossvalidated.items():
            truth = get_figure(name).estimate(y, score)
            covered = one.ci_low <= truth <= one.ci_high
            entry = one.estimate - truth, covered, one.ci_high - one.ci_low
            found.setdefault(name, []).append(entry)
    return [_found(name, np.array(rows, dtype=float), fits) for name, rows in found.items()]


def _found(figure: str, rows: np.ndarray, fits: int) -> Found:
    if not len(rows):
        return Found(figure, np.nan, np.nan, np.nan, np.nan, 1.0)
    bias, coverage, width = rows.mean(axis=0).tolist()
    error = float(rows[:, 0].std() / np.sqrt(len(rows)))
    return Found(figure, bias, error, coverage, width, 1.0 - len(rows) / fits)


def kept(results: Path) -> dict[Cell, list[Found]]:
    """Read what was measured before."""
    found: dict[Cell, list[Found]] = {}
    if results.exists():
        with results.open(newline="") as file:
            for n, response, signal, criterion, figure, *numbers in csv.reader(file):
                cell = Cell(int(n), response, signal, criterion)
                found.setdefault(cell, []).append(Found(figure, *map(float, numbers)))
    return found


def table(found: dict[Cell, list[Found]], fits: int) -> list[str]:
    """Lay the cells out, one line for a response, a signal and a criterion."""
    sizes = sorted({cell.n for cell in found})
    error = np.sqrt(0.05 * 0.95 / fits)
    most = np.nanmax([one.error for each in found.values() for one in each])
    lines = [
        f"{fits} fits a cell; simulation error of a coverage {error:.3f}, of a bias ≤ {most:.3f}.",
        "Bias and coverage of d_τ; of the triple IAUC.",
        "",
        "| y | signal | criterion | " + " | ".join(f"n = {n}" for n in sizes) + " |",
        "|---|---|---|" + "---|" * len(sizes),
    ]
    for response, signal, criterion in dict.fromkeys(cell[1:] for cell in found):
        row = [found.get(Cell(n, response, signal, criterion), []) for n in sizes]
        texts = ["; ".join(str(one) for one in sorted(each, reverse=True)) for each in row]
        lines.append(f"| {response} | {signal} | `{criterion}` | " + " | ".join(texts) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--criteria", nargs="+", choices=CRITERIA, default=list(CRITERIA))
    parser.add_argument("--new-rows", type=int, default=4000)
    parser.add_argument("--results", type=Path, help="CSV file to keep results in")
    given = parser.parse_args()
    found = kept(given.results) if given.results else {}
    for cell in cells(given.criteria, given.sizes):
        if cell in found:
            continue
        found[cell] = simulate(cell, given.fits, given.new_rows, seed=0)
        if given.results:
            with given.results.open("a", newline="") as file:
                csv.writer(file).writerows([*cell, *one] for one in found[cell])
    print("\n".join(table(found, given.fits)))


if __name__ == "__main__":
    main()
