"""Add golden ONNX files, made of golden models, and what they score; never replaces one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import crank
from crank.serve import Scorer

HERE = Path(__file__).parent
FILES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "stump": ("stump", {"outputs": ("score", "leaf", "median")}),
    "functions": ("stump-functions", {}),
    "logistic": ("logistic", {}),
    "linear": ("linear", {"outputs": ("score", "probability")}),
    "types": ("sklearn-linear", {"types": {"k": "int64"}}),
    "strict": ("stump-pruned", {"unknown": "error"}),
    "matrix": ("tree", {"form": "matrix"}),
    "empty-text": ("stump", {}),
    "svm": ("svm", {}),
    "lightgbm": ("lightgbm", {}),
    "additive": ("additive", {}),
    "forest": ("forest", {}),
    "forest-logistic": ("forest-logistic", {}),
    "booster": ("booster", {}),
    "blend": ("blend", {}),
}


def main(folder: str) -> None:
    """Write the files that the folder lacks, and pin their scores."""
    rows = json.loads((HERE / "rows.json").read_text(encoding="utf-8"))
    target = HERE / folder
    target.mkdir(exist_ok=True)
    for name, (source, options) in FILES.items():
        path = target / f"{name}.onnx"
        if path.exists():
            continue
        stored = (HERE / "format-2" / f"{source}.json").read_text(encoding="utf-8")
        m: Any = crank.from_json(stored)
        data = rows
        if name == "empty-text":  # where "" is a level, it cannot stand for a missing text
            data = {**rows, "g": ["" if g == "b" else g for g in rows["g"]]}
            m = crank.fit(data, "y ~ x + g + {g == 'a'}", max_depth=3, prune=None)
        m.to_onnx(path, **options)
        scorer = Scorer(path)
        given = m.design_matrix(rows) if name == "matrix" else data
        outputs = json.loads(scorer.metadata["outputs"])
        pinned = {output: scorer.predict(given, output).tolist() for output in outputs}
        found = {"rows": given.tolist() if name == "matrix" else data, "outputs": pinned}
        text = json.dumps(found) + "\n"
        path.with_suffix(".scores.json").write_text(text, encoding="utf-8")
        print(name, len(path.read_bytes()))


if __name__ == "__main__":
    main(*sys.argv[1:])
