"""How a model's design columns are spoken of: names, levels, truth values, missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crank.design.expressions import check, columns_of
from crank.design.factors import Codes, Cross, Dummies, Factor, Number
from crank.design.spec import Block
from crank.frames.columns import Kind
from crank.growing.wording import ColumnWords
from crank.records.tree import TreeRecord


def column_words(model: TreeRecord) -> tuple[ColumnWords, ...]:
    """Say of each design column what it is called, and whether training met missing values."""
    design, missing = model.design, model.training.missing
    kinds = {variable.name: variable.kind for variable in design.variables}
    found: list[ColumnWords] = []
    for block in design.blocks:
        names = design.names[len(found) : len(found) + design.width(block)]
        factors = [design.factors[i] for i in block.factors]
        # an older file does not say: then every column may have had some
        met = missing is None or any(missing.get(name, 0) for f in factors for name in _read(f))
        found += _words(block, factors, names, kinds, met and model.learner.takes_missing)
    return tuple(found)


def _words(
    block: Block,
    factors: Sequence[Factor],
    names: Sequence[str],
    kinds: Mapping[str, Kind],
    met: bool,
) -> list[ColumnWords]:
    if len(factors) == 1 and block.scale == 1.0:
        factor = factors[0]
        if isinstance(factor, Codes | Cross):
            return [ColumnWords(names[0], levels=factor.level_names, missing=met)]
        if isinstance(factor, Dummies):
            levels = [str(level) for k, level in enumerate(factor.levels) if k != factor.base]
            return [
                ColumnWords(name, "indicator", category=factor.name, level=level, missing=met)
                for name, level in zip(names, levels, strict=True)
            ]
        if isinstance(factor, Number) and [step.op for step in factor.steps] == ["days"]:
            return [ColumnWords(names[0], "date", missing=met)]
        if isinstance(factor, Number) and check(factor.steps, kinds, factor.name) == "boolean":
            return [ColumnWords(names[0], "boolean", missing=met)]
    return [ColumnWords(name, missing=met) for name in names]


def _read(factor: Factor) -> tuple[str, ...]:
    """List the raw columns that a factor reads."""
    if isinstance(factor, Cross):
        return tuple(name for part in factor.parts for name in columns_of(part.steps))
    return columns_of(factor.steps)
