"""Split learners as a fit meets them: who they are, and how a call names them again."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from crank.errors import PluginWarning
from crank.plugins.base import SplitLearner
from crank.plugins.discovery import entry_of, name_of
from crank.plugins.parameters import constructor_arguments
from crank.rankers.tree import LearnerInfo
from crank.records.call import Shown


def described(learner: SplitLearner, params: Mapping[str, Any] | None) -> LearnerInfo:
    """Say which learner it is, and how it was set."""
    entry = entry_of(learner)
    return LearnerInfo(
        name=name_of(learner) or type(learner).__name__,
        params=dict(params or constructor_arguments(learner)),
        takes_missing=learner.takes_missing,
        takes_categories=learner.takes_categories,
        distribution=entry.distribution if entry else "",
        version=entry.version if entry else "",
        contract=learner.contract,
    )


def asked_learner(learner: SplitLearner, info: LearnerInfo) -> dict[str, Any]:
    """Return the arguments of a call that give this learner; how it is shown if it has no name."""
    if name_of(learner) is not None:
        return {"learner": info.name, "learner_params": info.params}
    settings = ", ".join(f"{name}={value!r}" for name, value in info.params.items())
    return {"learner": Shown(f"{info.name}({settings})"), "learner_params": None}


def warn_of_memory(learner: SplitLearner) -> None:
    """Say before a fit that its model will live in memory only."""
    warnings.warn(
        f"models of {learner!r} cannot be saved as JSON: the rules have no translation into plain "
        "data. Choose another learner if the model is to be stored.",
        PluginWarning,
        stacklevel=3,
    )
