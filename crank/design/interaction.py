"""Which columns of a design may act together: sets of raw columns as sets of design columns."""

from __future__ import annotations

from collections.abc import Sequence

from crank.design.monotone import reads
from crank.design.spec import DesignSpec
from crank.errors import OptionError, did_you_mean, listed


def column_sets(
    design: DesignSpec, wanted: Sequence[Sequence[str]] | str | None
) -> tuple[tuple[int, ...], ...]:
    """Find the design columns of each set; columns that no set names stand alone.

    Parameters
    ----------
    design : DesignSpec
    wanted : sequence of sequences of str, or "none", optional
        Raw columns, or columns of the design by their names.

    Returns
    -------
    tuple of tuples of int
        Empty if all columns may act together.

    Examples
    --------
    >>> from crank.frames.table import Table
    >>> from crank.formula import learn_design, parse_formula
    >>> table = Table.read({"y": [1, 2, 3], "x": [1.0, 2.0, 4.0], "z": [1.0, 5.0, 2.0]})
    >>> design = learn_design(parse_formula("y ~ log(x) + x + z", table.names), table, native=True)
    >>> column_sets(design, "none"), column_sets(design, [["x"]])
    (((0, 1), (2,)), ((0, 1), (2,)))
    """
    if wanted is None:
        return ()
    sources = _sources(design)
    if isinstance(wanted, str):
        wanted = [[variable.name] for variable in design.variables]
    sets = [tuple(j for name in names for j in _columns(design, sources, name)) for names in wanted]
    named = {j for columns in sets for j in columns}
    # a term of several raw columns belongs to each of their sets
    alone = [(j,) for j in range(len(design.names)) if j not in named]
    return tuple(tuple(sorted(set(columns))) for columns in (*sets, *alone) if columns)


def _sources(design: DesignSpec) -> list[set[str]]:
    """List the raw columns that each design column is made of."""
    found = []
    for block in design.blocks:
        names = {name for i in block.factors for name in reads(design.factors[i])}
        found += [names] * design.width(block)
    return found


def _columns(design: DesignSpec, sources: Sequence[set[str]], name: str) -> list[int]:
    found = [j for j, names in enumerate(sources) if name in names]
    found = found or [j for j, label in enumerate(design.names) if label == name]
    if not found:
        known = list(dict.fromkeys([v.name for v in design.variables] + list(design.names)))
        raise OptionError(
            f"interaction= names {name!r}, which the formula does not use. "
            f"Allowed: {listed(map(repr, known))}.{did_you_mean(name, known)}"
        )
    return found
