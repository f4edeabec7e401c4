"""The algebra of terms: what ``+``, ``-``, ``:``, ``*``, ``/``, ``%in%`` and ``^`` make of them.

Terms are sets of factors: ``a:b`` is ``b:a``, ``a:a`` is ``a``, and the first spelling stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

MOST_TERMS = 100_000


class Source(NamedTuple):
    """What a factor is in the formula: a column, or the syntax tree of an expression."""

    name: str
    tree: ast.expr | None = None


class Term(NamedTuple):
    """A product of factors and a number."""

    factors: tuple[Source, ...]
    scale: float = 1.0


Terms: TypeAlias = Mapping[frozenset[str], Term]


class TermsError(ValueError):
    """Terms that cannot be combined; the text says why."""


def terms_of(terms: Iterable[Term]) -> dict[frozenset[str], Term]:
    """Collect terms in order, each set of factors once.

    Examples
    --------
    >>> a, b = Source("a"), Source("b")
    >>> [[f.name for f in t.factors] for t in terms_of([Term((a, b)), Term((b, a))]).values()]
    [['a', 'b']]
    """
    found: dict[frozenset[str], Term] = {}
    add(found, terms)
    return found


def add(found: dict[frozenset[str], Term], terms: Iterable[Term]) -> None:
    """Add terms to a collection; those that it has already stay as they are."""
    for term in terms:
        kept = found.setdefault(frozenset(factor.name for factor in term.factors), term)
        if kept.scale != term.scale:
            name = ":".join(factor.name for factor in term.factors)
            raise TermsError(f"the term {name!r} stands there twice, times different numbers")
        if len(found) > MOST_TERMS:
            raise TermsError(f"it makes more than {MOST_TERMS} terms")


def product(left: Term, right: Term) -> Term:
    """Multiply two terms; a factor that both have is kept once."""
    new = (factor for factor in right.factors if factor not in left.factors)
    return Term((*left.factors, *new), left.scale * right.scale)


def joined(left: Terms, right: Terms) -> Terms:
    """Write out ``left + right``."""
    return terms_of((*left.values(), *right.values()))


def interacting(left: Terms, right: Terms) -> Terms:
    """Write out ``left:right``, every term of one with every term of the other."""
    return terms_of(product(a, b) for a in left.values() for b in right.values())


def crossed(left: Terms, right: Terms) -> Terms:
    """Write out ``left * right``, which is ``left + right + left:right``."""
    return joined(joined(left, right), interacting(left, right))


def nested(parents: Terms, inner: Terms) -> Terms:
    """Write out ``parents / inner``: the parents, and the others within their combinations."""
    whole = Term(())
    for parent in parents.values():
        whole = product(whole, parent)
    return joined(parents, terms_of(product(whole, term) for term in inner.values()))


def power(terms: Terms, exponent: int) -> Terms:
    """Write out ``terms ^ exponent``, all interactions of up to so many of the terms."""
    result = terms
    for _ in range(exponent - 1):  # a:a is a, so products of two hold the terms themselves
        larger = interacting(result, terms)
        if list(larger.values()) == list(result.values()):
            break
        result = larger
    return result
