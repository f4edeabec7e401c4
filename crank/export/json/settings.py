"""Settings of a fit as JSON values; what JSON cannot hold is kept as it was shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from crank.records.call import Call, Shown


def stored_setting(value: Any) -> Any:
    """Write a setting as JSON if it comes back equal, else as ``{"$repr": text}``."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        if repr(json.loads(json.dumps(value, allow_nan=False))) == repr(value):
            return value
    except (TypeError, ValueError, RecursionError):
        pass
    return {"$repr": repr(value)}


def read_setting(stored: Any) -> Any:
    """Read back what `stored_setting` wrote."""
    match stored:
        case {"$repr": str(text), **others} if not others:
            return Shown(text)
    return stored


def stored_call(call: Call) -> dict[str, Any]:
    """Write a call as plain data; its formula stands beside it."""
    return {
        "function": call.function,
        "arguments": {name: _stored_argument(value) for name, value in call.arguments.items()},
        "then": call.then,
    }


def _stored_argument(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: stored_setting(part) for name, part in value.items()}
    return stored_setting(value)


def read_call(stored: Mapping[str, Any], formula: str) -> Call:
    """Read back what `stored_call` wrote; nothing in it is run."""
    arguments = {name: _read_argument(value) for name, value in stored["arguments"].items()}
    return Call(stored["function"], formula, arguments, stored["then"])


def _read_argument(stored: Any) -> Any:
    value = read_setting(stored)
    if isinstance(value, Mapping):
        return {name: read_setting(part) for name, part in value.items()}
    return value
