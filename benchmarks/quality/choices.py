"""The tables of choices in docs/choose.md, written from the results between their markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student

from benchmarks.quality.study import Result

CHOICES = Path(__file__).parents[2] / "docs" / "choose.md"
TREE = "crank tree, kendall"
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "rankers": (
        "crank linear",
        {
            'a tree, `criterion="kendall"`': TREE,
            "`crank.linear`": "crank linear",
            "`crank.additive`": "crank additive",
            "`crank.forest`": "crank forest",
            "`crank.boost`": "crank booster",
            "`crank.blend`": "crank blend",
        },
    ),
    "learners": (TREE, {"`stump`": TREE, "`logistic`": f"{TREE}, logistic"}),
    "criteria": (
        TREE,
        {
            "`kendall`": TREE,
            "`iauc`": "crank tree, iauc",
            "`crank`": "crank tree",
            "`spearman`": "crank tree, spearman",
        },
    ),
    "orders": (
        TREE,
        {
            "`auto`": TREE,
            "`oriented`": f"{TREE}, oriented",
            "`rank`": f"{TREE}, by rank",
        },
    ),
}
"""For each table the method that the others are compared with, and what its rows are called."""


def measured(results: Sequence[Result]) -> dict[str, list[str]]:
    """Write the tables, each over the sets that all of its methods have."""
    rows = pd.DataFrame([vars(one) for one in results])
    return {name: _table(rows, base, named) for name, (base, named) in TABLES.items()}


def _table(rows: pd.DataFrame, base: str, named: Mapping[str, str]) -> list[str]:
    kendall, iauc, cpu = (
        rows.pivot_table(index=["set", "split"], columns="method", values=value, aggfunc="first")
        .reindex(columns=list(named.values()))
        .dropna()
        .groupby(level="set")
        .mean()
        for value in ("kendall", "iauc", "cpu")
    )
    if kendall.empty:
        return ["Not measured yet."]
    lines = [
        f"| | mean d_τ, {len(kendall)} sets | beside {_called(base, named)}, 95% interval | "
        "mean IAUC | CPU s, median |",
        "|---|---:|---|---:|---:|",
    ]
    for words, method in named.items():
        gap = "" if method == base else _interval((kendall[method] - kendall[base]).to_numpy())
        lines.append(
            f"| {words} | {kendall[method].mean():.3f} | {gap} | {iauc[method].mean():.3f} | "
            f"{cpu[method].median():.2g} |"
        )
    return lines


def _called(method: str, named: Mapping[str, str]) -> str:
    return next(words for words, other in named.items() if other == method)


def _interval(gaps: np.ndarray) -> str:
    """Write the mean difference over sets with Student's interval."""
    if len(gaps) < 2:
        return f"{gaps.mean():+.3f}"
    half = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return f"{gaps.mean():+.3f} ({gaps.mean() - half:+.3f} to {gaps.mean() + half:+.3f})"


def filled(page: str, tables: Mapping[str, list[str]]) -> str:
    """Put the tables between their markers."""
    for name, lines in tables.items():
        begin, end = f"<!-- measured: {name} -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"no place for {name!r}"
        page = "\n".join([before + begin, *lines, "", end + after])
    return page
