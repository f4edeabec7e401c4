"""The grammar of expressions inside calls: R's and Python's operators, read to a syntax tree.

The tree is made of the nodes of Python's `ast`, so that `ast.unparse` names a term. Operators
bind as in R, where ``x > 1 & z < 2`` is two comparisons.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from crank.formula.tokens import Cursor, Token, is_word

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _PERCENT, _SIGN, _POWER = range(1, 10)
_BINARY: Mapping[str, tuple[int, type[ast.operator]]] = {
    "|": (_OR, ast.BitOr),
    "||": (_OR, ast.BitOr),
    "&": (_AND, ast.BitAnd),
    "&&": (_AND, ast.BitAnd),
    "+": (_SUM, ast.Add),
    "-": (_SUM, ast.Sub),
    "*": (_PRODUCT, ast.Mult),
    "/": (_PRODUCT, ast.Div),
    "//": (_PRODUCT, ast.FloorDiv),
    "%": (_PRODUCT, ast.Mod),
    "%%": (_PERCENT, ast.Mod),
    "%/%": (_PERCENT, ast.FloorDiv),
    "^": (_POWER, ast.Pow),
    "**": (_POWER, ast.Pow),
}
_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
    "in": ast.In,
}
_PREFIXES: Mapping[str, tuple[int, type[ast.unaryop]]] = {
    "-": (_SIGN, ast.USub),
    "+": (_SIGN, ast.UAdd),
    "~": (_SIGN, ast.Invert),
    "!": (_NOT, ast.Not),
    "not": (_NOT, ast.Not),
}
_CONSTANTS = {
    "TRUE": True,
    "True": True,
    "FALSE": False,
    "False": False,
    "NULL": None,
    "None": None,
}
_WORDS = frozenset({"and", "or", "not", "in", *_CONSTANTS})
_DEEPEST = 100


def name_of(node: ast.expr) -> str | None:
    """Return the column or function that a name stands for, without its quotes; else None."""
    return node.id.strip("`") if isinstance(node, ast.Name) else None


def column_node(name: str) -> ast.Name:
    """Make the node of a column, which prints with quotes where it needs them."""
    shown = name if is_word(name) and name not in _WORDS else f"`{name}`"
    return ast.Name(shown, ast.Load())


class Expressions:
    """Read expressions from a cursor.

    Examples
    --------
    >>> ast.unparse(Expressions(Cursor("x > 1 & !(z^2 %% 3 in c(1, 2))")).expression())
    '(x > 1) & (not z ** 2 % 3 in [1, 2])'
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor, self.depth = cursor, 0

    def expression(self, least: int = _OR) -> ast.expr:
        """Read an expression of operators that bind at least so tightly."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.cursor.error("it is nested too deeply")
        left = self._prefixed()
        while (found := self._infix()) is not None:
            symbol, power = found
            if power < least:
                break
            left = self._joined(left, symbol, power)
        self.depth -= 1
        return left

    def _infix(self) -> tuple[str, int] | None:
        """Look at the next operator between two values; how tightly it binds."""
        token = self.cursor.token
        if token.kind == "operator":
            if token.text in _BINARY:
                return token.text, _BINARY[token.text][0]
            if token.text in _COMPARISONS:
                return token.text, _COMPARE
            if token.text == "%in%":
                return token.text, _PERCENT
        if token.kind == "word":
            if token.text in ("and", "or"):
                return token.text, _AND if token.text == "and" else _OR
            if token.text in ("in", "not"):
                return token.text, _COMPARE
        return None

    def _joined(self, left: ast.expr, symbol: str, power: int) -> ast.expr:
        if power == _COMPARE:
            return self._compared(left)
        self.cursor.next()
        if symbol in ("and", "or"):
            right = self.expression(power + 1)
            return ast.BoolOp(ast.And() if symbol == "and" else ast.Or(), [left, right])
        if symbol == "%in%":
            return ast.Compare(left, [ast.In()], [self.expression(power + 1)])
        # powers are taken from the right, and 2^-1 is one
        right = self.expression(_SIGN if power == _POWER else power + 1)
        return ast.BinOp(left, _BINARY[symbol][1](), right)

    def _compared(self, left: ast.expr) -> ast.Compare:
        """Read a chain of comparisons, ``0 < x <= 2``."""
        operators: list[ast.cmpop] = []
        sides: list[ast.expr] = []
        while (found := self._infix()) is not None and found[1] == _COMPARE:
            token = self.cursor.next()
            if token.text == "not":
                if self.cursor.token.text != "in":
                    raise self.cursor.unexpected("in")
                self.cursor.next()
                operators.append(ast.NotIn())
            else:
                operators.append(_COMPARISONS[token.text]())
            sides.append(self.expression(_COMPARE + 1))
        return ast.Compare(left, operators, sides)

    def _prefixed(self) -> ast.expr:
        token = self.cursor.token
        if token.text in _PREFIXES and token.kind in ("operator", "word"):
            power, operator = _PREFIXES[token.text]
            self.cursor.next()
            return ast.UnaryOp(operator(), self.expression(power))
        return self._operand()

    def _operand(self) -> ast.expr:
        """Read a value: a column, a number, a text, a call, a list or what brackets hold."""
        token = self.cursor.token
        if token.kind == "number":
            return ast.Constant(_number(self.cursor.next()))
        if token.kind == "text":
            return ast.Constant(self.cursor.next().text)
        if token.kind == "quoted":
            return column_node(self.cursor.next().text)
        if token.kind == "word" and token.text in _CONSTANTS:
            return ast.Constant(_CONSTANTS[self.cursor.next().text])
        if token.kind == "word" and token.text not in _WORDS:
            return self.named(self.cursor.next())
        if self.cursor.accept("("):
            return self._bracketed(token)
        if self.cursor.accept("["):
            return ast.List(self._items(token, "]"), ast.Load())
        if self.cursor.accept("{"):
            return self._table(token)
        raise self.cursor.unexpected()

    def named(self, word: Token) -> ast.expr:
        """Read a column or, if a bracket follows, a call."""
        opened = self.cursor.accept("(")
        if opened is not None:
            return self._call(word, opened)
        if self.cursor.sees("["):
            raise self.cursor.error(f"{word.text}[...] is not supported")
        return ast.Name(word.text, ast.Load())

    def _call(self, word: Token, opened: Token) -> ast.expr:
        """Read the arguments of a call; R's ``c(1, 2)`` is a list."""
        arguments: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        while not self.cursor.sees(")"):
            key = self.cursor.token
            following = self.cursor.tokens[min(self.cursor.at + 1, len(self.cursor.tokens) - 1)]
            if key.kind == "word" and following.text == "=" and following.kind == "operator":
                self.cursor.at += 2
                keywords.append(ast.keyword(key.text, self.expression()))
            elif keywords:
                raise self.cursor.error(
                    f"in {word.text}(...) an argument without a name stands behind a named one"
                )
            else:
                arguments.append(self.expression())
            if not self.cursor.accept(","):
                break
        self.cursor.close(opened, ")")
        if self.cursor.sees("["):
            raise self.cursor.error(f"{word.text}(...)[...] is not supported")
        if word.text == "c" and not keywords:
            return ast.List(arguments, ast.Load())
        return ast.Call(ast.Name(word.text, ast.Load()), arguments, keywords)

    def _bracketed(self, opened: Token) -> ast.expr:
        """Read what round brackets hold; with a comma in them it is a list."""
        first = self.expression()
        if self.cursor.accept(","):
            return ast.Tuple([first, *self._items(opened, ")")], ast.Load())
        self.cursor.close(opened, ")")
        return first

    def _items(self, opened: Token, closing: str) -> list[ast.expr]:
        found: list[ast.expr] = []
        while not self.cursor.sees(closing):
            found.append(self.expression())
            if not self.cursor.accept(","):
                break
        self.cursor.close(opened, closing)
        return found

    def _table(self, opened: Token) -> ast.Dict:
        """Read ``{'a': [1, 0], 'b': [0, 1]}``, the columns of a contrast by name."""
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        while not self.cursor.sees("}"):
            keys.append(self.expression())
            if not self.cursor.accept(":"):
                raise self.cursor.unexpected(":")
            values.append(self.expression())
            if not self.cursor.accept(","):
                break
        self.cursor.close(opened, "}")
        return ast.Dict(keys, values)


def _number(token: Token) -> int | float:
    try:
        return int(token.text)
    except ValueError:  # a fraction, or more digits than Python reads as a whole number
        return float(token.text)


def expression_name(tree: ast.expr, cursor: Cursor) -> str:
    """Write an expression as the name of its term, in one way whatever its blanks."""
    try:
        return ast.unparse(tree)
    except (RecursionError, ValueError):
        raise cursor.error("it is nested too deeply") from None


def read_expression(
    text: str, what: str = "the expression", example: str = "'log(x) + 1'"
) -> ast.expr:
    """Read a text that is one expression and nothing else; a message names it as ``what``.

    Examples
    --------
    >>> ast.unparse(read_expression("age < 90"))
    'age < 90'
    """
    cursor = Cursor(text, what, example)
    tree = Expressions(cursor).expression()
    if not cursor.at_end():
        raise cursor.unexpected()
    return tree
