"""From a formula and a table to a design: parse once, learn once."""

from __future__ import annotations

from crank.formula.additive import additive_terms, every_column, pair_sides, with_pairs
from crank.formula.learn import learn_design, learn_response, response
from crank.formula.parse import ParsedFormula, parse_formula
from crank.formula.smooths import has_smooths
from crank.formula.subset import columns_of_condition, read_subset

__all__ = [
    "ParsedFormula",
    "additive_terms",
    "columns_of_condition",
    "every_column",
    "has_smooths",
    "learn_design",
    "learn_response",
    "pair_sides",
    "parse_formula",
    "read_subset",
    "response",
    "with_pairs",
]
