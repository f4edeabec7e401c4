"""The subset of JSON Schema that the model file's schema uses, checked without a dependency."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from crank.errors import ModelFileError, listed

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "null": lambda value: value is None,
}
ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description"})


@cache
def model_schema() -> dict[str, Any]:
    """Return the schema of model files, JSON Schema draft 2020-12, as it ships with crank.

    Examples
    --------
    >>> model_schema()["properties"]["crank_model"]["const"]
    2
    """
    return _shipped("model")


@cache
def ranker_schema(kind: str) -> dict[str, Any]:
    """Return the schema of what a kind of model keeps as its ranker."""
    return _shipped(kind) | {"$defs": model_schema()["$defs"]}


@cache
def file_schema(kind: str) -> dict[str, Any]:
    """Return the schema of the files of one kind of model, whole.

    Examples
    --------
    >>> sorted(file_schema("tree")["properties"]["ranker"]["required"])[:3]
    ['leaf_order', 'learner', 'leaves']
    """
    schema = model_schema()
    return schema | {"properties": schema["properties"] | {"ranker": _shipped(kind)}}


@cache
def format_1_schema() -> dict[str, Any]:
    """Return the schema of files of format 1, which knew trees only."""
    return _shipped("format-1")


def _shipped(name: str) -> dict[str, Any]:
    text = files("crank.export.json").joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def check_schema(value: Any, schema: Any, root: Any = None, where: str = "") -> None:
    """Raise `ModelFileError` for the first value that a schema does not allow.

    Parameters
    ----------
    value : plain JSON value
    schema : dict or bool
    root : dict, optional
        Where ``$ref`` looks; the schema itself by default.
    where : str
        Path to the value, for the message.

    Examples
    --------
    >>> check_schema({"n": -1}, {"properties": {"n": {"minimum": 0}}})
    Traceback (most recent call last):
        ...
    crank.errors.ModelFileError: n is -1. Allowed: numbers from 0 up.
    """
    root = schema if root is None else root
    if isinstance(schema, bool):
        if not schema:
            raise _refused(where, value, "nothing here")
        return
    for keyword, wanted in schema.items():
        if keyword not in ANNOTATIONS:
            _KEYWORDS[keyword](value, wanted, schema, root, where)


def _refused(where: str, value: Any, allowed: str) -> ModelFileError:
    return ModelFileError(f"{where or 'it'} is {reprlib.repr(value)}. Allowed: {allowed}.")


def _at(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _ref(value: Any, wanted: str, schema: Any, root: Any, where: str) -> None:
    target = root
    for part in wanted.removeprefix("#/").split("/"):
        target = target[part]
    check_schema(value, target, root, where)


def _type(value: Any, wanted: str | list[str], schema: Any, root: Any, where: str) -> None:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(_TYPES[name](value) for name in names):
        raise _refused(where, value, listed(names))


def _const(value: Any, wanted: Any, schema: Any, root: Any, where: str) -> None:
    if type(value) is not type(wanted) or value != wanted:
        raise _refused(where, value, repr(wanted))


def _enum(value: Any, wanted: list[Any], schema: Any, root: Any, where: str) -> None:
    if not any(type(value) is type(one) and value == one for one in wanted):
        raise _refused(where, value, listed(map(repr, wanted)))


def _required(value: Any, wanted: list[str], schema: Any, root: Any, where: str) -> None:
    if isinstance(value, dict):
        for key in wanted:
            if key not in value:
                raise ModelFileError(f"{_at(where, key)} is missing.")


def _properties(value: Any, wanted: dict[str, Any], schema: Any, root: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, inner in wanted.items():
            if key in value:
                check_schema(value[key], inner, root, _at(where, key))


def _additional(value: Any, wanted: Any, schema: Any, root: Any, where: str) -> None:
    if isinstance(value, dict):
        for key in value:
            if key not in schema.get("properties", {}):
                check_schema(value[key], wanted, root, _at(where, reprlib.repr(key)))


def _prefix(value: Any, wanted: list[Any], schema: Any, root: Any, where: str) -> None:
    if isinstance(value, list):
        for k, (item, inner) in enumerate(zip(value, wanted, strict=False)):
            check_schema(item, inner, root, f"{where}[{k}]")


def _items(value: Any, wanted: Any, schema: Any, root: Any, where: str) -> None:
    if isinstance(value, list):
        for k in range(len(schema.get("prefixItems", ())), len(value)):
            check_schema(value[k], wanted, root, f"{where}[{k}]")


def _min_items(value: Any, wanted: int, schema: Any, root: Any, where: str) -> None:
    if isinstance(value, list) and len(value) < wanted:
        raise _refused(where, value, f"at least {wanted} items")


def _max_items(value: Any, wanted: int, schema: Any, root: Any, where: str) -> None:
    if isinstance(value, list) and len(value) > wanted:
        raise _refused(where, value, f"at most {wanted} items")


def _minimum(value: Any, wanted: float, schema: Any, root: Any, where: str) -> None:
    if type(value) in (int, float) and value < wanted:
        raise _refused(where, value, f"numbers from {wanted} up")


def _above(value: Any, wanted: float, schema: Any, root: Any, where: str) -> None:
    if type(value) in (int, float) and value <= wanted:
        raise _refused(where, value, f"numbers above {wanted}")


def _maximum(value: Any, wanted: float, schema: Any, root: Any, where: str) -> None:
    if type(value) in (int, float) and value > wanted:
        raise _refused(where, value, f"numbers up to {wanted}")


def _pattern(value: Any, wanted: str, schema: Any, root: Any, where: str) -> None:
    if isinstance(value, str) and not re.search(wanted, value):
        raise _refused(where, value, f"text like {wanted}")


_KEYWORDS: Mapping[str, Callable[[Any, Any, Any, Any, str], None]] = {
    "$ref": _ref,
    "type": _type,
    "const": _const,
    "enum": _enum,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "prefixItems": _prefix,
    "items": _items,
    "minItems": _min_items,
    "maxItems": _max_items,
    "minimum": _minimum,
    "exclusiveMinimum": _above,
    "maximum": _maximum,
    "pattern": _pattern,
}
KEYWORDS = frozenset(_KEYWORDS) | ANNOTATIONS
"""What a schema may use here."""
