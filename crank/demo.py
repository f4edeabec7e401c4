"""The demonstration: the paper's experiment, then a real data set from formula to rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from crank import api, metrics
from crank.files import write_text
from crank.models.base import RankingModel
from crank.paper import comparison_table, contestants


def diabetes() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load the diabetes study that scikit-learn bundles: 442 patients, split for testing."""
    from sklearn.datasets import load_diabetes

    raw = load_diabetes(as_frame=True, scaled=False)
    frame = raw.frame.rename(columns={"target": "progression"})
    frame["sex"] = frame["sex"].map({1.0: "male", 2.0: "female"})
    test = np.arange(len(frame)) % 4 == 0
    return frame[~test], frame[test]


def run_demo(output: str | Path, say: Callable[[str], None] = print) -> RankingModel:
    """Run both parts, print what a user would look at, and leave the files in a folder."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)

    table = comparison_table(contestants())
    table = table[["tree", "IAUC", "IAUC_uniform", "d_tau", "MSE"]]
    say("1. The paper's experiment (published sample, depth 3, no pruning)\n")
    say(table.round(4).to_string(index=False))
    say("\nRanking trees order the test points; the regression tree only fits its mean.\n")
    write_text(folder / "paper.csv", table.to_csv(index=False))

    train, test = diabetes()
    model = api.fit(train, "progression ~ .", criterion="kendall", prune="1se")
    say("2. A real data set: disease progression of 442 diabetes patients\n")
    say(str(model.summary()))
    say("\nOn held-out patients:\n")
    held_out = model.evaluate(test)
    say(held_out.round(4).to_string())
    for name, rows in {"train": train, "test": test}.items():
        write_text(folder / f"diabetes-{name}.csv", rows.to_csv(index=False))
    model.to_json(folder / "diabetes.json")
    write_text(folder / "diabetes-summary.txt", f"{model.summary()}\n")
    write_text(folder / "diabetes-rules.txt", model.rules() + "\n")
    write_text(folder / "diabetes-leaves.csv", model.tidy().to_csv(index=False))
    write_text(folder / "diabetes-held-out.csv", held_out.to_csv())
    curve = metrics.iroc_curve(test["progression"], model.predict(test), grid=100)
    write_text(folder / "diabetes-iroc.csv", curve.to_frame().to_csv(index=False))
    page = model.report(folder / "diabetes-report.html", test, title="Progression of diabetes")
    say(f"\nFiles are in {folder}/. Open {page} in a browser: the tree, its curves, and a form.")
    say(f"To fit a model of your own: crank fit {folder / 'diabetes-train.csv'}")
    return model
