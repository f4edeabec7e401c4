"""One split learner in words: parameters, what it takes and gives, where it comes from."""

from __future__ import annotations

import inspect

from crank.plugins.discovery import find, load
from crank.plugins.parameters import constructor


def learner_text(name: str) -> str:
    """Describe an installed learner for `crank learners show`.

    Examples
    --------
    >>> print(learner_text("logistic").splitlines()[0])
    logistic: a hyperplane by penalised logistic regression
    """
    entry = find(name)
    kind = load(entry)
    lines = [
        f"{name}: {kind.description}",
        f"  from       {entry.distribution} {entry.version} ({entry.target})",
        f"  contract   {kind.contract}",
        f"  url        {kind.url or 'none given'}",
        f"  requires   {', '.join(kind.requires) or 'nothing more'}",
    ]
    for flag in (
        "takes_missing",
        "takes_categories",
        "takes_monotone",
        "exports_onnx",
        "saves_json",
    ):
        stated = getattr(kind, flag)
        shown = ("yes" if stated else "no") if isinstance(stated, bool) else "depends on settings"
        lines.append(f"  {flag.replace('_', ' '):<17}{shown}")
    known = constructor(kind)
    lines.append("  parameters")
    for parameter in kind.parameter_names():
        default = known[parameter].default if parameter in known else None
        needed = default is inspect.Parameter.empty
        lines.append(f"    {parameter}{' (needed)' if needed else f' = {default!r}'}")
    if not kind.parameter_names():
        lines.append("    none")
    doc = inspect.getdoc(kind)
    return "\n".join([*lines, "", doc] if doc else lines)
