"""Simulated coverage of confidence intervals and size of paired tests; writes Markdown tables.

Run ``python benchmarks/interval_coverage.py``; ``--draws 200`` for a quick look.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import crank.metrics as metrics

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
FIGURES = {
    "kendall": {"metric": "kendall"},
    "iauc, triple": {"metric": "iauc", "weighting": "triple"},
    "iauc, uniform": {"metric": "iauc", "weighting": "uniform"},
}


def normal(correlation: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        y = rng.normal(size=n)
        return y, correlation * y + np.sqrt(1 - correlation**2) * rng.normal(size=n), np.ones(n)

    return draw


def tied(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    y, s, w = normal(0.6)(rng, n)
    return y.round(), (2 * s).round(), w


def weighted(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Weights that depend on the score, as those of an unequal sample do."""
    y, s, _ = normal(0.6)(rng, n)
    return y, s, np.exp(0.5 * s)


SETTINGS: dict[str, Draw] = {
    "normal, r = 0": normal(0.0),
    "normal, r = 0.5": normal(0.5),
    "normal, r = 0.9": normal(0.9),
    "ties in y and s": tied,
    "case weights": weighted,
}


def coverage(draws: int, sizes: list[int], truth_rows: int) -> list[str]:
    lines = ["| setting | n | " + " | ".join(FIGURES) + " |", "|---|---|" + "---|" * len(FIGURES)]
    for setting, draw in SETTINGS.items():
        y, s, w = draw(np.random.default_rng(10**6), truth_rows)
        truth = {
            name: metrics.concordance(y, s, weights=w, **options).estimate
            for name, options in FIGURES.items()
        }
        for n in sizes:
            rng = np.random.default_rng(n)
            hits = dict.fromkeys(FIGURES, 0)
            for _ in range(draws):
                y, s, w = draw(rng, n)
                for name, options in FIGURES.items():
                    result = metrics.concordance(y, s, weights=w, **options)
                    hits[name] += result.ci_low <= truth[name] <= result.ci_high
            cells = " | ".join(f"{hit / draws:.3f}" for hit in hits.values())
            lines.append(f"| {setting} | {n} | {cells} |")
    return lines


def null_pvalues(draws: int, sizes: list[int]) -> list[str]:
    """Two scores that are equally good: y plus two independent errors of the same law."""
    levels = (0.01, 0.05, 0.1, 0.5)
    lines = [
        "| figure | n | " + " | ".join(f"p < {level:g}" for level in levels) + " |",
        "|---|---|" + "---|" * len(levels),
    ]
    for n in sizes:
        rng = np.random.default_rng(n)
        pvalues: dict[str, list[float]] = {name: [] for name in FIGURES}
        for _ in range(draws):
            y = rng.normal(size=n)
            s1, s2 = y + rng.normal(size=(2, n))
            for name, options in FIGURES.items():
                pvalues[name].append(metrics.compare(y, s1, s2, **options).pvalue)
        for name, values in pvalues.items():
            cells = " | ".join(f"{np.mean(np.array(values) < level):.3f}" for level in levels)
            lines.append(f"| {name} | {n} | {cells} |")
    return lines


def report(draws: int, sizes: list[int], truth_rows: int) -> str:
    error = 100 * np.sqrt(0.05 * 0.95 / draws)
    return "\n".join(
        [
            f"Coverage of 95% intervals over {draws} samples; simulation error {error:.1f} points.",
            "",
            *coverage(draws, sizes, truth_rows),
            "",
            "Rate of p-values below a level when the two scores are equally good.",
            "",
            *null_pvalues(draws, sizes),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--truth-rows", type=int, default=1_000_000)
    given = parser.parse_args()
    print(report(given.draws, given.sizes, given.truth_rows))


if __name__ == "__main__":
    main()
