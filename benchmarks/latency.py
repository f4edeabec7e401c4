"""Fresh processes: imports, the first small fit, the first large fit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.timing import Bar, Task, Times, race, ratio_table

SAMPLE = """
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
df = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
df["y"] = df.a + df.b ** 2 + rng.normal(size=300)
"""
FORMULA = (
    SAMPLE
    + """
import crank
crank.fit(df, "y ~ a + b + c + d", max_depth=4, prune=None)
"""
)
PEER = (
    SAMPLE
    + """
from sklearn.tree import DecisionTreeRegressor
DecisionTreeRegressor(max_depth=4).fit(df[list("abcd")], df.y)
"""
)
LARGE = """
import numpy as np, crank
X = np.random.default_rng(0).normal(size=(100_000, 20))
crank.RankingTree(max_depth=6, n_jobs=-1).fit(X, X[:, 0])
"""
LARGE_PEER = """
import numpy as np, lightgbm
X = np.random.default_rng(0).normal(size=(100_000, 20))
lightgbm.train({"verbose": -1, "num_leaves": 64}, lightgbm.Dataset(X, X[:, 0]), 1)
"""


def fresh(program: str, **environment: str) -> Task:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", program]
    return lambda: subprocess.run(command, check=True, env=os.environ | environment)


def cold(program: str) -> Task:
    """Run a program in a process of its own, with an empty folder for compiled kernels."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            fresh(program, NUMBA_CACHE_DIR=folder)()

    return run


def races(rounds: int, small: bool) -> Iterator[tuple[str, dict[str, Times]]]:
    warm = not small
    yield (
        "import",
        race({"crank": fresh("import crank"), "pandas": fresh("import pandas")}, rounds, warm=warm),
    )
    yield (
        "300 rows, with a formula",
        race(
            {"crank": fresh(FORMULA), "pandas + DecisionTreeRegressor": fresh(PEER)},
            rounds,
            warm=warm,
        ),
    )
    if not small:
        yield (
            "100,000 × 20, kernels compiled before",
            race({"crank": fresh(LARGE), "LightGBM": fresh(LARGE_PEER)}, rounds),
        )
        yield (
            "100,000 × 20, the very first time",
            race({"crank": cold(LARGE), "LightGBM": fresh(LARGE_PEER)}, 2, warm=False),
        )


def report(small: bool) -> tuple[list[str], list[Bar]]:
    found = dict(races(1 if small else 9, small))
    imported, fitted = found["import"], found["300 rows, with a formula"]
    bars = [
        Bar(
            "`import crank`, times `import pandas`",
            imported["crank"].over(imported["pandas"])[0],
            most=1.2,
        ),
        Bar(
            "fresh process, 300 rows with a formula: times pandas + DecisionTreeRegressor",
            fitted["crank"].over(fitted["pandas + DecisionTreeRegressor"])[0],
            most=1,
        ),
    ]
    text = [
        "## Latency of a fresh process",
        "",
        "From the start of the interpreter to its end. Small fits never load numba; large ones do, "
        "and on the very first use on a machine they compile.",
        "",
        *ratio_table("what", found.items()),
    ]
    return text, [] if small else bars
