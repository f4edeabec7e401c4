"""Forests beside LightGBM's and scikit-learn's: ``python -m benchmarks.forest``.

The same work for all: 100 trees of depth 8, at least 5 rows a leaf, all columns or a part of them
in each node, as many threads. crank can also judge the rows out of bag, which LightGBM cannot: it
runs without and with that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import crank
from benchmarks import samples
from benchmarks.timing import Task, Times, cores, race

OURS, JUDGED = "crank", "crank, with figures out of bag"


def races(n: int, trees: int, rounds: int) -> Iterator[tuple[str, dict[str, Times]]]:
    """Race fits, then predictions."""
    import lightgbm

    X, y = samples.plain(n, 20)

    def trained(settings: dict[str, Any]) -> Any:
        return lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=trees)

    for share in (1.0, 0.6, 0.2):
        settings: dict[str, Any] = {
            "boosting": "rf",
            "bagging_fraction": 0.632,
            "bagging_freq": 1,
            "num_leaves": 256,
            "max_depth": 8,
            "min_data_in_leaf": 5,
            "feature_fraction_bynode": share,
            "num_threads": cores(),
            "verbose": -1,
        }
        ours, judged = (
            crank.RankingForest(
                trees,
                max_depth=8,
                min_samples_leaf=5,
                max_features=share,
                random_state=0,
                oob_score=judging,
            )
            for judging in (False, True)
        )
        lightgbm_rf = partial(trained, settings)
        tasks: dict[str, Task] = {
            OURS: partial(ours.fit, X, y),
            JUDGED: partial(judged.fit, X, y),
            "LightGBM rf": lightgbm_rf,
        }
        if share == 1.0:
            peer = RandomForestRegressor(
                max(1, trees // 20), max_depth=8, min_samples_leaf=5, n_jobs=-1
            )
            tasks["RandomForest, a twentieth of the trees"] = partial(peer.fit, X, y)
        yield f"fit, {share:.0%} of the columns a node", race(tasks, rounds, warm=share == 1.0)
    gbm = lightgbm_rf()
    Z, _ = samples.plain(n, 20, seed=1)
    yield (
        f"predict {n:,} rows",
        race({OURS: lambda: ours.predict(Z), "LightGBM rf": lambda: gbm.predict(Z)}, 5),
    )


def main() -> None:
    """Run the races and print a table of ratios."""
    small = "--small" in sys.argv
    print("| work | contestant | peer | peer's time / ours, wall | CPU | wall, s | CPU, s |")
    print("|---|---|---|---|---|---|---|")
    for work, times in races(2_000 if small else 100_000, 20 if small else 100, 1 if small else 3):
        ours = {name: times.pop(name) for name in (OURS, JUDGED) if name in times}
        for (name, own), (peer, found) in product(ours.items(), times.items()):
            wall, cpu = found.over(own)
            took = f"{np.median(own.wall):.2f} | {np.median(own.cpu):.2f}"
            print(f"| {work} | {name} | {peer} | {wall:.2f} | {cpu:.2f} | {took} |", flush=True)


if __name__ == "__main__":
    main()
