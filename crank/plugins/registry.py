"""Turn names into split learners, and stored rules into rules."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from crank.errors import CrankError, MissingExtraError, OptionError, PluginError, listed
from crank.plugins.base import SplitLearner, SplitRule
from crank.plugins.discovery import LearnerEntry, checked, find, installed, scan

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LearnerEntry",
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
    if isinstance(learner, SplitLearner):
        if params:
            raise OptionError(
                f"parameters ({listed(params)}) were given beside a finished "
                f"{type(learner).__name__}. Allowed: parameters for a name or a class. "
                f"Set them where the learner is made."
            )
        _require_packages(type(learner), type(learner).__name__)
        return learner
    if isinstance(learner, str):
        kind, label = find(learner).load(), repr(learner)
    elif isinstance(learner, type):
        kind, label = checked(learner, learner.__name__), learner.__name__
    else:
        raise OptionError(
            f"learner is {learner!r} of type {type(learner).__name__}. Allowed: the name of an "
            f"installed learner ({listed(scan(tuple(sys.path)))}), a SplitLearner or its class. "
            f"For a scikit-learn classifier: crank.plugins.sklearn.SklearnLearner(classifier)."
        )
    _require_packages(kind, label)
    return _build(kind, label, {} if params is None else params)


def name_of(learner: SplitLearner | type[SplitLearner]) -> str | None:
    """Return the name under which a learner's class is installed, or None.

    A model keeps this name, so that its rules can be read again.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> name_of(Logistic())
    'logistic'
    """
    kind = learner if isinstance(learner, type) else type(learner)
    for entry in scan(tuple(sys.path)).values():
        module, _, attribute = entry.target.partition(":")
        # a plugin may announce a re-export, so compare the object, but load nothing for it
        if not entry.rivals and getattr(sys.modules.get(module), attribute.strip(), None) is kind:
            return entry.name
    return None


def rule_from_dict(learner: str, d: Mapping[str, Any]) -> SplitRule:
    """Rebuild a rule of a named learner; the learner itself need not be able to fit here.

    Examples
    --------
    >>> stored = {"kind": "linear", "columns": [0], "coef": [2.0], "centre": [1.0],
    ...           "scale": [1.0], "bias": 0.5}
    >>> rule_from_dict("logistic", stored).describe(["x"])
    '2 x > 1.5 [missing: x as 1]'
    """
    kind = find(learner).load()
    try:
        rule = kind.rule.from_dict(d)
    except CrankError:
        raise
    except Exception as cause:
        raise PluginError(
            f"split learner {learner!r} cannot read one of its stored rules: "
            f"{type(cause).__name__}: {cause}. Install the version that wrote the file."
        ) from cause
    if not isinstance(rule, SplitRule):
        raise PluginError(
            f"split learner {learner!r} read a stored rule as {type(rule).__name__}. "
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

    rows = [_row(entry) for entry in _each(installed())]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return table.astype(dict.fromkeys(_CAPABILITIES, "boolean"))


_CAPABILITIES = ("takes_missing", "takes_categories", "exports_onnx")
_COLUMNS = ("name", "distribution", "version", "description", *_CAPABILITIES, "status")


def _each(entries: Mapping[str, LearnerEntry]) -> Iterator[LearnerEntry]:
    for entry in entries.values():
        yield entry
        for rival in entry.rivals:
            others = tuple(other for other in (entry, *entry.rivals) if other is not rival)
            yield replace(rival, rivals=others)


def _row(entry: LearnerEntry) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(_CAPABILITIES)
    row |= {"name": entry.name, "distribution": entry.distribution, "version": entry.version}
    try:
        kind = entry.load()
        row["description"] = str(kind.description)
        for capability in _CAPABILITIES:
            stated = getattr(kind, capability)
            # a learner that wraps others knows only once it is built: left open
            row[capability] = stated if isinstance(stated, bool) else None
        _require_packages(kind, repr(entry.name))
    except CrankError as problem:
        return {"description": ""} | row | {"status": str(problem)}
    return row | {"status": "ok"}


def _require_packages(kind: type[SplitLearner], label: str) -> None:
    for package, source in kind.requires.items():
        if find_spec(package) is None:
            raise MissingExtraError(
                f"split learner {label} needs {package}, which is not installed. "
                f"Install it with: pip install '{source}'"
            )


@cache
def _signature(kind: type[SplitLearner]) -> inspect.Signature:
    # a third of a millisecond, and estimators ask for their learner at every call
    return inspect.signature(kind)


def _build(kind: type[SplitLearner], label: str, params: Mapping[str, Any]) -> SplitLearner:
    signature = _signature(kind)
    names = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in params:
        if name not in names and not open_ended:
            near = difflib.get_close_matches(str(name).lower(), [n.lower() for n in names], n=1)
            hint = next((f" Did you mean {n!r}?" for n in names if [n.lower()] == near), "")
            raise OptionError(
                f"split learner {label} has no parameter {name!r}. Allowed: {listed(names)}.{hint}"
            )
    try:
        signature.bind(**params)
    except TypeError as cause:
        raise OptionError(f"split learner {label}: {cause}. Parameters: {listed(names)}.") from None
    try:
        return kind(**params)
    except CrankError:
        raise
    except (TypeError, ValueError) as cause:
        raise OptionError(
            f"split learner {label} refuses its parameters: {cause}. Parameters: {listed(names)}."
        ) from cause
    except Exception as cause:
        raise PluginError(
            f"split learner {label} cannot be built: {type(cause).__name__}: {cause}."
        ) from cause
