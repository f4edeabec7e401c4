"""Models from files: the kind that a file names decides the class."""

from __future__ import annotations

from pathlib import Path

from crank.errors import ModelFileError
from crank.export.json import read_model
from crank.export.json.text import read_file
from crank.models.base import RankingModel
from crank.records.kinds import model_class

ONNX_BEGINS = b"\x08"
"""The tag of the first field of ONNX's protocol buffers, ``ir_version``."""


def load(path: str | Path) -> RankingModel:
    """Read a model from a file that `RankingModel.to_json` wrote.

    No code in the file is run; only the split learner that it names is imported, and only if it
    is installed.

    Raises
    ------
    ModelFileError
        The file is no model, is damaged, or needs a newer crank or a learner that is not here.

    Examples
    --------
    >>> import crank, tempfile
    >>> train, test = crank.datasets.paper_sample()
    >>> path = Path(tempfile.mkdtemp()) / "m.json"
    >>> crank.fit(train.frame, "y ~ x", max_depth=2, prune=None).to_json(path)
    >>> crank.load(path)
    <TreeModel 'y ~ x': 4 leaves, crank × stump, n = 100>
    """
    try:
        return from_json(read_file(path))
    except ModelFileError as error:
        hint = " An ONNX graph is for crank.serve.Scorer, or crank score." if is_onnx(path) else ""
        raise ModelFileError(f"{str(path)!r} is not a usable model file: {error}{hint}") from error


def is_onnx(path: str | Path) -> bool:
    """Tell a graph from a JSON model by its content: a graph begins with the number of its format.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    if Path(path).is_dir():
        return False
    with Path(path).open("rb") as file:
        return file.read(1) == ONNX_BEGINS


def from_json(text: str | bytes) -> RankingModel:
    """Read a model from the text that `RankingModel.to_json` returned.

    Raises
    ------
    ModelFileError
        The text is no model, is damaged, or needs a newer crank or a learner that is not here.

    Examples
    --------
    >>> import crank
    >>> crank.from_json('{"crank_model": 99}')
    Traceback (most recent call last):
        ...
    crank.errors.ModelFileError: its format is version 99; this crank reads versions up to 2. \
Install a newer crank.
    """
    kind, fields = read_model(text)
    model: RankingModel = model_class(kind)(**fields)
    return model
