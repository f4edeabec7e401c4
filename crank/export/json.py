"""The JSON model file: a fitted model as plain data, and back with every value checked.

The format is documented in docs/reference/model-file.md and in ``model.schema.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crank._version import __version__
from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec
from crank.errors import CrankError, ModelFileError, UnknownLearnerError
from crank.export.json_claims import check_claims
from crank.export.json_rules import RuleReader, require_installed
from crank.export.json_text import fingerprint, lay_out, parse, read_file
from crank.export.json_tree import leaf_entries, node_entries, read_grown, read_pruned
from crank.export.schema import check_schema, model_schema
from crank.files import write_text
from crank.model import RankingModel
from crank.options import TreeOptions
from crank.plugins.discovery import find
from crank.provenance import LearnerInfo, TrainingInfo
from crank.prune import PruningPath, weakest_links
from crank.validate import Estimate, Validation

FORMAT = 1
"""Raised when an older crank could not read a new file; older formats stay readable."""
_ROUNDING = 1e-9


def to_json(model: RankingModel, path: str | Path | None = None) -> str | None:
    """Write a model as JSON: into a file, in one step, or as text if no path is given.

    Parameters
    ----------
    model : RankingModel
    path : str or Path, optional

    Returns
    -------
    str or None
        The text, unless it went into a file.

    Raises
    ------
    FormulaError
        The formula calls functions that were given as ``context=``.
    NotExportableError
        The split learner is not installed under a name, or its rules have no plain form.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> text = to_json(m)
    >>> bool((from_json(text).predict(test.frame) == m.predict(test.frame)).all())
    True
    """
    text = lay_out(document(model))
    if path is None:
        return text
    write_text(path, text)
    return None


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
    <RankingModel 'y ~ x': 4 leaves, crank × stump, n = 100>
    """
    try:
        return from_json(read_file(path))
    except ModelFileError as error:
        onnx = Path(path).suffix.lower() == ".onnx"
        hint = " An ONNX graph is for crank.serve.Scorer, or crank score." if onnx else ""
        raise ModelFileError(f"{str(path)!r} is not a usable model file: {error}{hint}") from error


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
    crank.errors.ModelFileError: its format is version 99; this crank reads version 1. \
