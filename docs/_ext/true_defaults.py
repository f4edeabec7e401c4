"""griffe extension: the reference shows each parameter with its own default and type, as written.

griffe's numpydoc parser gives all names of ``max_depth, min_samples_leaf : int`` the default of the
first, and of ``metric, alpha`` without a type the annotation of the first; it takes the first of
``{"a", "b"}`` for a default even where there is none, shows the choices as a tuple, and reads
``array-like`` as a difference. Attributes that share a line stay one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

VARIADIC = {griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword}


class TrueDefaults(griffe.Extension):
    """Correct what was parsed, once the package is loaded and dataclasses have their parameters."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Visit every docstring of the package."""
        for thing in documented(pkg):
            assert thing.docstring is not None
            for section in thing.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        parameter.value = default_of(thing, parameter.name)
                        parameter.annotation = type_of(thing, parameter)
                elif section.kind is griffe.DocstringSectionKind.attributes:
                    for attribute in section.value:
                        attribute.annotation = as_written(attribute, thing.docstring.value)
                    section.value = [one for shared in section.value for one in split(shared)]


def documented(thing: griffe.Object) -> Iterator[griffe.Object]:
    """Yield an object and all that it contains, those with a docstring."""
    if thing.docstring is not None:
        yield thing
    for member in thing.members.values():
        if isinstance(member, griffe.Object):
            yield from documented(member)


def default_of(thing: griffe.Object, name: str) -> Any:
    """Return a parameter's default as its signature states it, or None."""
    parameters = getattr(thing, "parameters", ())
    if name not in parameters or parameters[name].kind in VARIADIC:
        return None
    return parameters[name].default


def type_of(thing: griffe.Object, parameter: griffe.DocstringParameter) -> Any:
    """Return a parameter's type: as the docstring states it, else as its signature does."""
    assert thing.docstring is not None
    parameters = getattr(thing, "parameters", ())
    if parameter.name in parameters and stated(parameter.name, thing.docstring.value) is None:
        return parameters[parameter.name].annotation
    return as_written(parameter, thing.docstring.value)


def as_written(entry: griffe.DocstringParameter | griffe.DocstringAttribute, text: str) -> Any:
    """Return an entry's type: its text, where griffe has read an expression into it."""
    annotation = entry.annotation
    if not isinstance(annotation, griffe.ExprTuple) and " - " not in str(annotation):
        return annotation
    return stated(entry.name, text) or annotation


def stated(name: str, text: str) -> str | None:
    """Find the type that a docstring gives to a name, alone or with others on its line."""
    pattern = rf"^(?:.*, )?{re.escape(name)}(?:, .*)? : (.+?)(?:, optional)?$"
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else None


def split(shared: griffe.DocstringAttribute) -> list[griffe.DocstringAttribute]:
    """Turn ``low, high : float`` into two entries with one description."""
    return [
        griffe.DocstringAttribute(
            name, annotation=shared.annotation, description=shared.description
        )
        for name in shared.name.split(", ")
    ]
