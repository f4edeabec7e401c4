"""The JSON model file: a fitted model as plain data, and back with every value checked.

The format is documented in docs/reference/model-file.md and in ``model.schema.json``; what a kind
of model adds to it is written and read by the file of that kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from crank._version import __version__
from crank.design.response import ResponseSpec
from crank.design.spec import DesignSpec
from crank.errors import CrankError, ModelFileError, OptionError
from crank.export.json.claims import check_claims
from crank.export.json.format_1 import upgraded
from crank.export.json.profiles import read_profile, read_profiles, stored_profile
from crank.export.json.schema import check_schema, format_1_schema, model_schema
from crank.export.json.settings import read_call, stored_call
from crank.export.json.text import fingerprint, lay_out, number, parse, read_number
from crank.files import write_text
from crank.metrics.figures import get_figure
from crank.rankers.validation import Estimate
from crank.records.base import DesignedRecord, ModelRecord
from crank.records.inputs import input_schema
from crank.records.kinds import KINDS, model_class, reader
from crank.records.provenance import TrainingInfo
from crank.texts import HALF, json_is_broken

FORMAT = 2
"""Raised when an older crank could not read a new file; older formats stay readable."""


def to_json(
    model: ModelRecord,
    path: str | Path | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
) -> str | None:
    """Write a model as JSON: into a file, in one step, or as text if no path is given.

    Parameters
    ----------
    model : RankingModel
    path : str or Path, optional
    metadata : mapping, optional
        What its owner says about the model, beside what it has already: plain JSON values, which
        a loaded model keeps in ``metadata`` and hands on to ONNX and SQL.

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
    >>> bool((crank.from_json(text).predict(test.frame) == m.predict(test.frame)).all())
    True
    """
    if metadata:
        model = replace(model, metadata={**model.metadata, **_plain(metadata)})
    content = document(model)
    text = lay_out(content)
    if json_is_broken(text, content):  # in the call, say: a column of weights
        raise OptionError(f"the model cannot be stored: names or options in it hold {HALF}.")
    if path is None:
        return text
    write_text(path, text)
    return None


def read_model(text: str | bytes) -> tuple[str, dict[str, Any]]:
    """Read a model's kind and its fields, or raise `ModelFileError`."""
    return read_document(parse(text))


