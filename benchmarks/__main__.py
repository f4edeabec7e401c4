"""Run the benchmarks and write their tables: ``python -m benchmarks``.

``--only one_tree prediction`` runs some of them; ``--small`` checks the harness in seconds and
says nothing about speed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import formula, growing, latency, linear, metrics, one_tree, prediction, scaling
from benchmarks.timing import Bar, bar_table, cores

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


Section = tuple[list[str], list[Bar]]


def rank_metrics(small: bool) -> Section:
    sizes = ([500], 500, 20, 1) if small else ([1_000, 100_000, 1_000_000], 100_000, 200, 5)
    return ["## Rank metrics", "", metrics.report(*sizes)], []


def served(small: bool) -> Section:
    if importlib.util.find_spec("onnxruntime") is None:
        return ["## Serving", "", "onnxruntime is not installed here."], []
    from benchmarks import serving

    return serving.report(small)


def boosted(small: bool) -> Section:
    if importlib.util.find_spec("lightgbm") is None:
        return ["## Boosting", "", "lightgbm is not installed here."], []
    from benchmarks import boosting

    return boosting.report(small)


def blended(small: bool) -> Section:
    from benchmarks import blending

    return blending.report(small)


SECTIONS: dict[str, Callable[[bool], Section]] = {
    "one_tree": one_tree.report,
    "formula": formula.report,
    "growing": growing.report,
    "prediction": prediction.report,
    "latency": latency.report,
    "scaling": scaling.report,
    "linear": linear.report,
    "metrics": rank_metrics,
    "serving": served,
    "boosting": boosted,
    "blending": blended,
}


def machine() -> list[str]:
    """Say on what, and with what, the figures were taken."""
    packages = ("crank-rank", "numpy", "scipy", "scikit-learn", "lightgbm", "numba", "pandas")
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    try:
        text = Path("/proc/cpuinfo").read_text()
        model = next(li.split(":")[1].strip() for li in text.splitlines() if "model name" in li)
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return [
        f"Taken on {datetime.date.today():%d %B %Y}: {model}, {cores()} cores, "
        f"{platform.system()}, Python {platform.python_version()}, {', '.join(found)}. "
        f"Load of the machine when the run began: {load:.1f}.",
    ]


INTRODUCTION = """# Benchmarks

`make bench` (or `python -m benchmarks`) repeats these and writes this page; `--only one_tree`
runs one section, `--small` tests the harness in seconds.

Contestants take turns in one process, each round beginning with another. Times are medians over the
rounds; a ratio is the median of the ratios within a round, so that a busy machine slows both
sides. **A ratio above 1 means that crank is faster.** CPU time adds up over threads. On a machine
that is busy with other work, threads that wait by spinning (LightGBM, HistGradientBoosting) lose
more than crank does: the load at the start is stated, and near 0 the figures are at their fairest.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="tiny sizes, one round")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--output", type=Path, help="file to write; docs/benchmarks.md by default")
    given = parser.parse_args()
    head, body, bars = [INTRODUCTION, *machine()], [], []
    for name in given.only:
        print(f"{name} …", flush=True)
        lines, promised = SECTIONS[name](given.small)
        body += ["", *lines]
        bars += promised
    if bars:
        head += ["", "## Promises", "", "Wall time, in this run:", "", *bar_table(bars)]
    text = "\n".join([*head, *body]) + "\n"
    whole = not given.small and set(given.only) == set(SECTIONS)
    output = given.output or (PAGE if whole else None)
    if output is None:
        print(text)
    else:
        output.write_text(text)


if __name__ == "__main__":
    main()
