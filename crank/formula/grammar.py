"""The grammar of formulas: a response, ``~`` and terms, read as R reads them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple

from crank.errors import FormulaError
from crank.formula.syntax import Expressions, expression_name, name_of
from crank.formula.terms import (
    Source,
    Term,
    Terms,
    TermsError,
    add,
    crossed,
    interacting,
    nested,
    power,
    terms_of,
)
from crank.formula.tokens import Cursor, Token, shortened


class RightSide(NamedTuple):
    """The terms of a formula, main effects before interactions, and whether 1 is one of them."""

    terms: tuple[Term, ...]
    intercept: bool


class FormulaReader:
    """Read the two sides of a formula, the left one first.

    Examples
    --------
    >>> reader = FormulaReader("y ~ (a + b)^2 - 1")
    >>> reader.response().name
    'y'
    >>> terms, intercept = reader.right_side([])
    >>> [[factor.name for factor in term.factors] for term in terms], intercept
    ([['a'], ['b'], ['a', 'b']], False)
    """

    def __init__(self, text: str) -> None:
        self.text, self.cursor = text, Cursor(text)
        self.depth = 0
        self.sources: dict[str, Source] = {}
        self.everything: Terms = {}
        self.intercept = True
        self.adding = True  # False behind a minus sign

    def response(self) -> Source:
        """Read the left side and the ``~``."""
        cursor = self.cursor
        tildes = [t for t in self._outer() if t.text == "~"]
        if not tildes or cursor.sees("~"):
            raise cursor.error("it has no '~' with the response on its left")
        if len(tildes) > 1:
            raise cursor.error("it has '~' twice")
        terms = self._read(self._sum)
        if not cursor.accept("~"):
            raise self._stopped()
        (term, *others) = list(terms.values()) or [Term(())]
        if others or len(term.factors) != 1 or term.scale != 1:
            raise cursor.error(
                "its left side must be one response; wrap arithmetic in I(...), as in I(y / x) ~ z"
            )
        return term.factors[0]

    def _outer(self) -> Iterable[Token]:
        """List the operators that stand in no bracket."""
        depth = 0
        for token in self.cursor.tokens:
            if token.kind == "operator":
                depth += (token.text in "([{") - (token.text in ")]}")
                if not depth:
                    yield token

    def right_side(self, everything: Iterable[str]) -> RightSide:
        """Read the right side; a dot in it stands for all columns of ``everything``."""
        self.everything = terms_of(Term((self._source(Source(name)),)) for name in everything)
        self.intercept = self.adding = True
        terms: Terms = {}
        if not self.cursor.at_end():
            terms = self._read(self._sum)
            if not self.cursor.at_end():
                raise self._stopped()
        if not terms:
            raise FormulaError(
                f"the formula {shortened(self.text)} has an empty right side. Name at least one "
                f"column there, or '.' for all."
            )
        in_order = sorted(terms.values(), key=lambda term: len(term.factors))
        return RightSide(tuple(in_order), self.intercept)

    def _read(self, rule: Callable[[], Terms]) -> Terms:
        try:
            return rule()
        except TermsError as why:
            raise self.cursor.error(str(why)) from None
        except RecursionError:
            raise self.cursor.error("it is nested too deeply") from None

    def _sum(self) -> Terms:
        """Read terms between plus and minus signs."""
        found: dict[frozenset[str], Term] = {}
        outside, first = self.adding, True
        while first or self.cursor.sees("+", "-"):
            minus = False
            while sign := self.cursor.accept("+", "-"):
                minus ^= sign.text == "-"
            self.adding = outside != minus
            terms = self._product()
            if isinstance(terms, float):
                self._set_intercept(terms)
            elif minus:
                for key in terms:
                    found.pop(key, None)
            else:
                add(found, terms.values())
            self.adding, first = outside, False
        return found

    def _set_intercept(self, number: float) -> None:
        """Read the number 1 as the intercept, and 0 as its absence."""
        if number not in (0.0, 1.0):
            raise TermsError(f"the number {number:g} is not a term; 2:x scales a term")
        self.intercept = self.adding == (number == 1.0)

    def _product(self) -> Terms | float:
        left = self._interaction()
        while token := self.cursor.accept("*", "/", "%in%"):
            right = self._interaction()
            if isinstance(left, float) or isinstance(right, float):
                raise TermsError(
                    f"a number stands beside {token.text!r}; 2:x scales a term, I(2 * x) computes"
                )
            if token.text == "*":
                left = crossed(left, right)
            else:
                left = nested(left, right) if token.text == "/" else nested(right, left)
        return left

    def _interaction(self) -> Terms | float:
        left = self._power()
        while self.cursor.accept(":"):
            right = self._power()
            if isinstance(left, float) and isinstance(right, float):
                left *= right
            else:
                left = interacting(_scaled(left), _scaled(right))
        return left

    def _power(self) -> Terms | float:
        base = self._operand()
        if not (token := self.cursor.accept("^", "**")):
            return base
        exponent = self._power()
        if isinstance(base, float) or not isinstance(exponent, float):
            raise TermsError(
                f"{token.text!r} takes terms and a whole number; I(x{token.text}2) computes"
            )
        if not exponent.is_integer() or exponent < 1:
            raise TermsError(f"the power {exponent:g} is not a whole number from 1 up")
        return power(base, int(exponent))

    def _operand(self) -> Terms | float:
        cursor, token = self.cursor, self.cursor.token
        if token.kind == "number":
            return float(cursor.next().text)
        if token.kind == "text":
            raise cursor.error(f"the text {token.text!r} is not a term; quote columns as `name`")
        if token.kind == "quoted":
            return self._one(Source(cursor.next().text))
        if token.kind == "word":
            tree = Expressions(cursor).named(cursor.next())
            return self._expression(tree)
        if cursor.accept("."):
            return self.everything
        if cursor.accept("{"):
            tree = Expressions(cursor).expression()
            cursor.close(token, "}")
            return self._expression(tree)
        if cursor.accept("("):
            return self._bracketed(token)
        raise cursor.unexpected()

    def _stopped(self) -> FormulaError:
        """Build the error for an operator that terms do not have."""
        if self.cursor.sees("|"):
            return self.cursor.error("'|' is not supported")
        return self.cursor.unexpected()

    def _bracketed(self, opened: Token) -> Terms | float:
        self.depth += 1
        if self.depth > 100:
            raise self.cursor.error("it is nested too deeply")
        terms = self._sum()
        self.cursor.close(opened, ")")
        self.depth -= 1
        return terms

    def _expression(self, tree: ast.expr) -> Terms:
        column = name_of(tree)
        if column is not None:
            return self._one(Source(column))
        return self._one(Source(expression_name(tree, self.cursor), tree))

    def _one(self, source: Source) -> Terms:
        return terms_of([Term((self._source(source),))])

    def _source(self, source: Source) -> Source:
        """Return the factor that has this name already, if there is one."""
        known = self.sources.setdefault(source.name, source)
        if (known.tree is None) != (source.tree is None):
            raise self.cursor.error(
                f"`{source.name}` is both a column and an expression; rename the column"
            )
        return known


def _scaled(terms: Terms | float) -> Terms:
    """Take a number as the factor of terms beside it."""
    if not isinstance(terms, float):
        return terms
    if terms == 0:
        raise TermsError("the number 0 cannot scale a term")
    return {frozenset(): Term((), terms)}
