"""A model file as text: from bytes that may be anything to plain values, and back to lines."""

from __future__ import annotations

import hashlib
import json
import math
from typing import IO, Any

from crank.errors import ModelFileError
from crank.texts import HALF, json_is_broken

LARGEST_FILE = 2**30
"""Bytes; a kernel machine with thousands of support vectors in every node stays far below."""
LARGEST_WHOLE = 2**128
"""Seeds have up to 128 bits; nothing else in a file comes near."""
_EXACT = 2**53
_BLOCK = 2**20


def read_bounded(file: IO[bytes]) -> bytes:
    """Read the rest of a file, of bounded size."""
    blocks, size = [], 0
    # the size that the system states says nothing of pipes and devices
    while block := file.read(_BLOCK):
        blocks.append(block)
        size += len(block)
        if size > LARGEST_FILE:
            raise ModelFileError(f"it is larger than {LARGEST_FILE >> 20} MiB.")
    return b"".join(blocks)


def parse(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object; NaN, repeated keys and endless nesting are refused.

    Examples
    --------
    >>> parse('{"n": 1, "n": 2}')
    Traceback (most recent call last):
        ...
    crank.errors.ModelFileError: the key 'n' appears twice in one object.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if not text.strip():
            raise ModelFileError("it is empty.")
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except UnicodeDecodeError as cause:
        raise ModelFileError(f"it is not text in UTF-8 (byte {cause.start}).") from None
    except RecursionError:
        raise ModelFileError("its values are nested too deeply.") from None
    except json.JSONDecodeError as cause:
        where = f"line {cause.lineno}, column {cause.colno}"
        raise ModelFileError(f"it is not JSON: {cause.msg} at {where}.") from None
    except ValueError:  # Python's own limit on the digits of a whole number
        raise ModelFileError("a number has too many digits.") from None
    if json_is_broken(text, document):
        raise ModelFileError(f"it holds {HALF}.")
    if not isinstance(document, dict):
        raise ModelFileError(f"it holds a JSON {type(document).__name__}, not an object.")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ModelFileError(f"the key {name[:60]!r} appears twice in one object.")
        found[name] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"{name} is not a number that a model file may hold.")


def fingerprint(document: dict[str, Any]) -> str:
    """Digest every value of a document but the digest itself.

    Layout and the order of keys do not matter, nor whether a whole number is written 1 or 1.0.

    Examples
    --------
    >>> fingerprint({"a": 1, "b": [0.5]}) == fingerprint({"b": [0.5], "a": 1.0})
    True
    """
    content = {key: value for key, value in document.items() if key != "fingerprint"}
    try:
        text = json.dumps(_normal(content), sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise ModelFileError("its values are nested too deeply.") from None
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _normal(value: Any) -> Any:
    """Give equal values equal texts, and refuse numbers that no double or seed can be."""
    kind = type(value)
    if kind is dict:
        return {key: _normal(item) for key, item in value.items()}
    if kind is list:
        return [_normal(item) for item in value]
    if kind is float:
        if not math.isfinite(value):
            raise ModelFileError("a number is too large for a double.")
        whole = abs(value) <= _EXACT and value.is_integer()
        negative_zero = value == 0.0 and math.copysign(1.0, value) < 0.0
        return int(value) if whole and not negative_zero else value
    if kind is int and abs(value) > _EXACT:
        if abs(value) >= LARGEST_WHOLE:
            raise ModelFileError("a whole number has too many digits.")
        return float(value) if float(value) == value else value
    return value


def lay_out(document: dict[str, Any]) -> str:
    """Write a document with one line for each entry, also of the ranker, and each item of a list.

    Examples
    --------
    >>> print(lay_out({"n": 3, "nodes": [{"x": 0.1}, {"x": 2.0}]}), end="")
    {
    "n": 3,
    "nodes": [
    {"x": 0.1},
    {"x": 2.0}
    ]
    }
    """
    return _object(document) + "\n"


def _object(document: dict[str, Any]) -> str:
    entries = [f"{_line(key)}: {_lines(key, value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(entries) + "\n}"


def _lines(key: str, value: Any) -> str:
    if key == "ranker":
        return _object(value)
    if not isinstance(value, list) or not value:
        return _line(value)
    return "[\n" + ",\n".join(map(_line, value)) + "\n]"


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def number(value: float) -> float | None:
    """Write NaN, which JSON does not have, as null."""
    return None if math.isnan(value) else float(value)


def read_number(value: float | None) -> float:
    """Read null back as NaN."""
    return math.nan if value is None else float(value)
