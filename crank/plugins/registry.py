"""Turn names into split learners, and stored rules into rules."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from crank import entries
from crank.blame import named
from crank.entries import Entry
from crank.errors import CrankError, MissingExtraError, OptionError, PluginError, listed
from crank.plugins.base import SplitLearner, SplitRule
from crank.plugins.contract import checked
from crank.plugins.discovery import GROUP, find, installed, load, name_of
from crank.plugins.parameters import check_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Entry",
    "get_learner",
    "installed",
    "learners",
    "name_of",
    "rule_from_dict",
]


def get_learner(
    learner: str | SplitLearner | type[SplitLearner], params: Mapping[str, Any] | None = None
) -> SplitLearner:
    """Turn a name, a class or a learner into a learner.

    Parameters
    ----------
    learner : str, SplitLearner or subclass of SplitLearner
    params : mapping, optional
        Parameters to build it with.

    Returns
    -------
    SplitLearner

    Raises
    ------
    UnknownLearnerError
        No learner has this name.
    PluginError
        Its plugin cannot be loaded, or two distributions claim the name.
    MissingExtraError
        A package that it needs is not installed.
    OptionError
        The parameters do not fit.

    Examples
    --------
    >>> get_learner("logistic", {"C": 0.5}).C
    0.5
    """
    if params is not None and not isinstance(params, Mapping):
        raise OptionError(
            f"learner_params={params!r} is not allowed. Allowed: a mapping of names to values, "
            "such as {'C': 0.5}, or None."
        )
    if isinstance(learner, SplitLearner):
        if params:
            raise OptionError(
                f"parameters ({listed(params)}) were given beside a finished "
                f"{type(learner).__name__}. Allowed: parameters for a name or a class. "
                f"Set them where the learner is made."
            )
        checked(type(learner), named(type(learner)))
        _require_packages(type(learner), type(learner).__name__)
        return learner
    if isinstance(learner, str):
        kind, label = load(find(learner)), repr(learner)
    elif isinstance(learner, type):
        kind, label = checked(learner, named(learner)), learner.__name__
    else:
        raise OptionError(
            f"learner is {learner!r} of type {type(learner).__name__}. Allowed: the name of an "
            f"installed learner ({listed(entries.known(GROUP))}), a SplitLearner or its class. "
            f"For a scikit-learn classifier: crank.plugins.sklearn.SklearnLearner(classifier)."
        )
    _require_packages(kind, label)
    return _build(kind, label, {} if params is None else params)


def rule_from_dict(
    learner: str, d: Mapping[str, Any], *, distribution: str | None = None
) -> SplitRule:
    """Rebuild a rule of a named learner; the learner itself need not be able to fit here.

    Examples
    --------
    >>> stored = {"kind": "linear", "columns": [0], "coef": [2.0], "centre": [1.0],
    ...           "scale": [1.0], "bias": 0.5}
    >>> rule_from_dict("logistic", stored).describe(["x"])
    '2 x > 1.5 [missing: x as 1]'
    """
    entry = find(learner, distribution)
    kind = load(entry)
    try:
        rule = kind.rule.from_dict(d)
    except CrankError:
        raise
    except (Exception, SystemExit) as cause:
        raise PluginError(
            f"split learner {entry.label} cannot read one of its stored rules: "
            f"{type(cause).__name__}: {cause}. Install the version that wrote the file."
        ) from cause
    if not isinstance(rule, SplitRule):
        raise PluginError(
            f"split learner {entry.label} read a stored rule as {type(rule).__name__}. "
            f"Allowed: a SplitRule. Run crank.testing.check_learner on it."
        )
    return rule


def learners() -> pd.DataFrame:
    """List the installed split learners, one row each.

    Returns
    -------
    DataFrame
        Columns name, distribution, version, description, takes_missing, takes_categories,
        exports_onnx, and status: ``"ok"``, or why the learner cannot be used.

    Examples
    --------
    >>> table = learners()
    >>> table.loc[table["name"] == "logistic", "description"].item()
    'a hyperplane by penalised logistic regression'
    """
    import pandas as pd

    rows = [_row(entry) for entry in entries.each(installed())]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return table.astype(dict.fromkeys(_CAPABILITIES, "boolean"))


_CAPABILITIES = ("takes_missing", "takes_categories", "exports_onnx")
_COLUMNS = ("name", "distribution", "version", "description", *_CAPABILITIES, "status")


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(_CAPABILITIES)
    row |= {"name": entry.name, "distribution": entry.distribution, "version": entry.version}
    row["description"] = ""
    try:
        kind = load(replace(entry, rivals=()) if _is_usable(entry) else entry)
        row["description"] = " ".join(str(kind.description).split())
        for capability in _CAPABILITIES:
            stated = getattr(kind, capability)
            # a learner that wraps others knows only once it is built: left open
            row[capability] = stated if isinstance(stated, bool) else None
        _require_packages(kind, repr(entry.name))
    except CrankError as problem:
        return row | {"status": str(problem)}
    except Exception as cause:  # whatever a plugin's attributes do, it is its own row only
        message = f"{type(cause).__name__}: {cause}"
        return row | {"status": f"split learner {entry.label} cannot be read: {message}"}
    return row | {"status": _status(entry)}


def _is_usable(entry: Entry) -> bool:
    """Tell whether a name leads somewhere: to a built-in, or past it to its rivals."""
    return any(e.distribution == entries.OWN for e in (entry, *entry.rivals))


def _status(entry: Entry) -> str:
    if entry.rivals and entry.distribution != entries.OWN:
        return f"ok as {entry.full_name!r}; {entry.name!r} is built in"
    return "ok"


def _require_packages(kind: type[SplitLearner], label: str) -> None:
    for package, source in kind.requires.items():
        if find_spec(package) is None:
            raise MissingExtraError(
                f"split learner {label} needs {package}, which is not installed. "
                f"Install it with: pip install '{source}'"
            )


def _build(kind: type[SplitLearner], label: str, params: Mapping[str, Any]) -> SplitLearner:
    if params:
        check_names(kind, params, f"split learner {label}")
    try:
        return kind(**params)
    except CrankError:
        raise
    except (TypeError, ValueError) as cause:
        names = listed(kind.parameter_names())
        try:
            inspect.signature(kind).bind(**params)
        except TypeError as wrong:
            raise OptionError(f"split learner {label}: {wrong}. Parameters: {names}.") from None
        raise OptionError(
            f"split learner {label} refuses its parameters: {cause}. Parameters: {names}."
        ) from cause
    except (Exception, SystemExit) as cause:
        raise PluginError(
            f"split learner {label} cannot be built: {type(cause).__name__}: {cause}."
        ) from cause