Install a newer crank.
    """
    stored = parse(text)
    _check_format(stored)
    if stored.get("fingerprint") != fingerprint(stored):
        raise ModelFileError(
            "its fingerprint does not match its content: it was damaged or edited after it was "
            "written. Write it again from the model."
        )
    try:
        check_schema(stored, model_schema())
        return _model(stored)
    except ModelFileError:
        raise
    except CrankError as cause:
        raise ModelFileError(str(cause)) from cause
    except RecursionError:
        raise ModelFileError("its values are nested too deeply.") from None


def _check_format(stored: dict[str, Any]) -> None:
    version = stored.get("crank_model")
    if type(version) is not int or version < 1:
        raise ModelFileError("it is JSON, but no crank model: it has no 'crank_model' version.")
    if version > FORMAT:
        raise ModelFileError(
            f"its format is version {version}; this crank reads version {FORMAT}. "
            f"Install a newer crank."
        )


def document(model: RankingModel) -> dict[str, Any]:
    """Return all of a model as plain data, in the layout of the schema."""
    require_installed(model.learner.name)
    training, tree = model.training, model.tree
    content = {
        "crank_model": FORMAT,
        "crank_version": __version__,
        "fingerprint": "",
        "formula": model.formula,
        "response": model.response.to_dict(),
        "design": model.design.to_dict(),
        "learner": {
            "name": model.learner.name,
            "params": {str(k): _plain(v) for k, v in model.learner.params.items()},
            "takes_missing": bool(model.learner.takes_missing),
            "takes_categories": bool(model.learner.takes_categories),
        },
        "options": {name: _plain(value) for name, value in model.options.to_dict().items()},
        "training": {
            "n": int(training.n),
            "n_dropped": int(training.n_dropped),
            "weighted": bool(training.weighted),
            "pairs": float(tree.pairs),
            "triples": float(tree.triples),
            "figures": _figures(training.figures),
            "crossvalidated": _figures(training.crossvalidated),
        },
        "pruning": {
            "metric": model.pruning.metric,
            "how": model.pruned_by,
            "validation": _validation(model.validation),
        },
        "leaf_order": tree.leaf_order,
        "leaves": leaf_entries(tree, model.pruning.tree),
        "nodes": node_entries(model.pruning.tree, model.learner.name),
    }
    content["fingerprint"] = fingerprint(content)
    return content


def _figures(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {
            "estimate": _number(found.estimate),
            "se": _number(found.se),
            "ci_low": _number(found.ci_low),
            "ci_high": _number(found.ci_high),
        }
        for name, found in figures.items()
    }


def _number(value: float) -> float | None:
    """Write NaN, which JSON does not have, as null."""
    return None if math.isnan(value) else float(value)


def _validation(validation: Validation | None) -> dict[str, Any] | None:
    if validation is None:
        return None
    return {
        "folds": int(validation.folds),
        "repeats": int(validation.repeats),
        "step": int(validation.step),
        "step_1se": int(validation.step_1se),
        "heldout": [[_number(value) for value in row] for row in validation.heldout.tolist()],
    }


@dataclass(frozen=True, repr=False)
class Shown:
    """A setting that JSON cannot hold: what is left of it is how it was shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _plain(value: Any) -> Any:
    """Write a setting as JSON if it comes back equal, else as ``{"$repr": text}``."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        if repr(json.loads(json.dumps(value, allow_nan=False))) == repr(value):
            return value
    except (TypeError, ValueError, RecursionError):
        pass
    return {"$repr": repr(value)}


def _setting(stored: Any) -> Any:
    match stored:
        case {"$repr": str(text), **others} if not others:
            return Shown(text)
    return stored


def _model(stored: dict[str, Any]) -> RankingModel:
    """Build a model from a document that the schema allows."""
    check_claims(stored["design"])
    response = ResponseSpec.from_dict(stored["response"])
    design = DesignSpec.from_dict(stored["design"])
    about = stored["learner"]
    params = {name: _setting(value) for name, value in about["params"].items()}
    learner = LearnerInfo(about["name"], params, about["takes_missing"], about["takes_categories"])
    try:
        find(learner.name)
    except UnknownLearnerError as cause:
        raise ModelFileError(f"{cause} Install the package that provides it.") from cause
    training = stored["training"]
    pairs, triples = float(training["pairs"]), float(training["triples"])
    grown = read_grown(stored["nodes"], RuleReader(learner, design), pairs, triples)
    tree = read_pruned(stored["leaves"], grown, stored["leaf_order"])
    pruning = stored["pruning"]
    if pruning["metric"] == "iauc" and triples == 0.0:
        raise ModelFileError("pruning.metric is 'iauc', but the training sample has no triples.")
    path = weakest_links(grown, pruning["metric"])
    return RankingModel(
        formula=stored["formula"],
        response=response,
        design=design,
        tree=tree,
        pruning=path,
        options=TreeOptions(**stored["options"]),
        learner=learner,
        training=TrainingInfo(
            n=training["n"],
            n_dropped=training["n_dropped"],
            weighted=training["weighted"],
            figures=_read_figures(training["figures"]),
            crossvalidated=_read_figures(training["crossvalidated"]),
        ),
        validation=_read_validation(pruning["validation"], path),
        pruned_by=pruning["how"],
    )


def _read_figures(stored: dict[str, Any]) -> dict[str, Estimate]:
    return {
        name: Estimate(**{key: _read_number(value) for key, value in figure.items()})
        for name, figure in stored.items()
    }


def _read_number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _read_validation(stored: dict[str, Any] | None, path: PruningPath) -> Validation | None:
    if stored is None:
        return None
    folds, repeats, rows = stored["folds"], stored["repeats"], stored["heldout"]
    steps = len(path.steps)
    if len(rows) != folds * repeats or any(len(row) != steps for row in rows):
        raise ModelFileError(
            f"pruning.validation.heldout is not a table of {folds} × {repeats} folds by {steps} "
            f"pruning steps."
        )
    heldout = np.array([[_read_number(value) for value in row] for row in rows])
    with np.errstate(invalid="ignore"):
        figures = np.isnan(heldout) | ((heldout > -_ROUNDING) & (heldout < 1.0 + _ROUNDING))
    if not figures.all() or np.isnan(heldout).all(axis=0).any():
        raise ModelFileError(
            "pruning.validation.heldout has numbers that are not from 0 to 1, or none at a step."
        )
    if max(stored["step"], stored["step_1se"]) >= steps:
        raise ModelFileError(f"pruning.validation names a step beyond the last, {steps - 1}.")
    return Validation(path.metric, folds, repeats, heldout, stored["step"], stored["step_1se"])
