"""Bias of cross-validated figures and coverage of their 95% intervals; writes a Markdown table.

Run ``python benchmarks/crossvalidation.py``; ``--fits 20`` for a quick look. The truth of a fit is
the figure of its own model on 4,000 new rows. The aims: bias within ±.01 with signal and ±.02 on
noise from 60 rows on; coverage of at least .90 from 60 rows on, and .85 at 30.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from crank.fitting.tree import fit_tree
from crank.metrics.figures import get_figure
from crank.plugins.stump import Stump
from crank.rankers.options import TreeOptions
from crank.ranks import rank

COLUMNS = 5
SIGNALS = ("noise", "weak", "strong")
CRITERIA = ("kendall", "iauc", "crank")
POSITIVE = 0.25
"""Share of the positives, if y is binary."""


class Cell(NamedTuple):
    """One setting of the simulation."""

    n: int
    signal: str
    criterion: str
    binary: bool

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows and responses; the cut of a binary response is that of a large sample."""
        X, error = rng.normal(size=(n, COLUMNS)), rng.normal(size=n)
        y = {
            "noise": error,
            "weak": 0.5 * X[:, 0] + error,
            "strong": 2.0 * X[:, 0] + np.abs(X[:, 1]) + 0.5 * error,
        }[self.signal]
        if not self.binary:
            return X, y
        cut = {"noise": 0.674, "weak": 0.754, "strong": 2.24}[self.signal]  # quantile 1 − POSITIVE
        return X, (y > cut).astype(float)


def cells(sizes: list[int]) -> Iterator[Cell]:
    """List all settings; the IAUC needs three distinct responses."""
    for n, binary, criterion in itertools.product(sizes, (False, True), CRITERIA):
        if not (binary and criterion == "iauc"):
            yield from (Cell(n, signal, criterion, binary) for signal in SIGNALS)


def simulate(cell: Cell, fits: int, new_rows: int, seed: int) -> dict[str, np.ndarray]:
    """Fit again and again: by figure, estimate minus truth, whether it is covered, width."""
    rng = np.random.default_rng([seed, cell.n])
    options = TreeOptions(criterion=cell.criterion)
    found: dict[str, list[tuple[float, bool, float]]] = {}
    for _ in range(fits):
        X, y = cell.draw(rng, cell.n)
        while cell.binary and not 2 <= y.sum() <= cell.n - 2:
            X, y = cell.draw(rng, cell.n)
        fitted = fit_tree(X, rank(y), learner=Stump(), options=options)
        X, y = cell.draw(rng, new_rows)
        score = fitted.tree.score(X)
        for name, one in fitted.crossvalidated.items():
            truth = get_figure(name).estimate(y, score)
            covered = one.ci_low <= truth <= one.ci_high
            entry = one.estimate - truth, covered, one.ci_high - one.ci_low
            found.setdefault(name, []).append(entry)
    return {name: np.array(values, dtype=float) for name, values in found.items()}


def report(fits: int, sizes: list[int], new_rows: int, seed: int = 0) -> str:
    error = np.sqrt(0.05 * 0.95 / fits)
    lines = [
        f"{fits} fits a cell; simulation error of a coverage {error:.3f}, of a bias in brackets.",
        "",
        "| n | y | signal | criterion | figure | bias | coverage | width |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells(sizes):
        for name, values in simulate(cell, fits, new_rows, seed).items():
            off, covered, width = values.T
            bias = f"{off.mean():+.3f} ({off.std() / np.sqrt(len(off)):.3f})"
            kind = "binary" if cell.binary else "continuous"
            start = f"| {cell.n} | {kind} | {cell.signal} | {cell.criterion} | {name} "
            lines.append(start + f"| {bias} | {covered.mean():.2f} | {width.mean():.2f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 60, 200])
    parser.add_argument("--new-rows", type=int, default=4000)
    given = parser.parse_args()
    print(report(given.fits, given.sizes, given.new_rows))


if __name__ == "__main__":
    main()
