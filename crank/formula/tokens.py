"""A formula's text as tokens: columns, numbers, texts, words and operators."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from crank.errors import FormulaError

TokenKind: TypeAlias = Literal["quoted", "text", "number", "word", "operator", "other", "end"]

# a word is R's: letters, digits, dots and underscores; a dot alone is an operator
_WORD = r"(?:[^\W\d]|\.(?=[^\W\d]))[\w.]*"
_TOKEN = re.compile(
    rf"""\s*(?:
        `(?P<quoted>[^`]*)`
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?:L\b)?
      | (?P<word>{_WORD})
      | (?P<operator>%in%|%/%|%%|\*\*|//|<=|>=|==|!=|&&|\|\||[-+*/:^%~!<>=&|(){{}}\[\],.])
      | (?P<other>\S)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ONE_WORD = re.compile(_WORD)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class Token(NamedTuple):
    """A piece of a formula; ``text`` is a column's or text's content without its quotes."""

    kind: TokenKind
    text: str
    start: int
    stop: int

    @property
    def shown(self) -> str:
        """Quote the token for a message."""
        return f"`{self.text}`" if self.kind == "quoted" else repr(self.text)


def tokenize(text: str) -> list[Token]:
    """Cut a formula into tokens; the last one marks the end.

    ``%in%``, ``%%`` and ``%/%`` are R's operators, any other ``%`` is Python's.

    Examples
    --------
    >>> [token.text for token in tokenize("y ~ I(k % 3) + Sepal.Length %in% `my g`")]
    ['y', '~', 'I', '(', 'k', '%', '3', ')', '+', 'Sepal.Length', '%in%', 'my g', '']
    """
    tokens, at, stop = [], 0, len(text.rstrip())
    while at < stop:
        match = _TOKEN.match(text, at)
        assert match is not None  # the last alternative takes any character
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]  # the groups are the kinds
        content = match[kind]
        if kind == "text":
            content = re.sub(r"\\(.)", _unescaped, content[1:-1], flags=re.DOTALL)
        start, at = match.start(kind), match.end()
        tokens.append(Token(kind, content, start, at))
    return [*tokens, Token("end", "", stop, stop)]


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[0])


def is_word(name: str) -> bool:
    """Say whether a column's name may stand in a formula without quotes.

    Examples
    --------
    >>> is_word("Sepal.Length"), is_word("my x"), is_word("1st")
    (True, False, False)
    """
    return _ONE_WORD.fullmatch(name) is not None


class Cursor:
    """A place in the tokens of a formula, from which both of its grammars read on."""

    def __init__(
        self,
        text: str,
        what: str = "the formula",
        example: str = "'y ~ x1 + log(x2) + C(g)'",
    ) -> None:
        self.text, self.tokens, self.at = text, tokenize(text), 0
        self.what, self.example = what, example  # for messages

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def at_end(self) -> bool:
        """Say whether all tokens are read."""
        return self.token.kind == "end"

    def sees(self, *operators: str) -> bool:
        """Say whether the next token is one of these operators."""
        return self.token.kind == "operator" and self.token.text in operators

    def next(self) -> Token:
        """Take the next token; the end stays."""
        token = self.token
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, *operators: str) -> Token | None:
        """Take the next token if it is one of these operators."""
        return self.next() if self.sees(*operators) else None

    def close(self, opened: Token, closing: str) -> Token:
        """Take the bracket that closes an open one."""
        if self.at_end():
            raise self.error(f"{opened.text!r} is not closed")
        if not self.sees(closing):
            raise self.unexpected(closing)
        return self.next()

    def unexpected(self, instead: str = "") -> FormulaError:
        """Build the error for a next token that cannot stand here."""
        token, before = self.token, self.tokens[self.at - 1] if self.at else None
        operands = ("word", "number", "quoted", "text")
        if token.kind == "end":
            return self.error(f"it ends after {before.shown}" if before else "it is empty")
        if before is not None and token.kind in operands and _ends_operand(before):
            what = f"an operator is missing between {before.shown} and {token.shown}"
            return self.error(what + " (columns with other names are quoted: `my column`)")
        where = f" after {before.shown}" if before else ""
        wanted = f", where {instead!r} is expected" if instead else ""
        return self.error(f"{token.shown} cannot stand{where}{wanted}")

    def error(self, what: str) -> FormulaError:
        """Build the error for a formula that cannot be read."""
        return FormulaError(
            f"{self.what} {shortened(self.text)} cannot be read: {what}. "
            f"Write it as {self.example}."
        )


def _ends_operand(token: Token) -> bool:
    return token.kind != "operator" or token.text in (")", "}", "]", ".")


def shortened(text: str) -> str:
    """Quote a formula for a message, cut where it is long."""
    return repr(text if len(text) <= 120 else text[:119] + "…")
