"""Score a folder of files on a cluster: one output for each file, whole or not there at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crank.cluster.engine import Cluster
from crank.datafiles.parquet import parquet_names, require_names
from crank.datafiles.parts import part_files
from crank.errors import OptionError
from crank.files import is_stream, write_text
from crank.scoring import file_scorer, score_file

NOTE = "_crank.json"
"""The file in the folder of outputs that says what they are: a second run goes on with the rest."""


@dataclass(frozen=True)
class Scoring:
    """What is done to each file."""

    model: str
    type: str
    unknown: Any
    name: str
    keep: tuple[str, ...]

    def note(self) -> dict[str, Any]:
        """Say what makes two runs the same."""
        digest = hashlib.sha256(Path(self.model).read_bytes()).hexdigest()
        return {
            "model": f"sha256:{digest}",
            "type": self.type,
            "unknown": self.unknown,
            "name": self.name,
            "keep": list(self.keep),
        }


def score_folder(
    model: str | Path,
    data: str,
    output: str | Path,
    *,
    type: str = "score",
    unknown: Any = None,
    name: str = "score",
    keep: Sequence[str] = (),
    client: Any = None,
) -> tuple[int, int]:
    """Score Parquet files where the workers are; all must see the same folders.

    Each output has the name of its input and its rows in their order, and appears when it is
    complete. Files whose output is there already are left out, so that a run that was cut off
    can be repeated.

    Parameters
    ----------
    model : str or Path
        JSON or ONNX.
    data : str
        A folder, or a pattern such as ``data/*.parquet``.
    output : str or Path
        A folder, made if it is not there.
    type, unknown, name, keep
        See `crank.scoring`.
    client : distributed.Client, optional
        By default Dask chooses.

    Returns
    -------
    done, before : int
        Files that were scored now, and before.
    """
    if is_stream(model):
        raise OptionError(
            f"the model {str(model)!r} is a pipe, which can be read only once, and every file "
            "needs it. Give a file that the workers see."
        )
    files, target = part_files(data), Path(output)
    names = [Path(path).name for path in files]
    if len(set(names)) < len(names):
        raise OptionError(
            f"files of different folders have the same name, and so would their outputs in "
            f"{str(output)!r}. Score one folder at a time."
        )
    asked = Scoring(str(Path(model).resolve()), type, unknown, name, tuple(keep))
    # what is wrong with the model or the options is said here
    scorer = file_scorer(asked.model, type, unknown)
    require_names([*scorer.expected, *keep], parquet_names(files[0]))
    target.mkdir(parents=True, exist_ok=True)
    _agree(target / NOTE, asked.note())
    left = [
        (str(Path(path).resolve()), str((target / own).resolve()))
        for path, own in zip(files, names, strict=True)
        if not (target / own).exists()
    ]
    if left:
        Cluster([None] * len(left), client, [f"file {path!r}" for path, _ in left]).gather(
            score_one, asked, each=left
        )
    return len(left), len(files) - len(left)


def score_one(_: None, paths: tuple[str, str], asked: Scoring) -> int:
    """Score one file."""
    scorer = file_scorer(asked.model, asked.type, asked.unknown)
    return score_file(scorer, *paths, name=asked.name, keep=asked.keep, show=False)


def _agree(note: Path, asked: dict[str, Any]) -> None:
    """Write down what the outputs are, or refuse to mix them with others."""
    if note.exists():
        if json.loads(note.read_text(encoding="utf-8")) != asked:
            raise OptionError(
                f"{str(note.parent)!r} has scores of another model, or with other options. Choose "
                "another folder, or remove it."
            )
        return
    write_text(note, json.dumps(asked, indent=1) + "\n")
