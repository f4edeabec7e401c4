"""The parameters of a learner, read back from the learner."""

from __future__ import annotations

import inspect
from typing import Any

from crank.plugins.base import SplitLearner


def constructor_arguments(learner: SplitLearner) -> dict[str, Any]:
    """Read back what a learner was made with, where that differs from the defaults.

    As scikit-learn's ``get_params`` does: a parameter is kept as the attribute of its name. One
    that the learner does not keep so is left out.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> constructor_arguments(Logistic(C=0.01)), constructor_arguments(Logistic())
    ({'C': 0.01}, {})
    """
    found = {}
    for name, parameter in inspect.signature(type(learner)).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = getattr(learner, name, parameter.default)
        if value is not parameter.empty and repr(value) != repr(parameter.default):
            found[name] = value
    return found
