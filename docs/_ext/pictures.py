"""The pictures of the pages: drawn when the docs are built, from the data that the pages speak of.

``python docs/_ext/pictures.py`` draws all of them again; a build draws those that are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "img"


def drawings() -> dict[str, Callable[[], Any]]:
    """Name every picture, and what draws it."""
    return {**plots(), **cases()}


def plots() -> dict[str, Callable[[], Any]]:
    """Name the pictures of plots, from data that crank brings along."""
    from functools import cache

    import crank
    from crank.demo import diabetes
    from crank.report.plots import plot_iroc

    train, test = diabetes()
    formula = "progression ~ ."

    @cache
    def tree() -> crank.TreeModel:
        return crank.fit(train, formula, criterion="kendall", prune="1se")

    @cache
    def linear() -> crank.LinearModel:
        return crank.linear(train, formula)

    def penalised() -> crank.LinearModel:
        return crank.linear(train, formula, penalty="cv", l1_ratio=1.0)

    def additive() -> crank.AdditiveModel:
        return crank.additive(train, "progression ~ s(bmi) + s(bp) + s(s5) + sex")

    def no_rule() -> Any:
        sample = crank.datasets.no_optimal_rule(1500, random_state=0).frame
        return crank.fit(sample, "y ~ x", prune=None).diagnose(sample, progress=False)

    return {
        "tree": lambda: tree().plot(),
        "iroc": lambda: plot_iroc({"tree": tree(), "linear": linear()}, test),
        "profile": lambda: tree().plot_profile(test),
        "pruning": lambda: tree().plot_pruning(),
        "leaves": lambda: tree().plot_leaves(test),
        "calibration": lambda: tree().plot_calibration(test),
        "importance": lambda: tree().plot_importance(),
        "score": lambda: linear().plot_score("bmi", test, type="quantile"),
        "diagnosis": lambda: no_rule().plot(),
        "effects": lambda: additive().plot_effects(),
        "path": lambda: penalised().plot_path(),
    }


def cases() -> dict[str, Callable[[], Any]]:
    """Name the pictures of the case studies, drawn from the models of their pages."""

    def concrete() -> Any:
        names = run("cases/concrete.md", stop=">>> careless")
        return names["rankers"]["additive"](names["data"]).plot_effects()

    def visits() -> Any:
        from crank.report.plots import plot_iroc

        names = run("cases/visits.md", stop=">>> {n: float")
        chosen = {name: names["models"][name] for name in ("conditions", "additive")}
        return plot_iroc(chosen, names["test"])

    def smoking() -> Any:
        names = run("cases/smoking.md", stop=">>> for name, m")
        return names["models"]["tree"].plot_leaves(names["stopped"])

    return {"concrete": concrete, "visits": visits, "smoking": smoking}


def run(page: str, stop: str) -> dict[str, Any]:
    """Run the examples of a page up to one of them; return the names that they made."""
    import doctest
    import re

    text = (FOLDER.parent / page).read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(blocks.partition(stop)[0]):
        exec(compile(example.source, page, "exec"), names)
    return names


def draw(missing_only: bool) -> None:
    """Draw the pictures; the same data give the same files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    FOLDER.mkdir(exist_ok=True)
    names = {"tree", "iroc", "profile", "pruning", "leaves", "calibration", "importance"}
    names |= {"score", "diagnosis", "effects", "path", "concrete", "visits", "smoking"}
    if missing_only and all((FOLDER / f"{name}.svg").exists() for name in names):
        return
    for name, make in drawings().items():
        target = FOLDER / f"{name}.svg"
        if missing_only and target.exists():
            continue
        with plt.rc_context({"svg.hashsalt": "crank", "svg.fonttype": "path"}):
            drawn = make()
            page = getattr(drawn, "figure", drawn)
            page.savefig(target, metadata={"Date": None}, facecolor="white")
        plt.close("all")


def on_pre_build(config: Any) -> None:
    """Draw what is missing before mkdocs looks for it."""
    draw(missing_only=True)


if __name__ == "__main__":
    draw(missing_only=False)
