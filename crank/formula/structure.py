"""Which factors of which terms lose a column, so that no column repeats the intercept or another.

This is the rule of R, patsy and formulaic. A factor that spans the intercept is one reduced
factor plus the intercept; a term spans the products of these pieces; pieces that earlier terms
span are dropped, and what is left is joined again into as few, as full factors as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias


class Scoped(NamedTuple):
    """A factor by name, in full or reduced by one column."""

    name: str
    reduced: bool


ScopedTerm: TypeAlias = tuple[Scoped, ...]


def scoped_terms(
    terms: Sequence[Sequence[tuple[str, bool]]], *, intercept: bool
) -> list[list[ScopedTerm]]:
    """Split each term into products of full and reduced factors.

    Parameters
    ----------
    terms : sequence of sequences of (name, spans_intercept)
        The factors of each term, in the order of the formula.
    intercept : bool
        Whether the formula has an intercept, which then comes first.

    Examples
    --------
    >>> scoped_terms([[("g", True)]], intercept=True)
    [[(Scoped(name='g', reduced=True),)]]
    >>> scoped_terms([[("g", True)]], intercept=False)
    [[(Scoped(name='g', reduced=False),)]]
    """
    spanned: set[frozenset[Scoped]] = {frozenset()} if intercept else set()
    found = []
    for factors in terms:
        pieces = [
            (Scoped(name, True), None) if spans else (Scoped(name, False),)
            for name, spans in factors
        ]
        span = [tuple(s for s in choice if s is not None) for choice in product(*pieces)]
        new = [term for term in span if frozenset(term) not in spanned]
        spanned.update(map(frozenset, span))
        found.append(_merged(new))
    return found


def _merged(terms: Iterable[ScopedTerm]) -> list[ScopedTerm]:
    """Join ``a:b-reduced`` and ``a`` to ``a:b`` wherever both are there."""
    kept: list[ScopedTerm] = []
    for term in sorted(terms, key=len):
        for other in kept:
            added = set(term) - set(other)
            if len(term) != len(other) + 1 or len(added) != 1:
                continue
            (factor,) = added
            if factor.reduced:
                full = tuple(Scoped(f.name, False) if f == factor else f for f in term)
                kept = _merged([*(k for k in kept if k is not other), full])
                break
        else:
            kept.append(term)
    return kept
