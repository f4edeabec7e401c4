"""A model fitted again: the stored call with some arguments changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crank.errors import OptionError
from crank.formula.update import updated
from crank.records.base import ModelRecord
from crank.records.kinds import named_function


def update(model: ModelRecord, data: Any, formula: str | None, changes: Mapping[str, Any]) -> Any:
    """Fit again; see `RankingModel.update`."""
    call = model.asked
    old = dict(call.arguments)
    if "learner" in changes:  # settings belong to the learner that they were given for
        old.pop("learner_params", None)
    for name, shown in call.lost().items():
        if name in old and name not in changes:
            raise OptionError(
                f"{name} was given as {shown}, which the model does not keep. "
                f"Give {name}= again, or {name}=None to do without."
            )
    new = model.formula if formula is None else updated(model.formula, formula)
    return named_function(call.function, model.kind)(data, new, **{**old, **changes})
