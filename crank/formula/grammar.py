"""A formula's text to its terms: formulaic does the algebra of ``+``, ``:``, ``*``, ``**``, ``.``.

formulaic 1.2 evaluates parts of Python expressions while it reads them and mistakes some quoted
names, so it never sees them: calls, braces and quoted names go to it as identifiers that stand
for them, and come back as terms.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from crank.errors import FormulaError

_TOKEN = re.compile(
    r"""`(?P<quoted>[^`]*)`
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<operator>%[^%]*%)
      | (?P<number>\d+(?:\.\d*)?|\.\d+)
      | (?P<word>[^\W\d]\w*(?:\.\w+)*)
      | (?P<brace>\{)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPENED = re.compile(r"\s*\(")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Source(NamedTuple):
    """What stands behind an identifier: a column, or the syntax tree of an expression."""

    name: str
    tree: ast.expr | None = None
    aliases: tuple[tuple[str, str], ...] = ()  # identifiers in the tree that stand for columns


class Term(NamedTuple):
    """A product of factors and a number."""

    factors: tuple[Source, ...]
    scale: float


class Sides(NamedTuple):
    """Both sides of a formula."""

    response: Source
    terms: tuple[Term, ...]
    intercept: bool


class _Scanner:
    """Replace what formulaic must not see by identifiers, and remember what they stand for."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.prefix = "_column"
        while any(self.prefix in known for known in (text, *names)):
            self.prefix += "_"
        self.sources: dict[str, Source] = {}
        self.known: dict[str, str] = {}  # a source's name -> the identifier that stands for it
        # Python would read a dot as an attribute, and other letters in a normal form
        self.awkward = {name for name in names if "." in name or not name.isascii()}

    def identifier(self, source: Source) -> str:
        if source.name not in self.known:
            self.known[source.name] = new = f"{self.prefix}{len(self.known)}_"
            self.sources[new] = source
        identifier = self.known[source.name]
        if (self.sources[identifier].tree is None) != (source.tree is None):
            raise self.error(
                f"`{source.name}` is both a column and an expression; rename the column"
            )
        return identifier

    def scan(self) -> str:
        out, at = [], 0  # words are set apart by spaces, so that formulaic sees no calls in them
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            assert match is not None  # the last alternative takes any character
            at = match.end()
            group = match.lastgroup
            if group == "quoted":
                out.append(f" {self.column(match['quoted'])} ")
            elif group == "word":
                opened = _OPENED.match(self.text, at)
                if opened:
                    at = self.closing(opened.end() - 1) + 1
                    out.append(f" {self.expression(self.text[match.start() : at])} ")
                elif self.text[at : at + 1] == "[":
                    raise self.error(f"{match['word']}[...] is not supported")
                else:
                    out.append(f" {self.column(match['word'])} ")
            elif group == "brace":
                end = self.closing(match.start())
                out.append(f" {self.expression(self.text[at:end])} ")
                at = end + 1
            elif group == "text":
                raise self.error(f"the text {match['text']} is not a term; quote columns as `name`")
            else:
                out.append(match[0])
        return "".join(out)

    def column(self, name: str) -> str:
        plain = name.isidentifier() and not keyword.iskeyword(name)
        return name if plain else self.identifier(Source(name))

    def closing(self, start: int) -> int:
        """Find the bracket that closes the one at ``start``, skipping quoted text and names."""
        waiting, at = [_CLOSING[self.text[start]]], start + 1
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            assert match is not None
            at = match.end()
            if match[0] in _CLOSING:
                waiting.append(_CLOSING[match[0]])
            elif match[0] == waiting[-1]:
                waiting.pop()
                if not waiting:
                    return match.start()
        raise self.error(f"{self.text[start]!r} is not closed")

    def expression(self, code: str) -> str:
        aliases: dict[str, str] = {}

        def alias(match: re.Match[str]) -> str:
            name = match["quoted"] if match["quoted"] is not None else match["word"]
            if match["quoted"] is None and name not in self.awkward:
                return match[0]
            if name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
                return name
            new = next(
                (a for a, n in aliases.items() if n == name), f"_{self.prefix}{len(aliases)}_"
            )
            aliases[new] = name
            return new

        try:
            tree = ast.parse(_TOKEN.sub(alias, code).strip(), mode="eval").body
            shown = ast.unparse(tree)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            why = getattr(error, "msg", None) or "it is nested too deeply"
            raise self.error(f"{shortened(code.strip())} is not an expression ({why})") from None
        for new, name in aliases.items():
            shown = shown.replace(new, name if name in self.awkward else f"`{name}`")
        if isinstance(tree, ast.Name):
            return self.column(aliases.get(tree.id, tree.id))
        return self.identifier(Source(shown, tree, tuple(aliases.items())))

    def source(self, identifier: str) -> Source:
        return self.sources.get(identifier, Source(identifier))

    def error(self, what: str) -> FormulaError:
        return syntax_error(self.text, what)


def syntax_error(text: str, what: str) -> FormulaError:
    """Build the error for a formula that cannot be read."""
    return FormulaError(
        f"the formula {shortened(text)} cannot be read: {what}. "
        f"Write it as 'y ~ x1 + log(x2) + C(g)'."
    )


def shortened(text: str) -> str:
    """Quote a formula for a message, cut where it is long."""
    return repr(text if len(text) <= 120 else text[:119] + "…")


def read_sides(text: str, names: Sequence[str], hidden: Sequence[str] = ()) -> Sides:
    """Split a formula into its response and its terms.

    ``.`` stands for all of ``names`` that are not on the left side, nor ``hidden``.

    Examples
    --------
    >>> sides = read_sides("y ~ a * b", ["y", "a", "b"])
    >>> [[factor.name for factor in term.factors] for term in sides.terms]
    [['a'], ['b'], ['a', 'b']]
    """
    scanner = _Scanner(text, names)
    scanned = scanner.scan()
    available = [scanner.column(name) for name in names if name not in hidden]
    formula = _parse(scanned, available, scanner)
    left, right = getattr(formula, "lhs", None), getattr(formula, "rhs", None)
    if left is None or right is None or "~" not in scanned:
        raise scanner.error("it has no '~' with the response on its left")
    if isinstance(right, tuple) or isinstance(left, tuple):
        raise scanner.error("'|' is not supported")
    if len(left) != 1 or len(left[0].factors) != 1 or _is_literal(left[0].factors[0]):
        raise scanner.error(
            "its left side must be one response; wrap arithmetic in I(...), as in I(y / x) ~ z"
        )
    terms = [_term(term, scanner) for term in right]
    kept = tuple(term for term in terms if term.factors)
    if not kept:
        raise FormulaError(
            f"the formula {shortened(text)} has an empty right side. Name at least one column "
            f"there, or '.' for all."
        )
    response = scanner.source(left[0].factors[0].expr)
    if any(term.factors == (response,) for term in kept):
        raise FormulaError(
            f"the formula {shortened(text)} has its response {response.name!r} on the right side "
            f"as well. Leave it out there."
        )
    return Sides(response, kept, intercept=len(kept) < len(terms))


def _parse(scanned: str, available: list[str], scanner: _Scanner) -> Any:
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        return Formula(scanned, _context={"__formulaic_variables_available__": available})
    except (FormulaicError, SyntaxError, ValueError, TypeError, AttributeError) as error:
        # the first line; the others repeat the formula with terminal colours
        what = re.sub(r"\x1b\[[\d;]*m|[⧛⧚]", "", str(error).split("\n")[0]).rstrip(". ")
        for identifier, source in scanner.sources.items():
            what = what.replace(identifier, source.name)
        raise scanner.error(what) from None
    except RecursionError:
        raise scanner.error("it is nested too deeply") from None


def _is_literal(factor: Any) -> bool:
    return bool(factor.eval_method.value == "literal")


def _term(term: Any, scanner: _Scanner) -> Term:
    scale, factors = 1.0, []
    for factor in term.factors:
        if _is_literal(factor):
            scale *= float(factor.expr)
        else:
            factors.append(scanner.source(factor.expr))
    return Term(tuple(factors), scale)