def read_document(stored: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read a model's kind and its fields from a document: a file, or a member of a blend."""
    version = _format_of(stored)
    if stored.get("fingerprint") != fingerprint(stored):
        raise ModelFileError(
            "its fingerprint does not match its content: it was damaged or edited after it was "
            "written. Write it again from the model."
        )
    try:
        if version == 1:
            check_schema(stored, format_1_schema())
            stored = upgraded(stored)
        check_schema(stored, model_schema())
        return stored["kind"], _fields(stored)
    except ModelFileError:
        raise
    except CrankError as cause:
        raise ModelFileError(str(cause)) from cause
    except RecursionError:
        raise ModelFileError("its values are nested too deeply.") from None


def _format_of(stored: dict[str, Any]) -> int:
    version = stored.get("crank_model")
    if type(version) is not int or version < 1:
        raise ModelFileError("it is JSON, but no crank model: it has no 'crank_model' version.")
    if version > FORMAT:
        raise ModelFileError(
            f"its format is version {version}; this crank reads versions up to {FORMAT}. "
            f"Install a newer crank."
        )
    return version


def document(model: ModelRecord) -> dict[str, Any]:
    """Return all of a model as plain data, in the layout of the schema."""
    content: dict[str, Any] = {
        "crank_model": FORMAT,
        "crank_version": __version__,
        "fingerprint": "",
        "kind": model.kind,
        "formula": model.formula,
        **({} if model.call is None else {"call": stored_call(model.call)}),
        **({"metadata": dict(model.metadata)} if model.metadata else {}),
        "response": model.response.to_dict(),
        "training": _training(model.training),
        "inputs": input_schema(model),
    }
    kind = reader(model.kind, "json")
    if isinstance(model, DesignedRecord):
        content["design"] = model.design.to_dict()
        content["ranker"] = kind.write(model.ranker)
        prove = getattr(kind, "prove", None)
        if prove is not None:  # a kind whose parts may come from plugins
            prove(model.ranker, content["ranker"], model.design)
    else:  # its members have designs of their own
        content["ranker"] = kind.write(model)
    content["fingerprint"] = fingerprint(content)
    return content


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Take metadata as what they will be when they are read back."""
    try:
        text = json.dumps(dict(metadata), allow_nan=False)
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"metadata cannot be stored: {error}. Allowed: plain JSON.") from error
    if json_is_broken(text, found):
        raise OptionError(f"metadata cannot be stored: they hold {HALF}.")
    return found


def _training(training: TrainingInfo) -> dict[str, Any]:
    stored: dict[str, Any] = {
        "n": int(training.n),
        "n_dropped": int(training.n_dropped),
        "weighted": bool(training.weighted),
        "figures": _figures(training.figures),
        "crossvalidated": _figures(training.crossvalidated),
    }
    if training.n_groups is not None:
        stored["n_groups"] = int(training.n_groups)
    if training.n_zero_weight:
        stored["n_zero_weight"] = int(training.n_zero_weight)
    if training.n_judged is not None:
        stored["n_judged"] = int(training.n_judged)
    if training.missing is not None:
        stored["missing"] = {name: int(count) for name, count in training.missing.items()}
    if training.columns is not None:
        stored["columns"] = {name: stored_profile(p) for name, p in training.columns.items()}
    if training.scores is not None:
        stored["scores"] = stored_profile(training.scores)
    for name in ("data", "created"):
        if getattr(training, name) is not None:
            stored[name] = getattr(training, name)
    if training.versions is not None:
        stored["versions"] = dict(training.versions)
    return stored


def _figures(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {
            "estimate": number(found.estimate),
            "se": number(found.se),
            "ci_low": number(found.ci_low),
            "ci_high": number(found.ci_high),
        }
        for name, found in figures.items()
    }


def _fields(stored: dict[str, Any]) -> dict[str, Any]:
    """Build the fields of a model from a document that the schema allows."""
    kind, training = stored["kind"], stored["training"]
    if kind not in KINDS:
        raise ModelFileError(
            f"it is a model of kind {kind!r}, which this crank does not know. Install a newer one."
        )
    if issubclass(model_class(kind), DesignedRecord):
        if "design" not in stored:
            raise ModelFileError("design is missing.")
        check_claims(stored["design"])
        design = DesignSpec.from_dict(stored["design"])
        own = {"design": design, "ranker": reader(kind, "json").read(stored["ranker"], design)}
    else:
        own = reader(kind, "json").read(stored["ranker"])
    return {
        "formula": stored["formula"],
        "call": read_call(stored["call"], stored["formula"]) if "call" in stored else None,
        "response": ResponseSpec.from_dict(stored["response"]),
        "training": TrainingInfo(
            n=training["n"],
            n_dropped=training["n_dropped"],
            weighted=training["weighted"],
            n_groups=training.get("n_groups"),
            n_judged=training.get("n_judged"),
            n_zero_weight=training.get("n_zero_weight", 0),
            figures=_read_figures(training["figures"]),
            crossvalidated=_read_figures(training["crossvalidated"]),
            missing=training.get("missing"),
            columns=read_profiles(training.get("columns")),
            scores=read_profile(training["scores"]) if "scores" in training else None,
            data=training.get("data"),
            created=training.get("created"),
            versions=training.get("versions"),
        ),
        "metadata": stored.get("metadata", {}),
        **own,
    }


def _read_figures(stored: dict[str, Any]) -> dict[str, Estimate]:
    for name in stored:
        get_figure(name, option="a figure of training")
    return {
        name: Estimate(**{key: read_number(value) for key, value in figure.items()})
        for name, figure in stored.items()
    }
