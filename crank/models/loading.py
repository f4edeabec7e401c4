"""Models from files: the kind that a file names decides the class."""

from __future__ import annotations

from pathlib import Path

from crank.errors import ModelFileError
from crank.export.json import read_model
from crank.export.json.text import read_bounded
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
    return loaded(path, read_content(path))


def loaded(path: str | Path, content: bytes) -> RankingModel:
    """Read a model from the content of a file; the path is for messages."""
    try:
        return from_json(content)
    except ModelFileError as error:
        hint = " An ONNX graph is for crank.serve.Scorer, or crank score." * is_onnx(content)
        raise _unusable(path, f"{error}{hint}") from error


def read_content(path: str | Path) -> bytes:
    """Read a model file, JSON or ONNX, in one pass: a pipe gives its content only once.

    Raises
    ------
    OSError
        The file cannot be read.
    ModelFileError
        It is a folder, or larger than a JSON model can be.
    """
    if Path(path).is_dir():
        raise _unusable(path, "it is a folder. Give the path of a model file.")
    with Path(path).open("rb") as file:
        first = file.read(1)
        try:
            return first + (file.read() if is_onnx(first) else read_bounded(file))
        except ModelFileError as error:
            raise _unusable(path, str(error)) from error


def is_onnx(content: bytes) -> bool:
    """Tell a graph from a JSON model: a graph begins with the number of its format."""
    return content[:1] == ONNX_BEGINS


def _unusable(path: str | Path, why: str) -> ModelFileError:
    return ModelFileError(f"{str(path)!r} is not a usable model file: {why}")


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
