"""The page of quality, written from the results alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.comparing import Study
from benchmarks.quality.sets import SETS
from benchmarks.quality.study import METHODS, Result
from benchmarks.timing import Bar, bar_table

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"
BLEND, BOOSTER, FOREST, ADDITIVE = "crank blend", "crank booster", "crank forest", "crank additive"
LIGHTGBM = ("LightGBM on y", "LightGBM on ranks")
FORESTS = (
    "RandomForest on y", "RandomForest on ranks", "ExtraTrees on y", "ExtraTrees on ranks",
)  # fmt: skip
STACKS = ("scikit-learn stack on ranks", "FLAML on ranks", "FLAML with stacking on ranks")
GROUPS = {
    "One tree": [
        *(name for name in METHODS if name.startswith("crank tree")),
        "DecisionTree on y",
        "rpart on y",
    ],
    "Lines and curves": [
        "crank linear",
        ADDITIVE,
        "LinearRegression on y",
        "LinearRegression on normal scores",
        "mgcv on y",
        "mgcv on normal scores",
        "EBM on ranks",
    ],
    "Forests": [FOREST, *FORESTS],
    "Boosters, blends, automatic tools": [
        BOOSTER,
        BLEND,
        *LIGHTGBM,
        "HistGradientBoosting on ranks",
        "XGBoost rank:pairwise",
        "CatBoost on ranks",
        "CatBoost PairLogit",
        *STACKS,
    ],
}
PAIRS = (
    *(("crank tree, kendall", peer) for peer in ("DecisionTree on y", "rpart on y")),
    ("crank linear", "LinearRegression on y"),
    ("crank linear", "LinearRegression on normal scores"),
    *((ADDITIVE, p) for p in ("mgcv on y", "mgcv on normal scores", "EBM on ranks", *LIGHTGBM)),
    *((FOREST, peer) for peer in FORESTS),
    *((BOOSTER, peer) for peer in GROUPS["Boosters, blends, automatic tools"][2:8]),
    *((BLEND, peer) for peer in (*LIGHTGBM, "CatBoost PairLogit", "EBM on ranks", *STACKS)),
)
INTRODUCTION = Path(__file__).with_name("introduction.md")


def page(results: Sequence[Result]) -> str:
    """Write the page.

    Parameters
    ----------
    results : sequence of Result
        At least one.
    """
    study = Study.of(results, METHODS)
    counts = study.common.groupby(level="set").size()
    lines = [
        INTRODUCTION.read_text(encoding="utf-8"),
        f"So far: {len(study.kendall)} splits of {study.kendall.index.unique('set').size} sets; "
        f"{int(counts.sum())} splits of {len(counts)} sets are there for all methods that are "
        "compared below.",
        "",
        *_section("Promises", promises(study)),
        *_section("All methods", overview(study)),
        *_section("Paired differences", differences(study)),
        *(line for name, of in GROUPS.items() for line in _section(name, by_set(study, of))),
        *_section("What failed", failures(results)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "", *lines, ""]


def promises(study: Study) -> list[str]:
    """List what was promised, met or missed; what cannot be said yet is not listed."""
    bars: list[Bar] = []
    means, ranks, near = study.means().mean(), study.average_ranks(), study.near_best()
    there, repeated = set(study.compared), study.repeated_sets
    single = [name for name in there if not name.startswith("crank") and name not in STACKS]
    if BLEND in there and single:
        lead = means[BLEND] - max(means[name] for name in single)
        bars.append(Bar("Blend: its place by average rank", float(ranks.rank()[BLEND]), most=1))
        bars.append(Bar("Blend: mean d_τ above the best single peer's", float(lead), least=0.008))
        if repeated:
            what = f"Blend: within one paired standard error of the best, of {repeated} sets"
            bars.append(Bar(what, float(near[BLEND]), least=12))
    for name, peers, least, words in (
        (BOOSTER, LIGHTGBM, 9 / 14, "at least ties the better LightGBM"),
        (FOREST, FORESTS, 8 / 10, "at least ties the best of four forests"),
    ):
        if {name, *peers} <= there and repeated:
            ties, of = _ties(study, name, peers)
            bars.append(Bar(f"{name}: {words}, share of {of} sets", ties / of, least=least))
    for others, words in ((LIGHTGBM, "the better LightGBM's"), (("EBM on ranks",), "EBM's")):
        if {ADDITIVE, *others} <= there:
            lead = means[ADDITIVE] - max(means[name] for name in others)
            bars.append(Bar(f"Additive: mean d_τ above {words}", float(lead), least=0.0))
    return bar_table(bars) if bars else ["Nothing can be said yet."]


def _ties(study: Study, ours: str, peers: Sequence[str]) -> tuple[int, int]:
    """Count sets where ours is no more than one standard error behind the best of the peers."""
    ties = of = 0
    for _, rows in study.common.groupby(level="set"):
        if len(rows) > 1:
            best = rows[list(peers)].mean().idxmax()
            gap = rows[ours] - rows[best]
            ties += bool(gap.mean() >= -gap.std() / np.sqrt(len(gap)))
            of += 1
    return ties, of


def overview(study: Study) -> list[str]:
    """Tabulate every method, the best mean first."""
    means = study.means()
    fresh = means[[not SETS[name].seen if name in SETS else True for name in means.index]]
    ranks, near, cpu = study.average_ranks(), study.near_best(), study.cpu.median()
    lines = [
        f"| method | mean d_τ, {len(means)} sets | … {len(fresh)} sets unseen | average rank | "
        f"near the best on, of {study.repeated_sets} sets | CPU s, median |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in means.mean().sort_values(ascending=False).index:
        shown = f"**{name}**" if name.startswith("crank") else name
        lines.append(
            f"| {shown} | {means[name].mean():.4f} | {fresh[name].mean():.4f} | "
            f"{ranks[name]:.1f} | {near[name] if study.repeated_sets else '–'} | {cpu[name]:.2g} |"
        )
    few = [str(name) for name in study.kendall if name not in study.compared]
    if few:
        lines += ["", f"Too few splits so far: {', '.join(few)}."]
    lines += [
        "",
        "Over the splits that all of them have. *Near the best*: within one standard error of the "
        "paired difference to the best method of the set.",
    ]
    return lines


def differences(study: Study) -> list[str]:
    """Tabulate our methods against their peers, on all splits that both have."""
    lines = [
        "| crank's | peer | mean difference of d_τ | 95% interval, over sets | ahead | behind | "
        "sets |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    for ours, peer in PAIRS:
        if {ours, peer} <= set(study.kendall):
            one = study.difference(ours, peer)
            if one.sets:
                interval = f"{one.mean - one.half:+.4f} to {one.mean + one.half:+.4f}"
                counts = f"{one.ahead} | {one.behind}" if one.repeated else "– | –"
                lines.append(
                    f"| {ours} | {peer} | {one.mean:+.4f} | "
                    f"{interval if np.isfinite(one.half) else '–'} | {counts} | {one.sets} |"
                )
    lines += [
        "",
        "*Ahead* and *behind* count the sets where the difference is beyond chance at 5%, by the "
        "t-test of Nadeau & Bengio (2003), which knows that splits overlap.",
    ]
    return lines


def by_set(study: Study, methods: Sequence[str]) -> list[str]:
    """Tabulate mean d_τ by set; the best of the table is bold."""
    names = [name for name in methods if name in study.kendall]
    if not names:
        return ["Not run yet."]
    means: pd.DataFrame = study.kendall[names].groupby(level="set").mean()
    means = means.loc[[name for name in SETS if name in means.index]]
    lines = [f"| set | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for name, row in means.iterrows():
        star = "*" if SETS[str(name)].seen else ""
        lines.append(f"| {name}{star} | {' | '.join(_cell(v, row.max()) for v in row)} |")
    return lines


def _cell(value: float, best: float) -> str:
    if np.isnan(value):
        return "–"
    return f"**{value:.4f}**" if value == best else f"{value:.4f}"


def failures(results: Sequence[Result]) -> list[str]:
    """List fits that gave no scores."""
    failed = [one for one in results if one.kendall is None]
    if not failed:
        return ["Nothing."]
    return [f"* {one.method} on {one.set}, split {one.split}: {one.note}" for one in failed]
