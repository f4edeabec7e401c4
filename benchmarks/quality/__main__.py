"""Run what is missing of the study of quality, then write its page and the tables of choices.

``python -m benchmarks.quality`` goes on where an earlier run stopped, one thread, some hours in
all; ``--page`` only writes the pages; ``--sets``, ``--methods`` and ``--splits`` run a part.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before anything that reads them is imported

import argparse  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.quality.choices import CHOICES, filled, measured  # noqa: E402
from benchmarks.quality.page import PAGE, page  # noqa: E402
from benchmarks.quality.sets import SETS  # noqa: E402
from benchmarks.quality.study import METHODS, RESULTS, SPLITS, read, run  # noqa: E402


def main() -> None:
    """Read the command line, do the work, write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="only write the pages")
    asked = parser.parse_args()
    if not asked.page:
        run(asked.results, asked.sets, asked.methods, asked.splits)
    results = read(asked.results)
    PAGE.write_text(page(results), encoding="utf-8")
    choices = filled(CHOICES.read_text(encoding="utf-8"), measured(results))
    CHOICES.write_text(choices, encoding="utf-8")


if __name__ == "__main__":
    main()
