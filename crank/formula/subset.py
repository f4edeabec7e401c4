"""Rows chosen by a condition: ``subset="age < 90 & sex == 'f'"``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.design.expressions import check, evaluate
from crank.design.reader import Reader
from crank.errors import FormulaError
from crank.formula.compile import RawFactor, compile_factor
from crank.formula.scaling import kinds_of, learn_steps
from crank.formula.syntax import read_expression
from crank.formula.tokens import shortened
from crank.frames.columns import Kind
from crank.frames.table import Table


def read_subset(
    condition: str,
    table: Table,
    *,
    context: Mapping[str, Callable[..., Any]] | None = None,
    part: bool = False,
) -> NDArray[np.bool_]:
    """Mark the rows for which a condition is true, as R's ``subset`` does.

    Rows for which it is missing are left out; ``a | b`` is true where a is, whatever b.

    Parameters
    ----------
    condition : str
        An expression as a formula has it inside ``I(...)``.
    table : Table
    context : mapping, optional
        Functions that the condition may call besides the formula's own.
    part : bool
        Whether there are other rows: a column that holds nothing here may hold text there.

    Examples
    --------
    >>> table = Table.read({"age": [30, 95, None], "sex": ["f", "f", "m"]})
    >>> read_subset("age < 90 & sex == 'f'", table)
    array([ True, False, False])
    """
    factor = _compiled(condition, table.names, context)
    if part:
        table = _supposed(factor, table)
    reader = Reader(table.with_dates(factor.dates), factor.functions)
    steps = learn_steps(factor, reader) if factor.form == "expression" else ()
    if not steps or check(steps, kinds_of(steps, reader), condition) != "boolean":
        raise FormulaError(
            f"the subset {shortened(condition)} is not a condition. Write one that is true or "
            f"false in each row, such as 'age < 90'."
        )
    value = evaluate(steps, reader, decided=True)
    chosen = np.broadcast_to(value.values.astype(np.bool_), (table.n_rows,))
    return chosen.copy() if value.missing is None else chosen & ~value.missing


def _supposed(factor: RawFactor, table: Table) -> Table:
    """Let columns without a value hold what the condition needs: booleans count as numbers too."""
    needs: dict[str, Kind] = {"among": "category", "dated": "date", "days": "date"}
    known = {step.given[0]: needs[step.op] for step in factor.steps if step.op in needs}
    kinds: dict[str, Kind] = {}
    for name in factor.variables:
        if table.kind(name) == "number" and table.missing(name).all():
            kinds[name] = known.get(name, "boolean")
    return table.supposing(kinds)


def columns_of_condition(condition: str, names: Collection[str]) -> tuple[str, ...]:
    """List the columns that a condition reads, if it can be told of each row alone.

    Examples
    --------
    >>> columns_of_condition("age < 90 & sex == 'f'", ["age", "sex", "bmi"])
    ('age', 'sex')
    """
    factor = _compiled(condition, names, None)
    if any(step.op == "standardize" for step in factor.steps):
        raise FormulaError(
            f"the subset {shortened(condition)} compares rows with the mean of all rows, which is "
            "not known yet where data is in partitions. Compute it as a column before fitting."
        )
    return factor.variables


def _compiled(
    condition: str, names: Collection[str], context: Mapping[str, Callable[..., Any]] | None
) -> RawFactor:
    try:
        tree = read_expression(condition, "the subset", "'age < 90'")
        return compile_factor(condition, tree, names, context or {})
    except RecursionError:
        raise FormulaError(
            f"the subset {shortened(condition)} is nested too deeply. Give a column of booleans."
        ) from None
