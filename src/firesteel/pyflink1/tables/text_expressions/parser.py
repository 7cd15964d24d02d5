"""The parser of expressions as text. Flink up to 1.14: `ExpressionParserImpl`.

From the weakest to the strongest: alias, logic (`&&` and `||` have the same strength and go from left to right),
comparison, sum, product, sign and `!`, calls after a point.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from firesteel.pyflink1.tables.text_expressions import literals
from firesteel.pyflink1.tables.text_expressions.calls import CallParser, Names
from firesteel.pyflink1.tables.text_expressions.reader import TokenReader
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expressions import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    col,
    lit,
    null_of,
    range_,
)
from firesteel.table.syntax.unresolved import Apply, Lit, Star

_Expression = Expression[object]
_Binary = Callable[[_Expression, _Expression], _Expression]

_LOGIC: dict[str, _Binary] = {"&&": operator.and_, "||": operator.or_}
_COMPARISONS: dict[str, _Binary] = {
    "===": operator.eq,
    "==": operator.eq,
    "=": operator.eq,
    "!==": operator.ne,
    "!=": operator.ne,
    "<>": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_SUMS: dict[str, _Binary] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: dict[str, _Binary] = {"*": operator.mul, "/": operator.truediv, "%": operator.mod}
_BOUNDS = {
    "current_row": CURRENT_ROW,
    "current_range": CURRENT_RANGE,
    "unbounded_row": UNBOUNDED_ROW,
    "unbounded_range": UNBOUNDED_RANGE,
}


def parse_expressions(source: str, names: Names | None = None) -> list[Expression[object]]:
    """Return the expressions of a text, which are separated by commas.

    Args:
        source: The text, such as `a, b.sum as c`.
        names: The tables and functions of the environment; None for none.

    Raises:
        ExpressionParserException: the text has something else; the message shows where.
    """
    reader = TokenReader(source)
    parser = ExpressionParser(reader, names)
    found = parser.expressions()
    if reader.token.kind != "end":
        raise reader.error("end of expression expected")
    return found


class ExpressionParser(CallParser):
    """The parser of expressions."""

    def expressions(self) -> list[_Expression]:
        """Take expressions that are separated by commas."""
        found = [self.expression()]
        while self._reader.accept(","):
            found.append(self.expression())
        return found

    def expression(self) -> _Expression:
        """Take a range of columns, a bound of a window, or an expression with or without an alias."""
        if self._reader.ahead().text.lower() == "to":
            return self._range()
        word = self._reader.token.text.lower()
        if self._reader.token.kind == "name" and word in _BOUNDS:
            self._reader.take()
            return _BOUNDS[word]
        found = self._binary(_LOGIC, self._comparison)
        return found.alias(*self._alias_names()) if self._reader.accept_word("as") else found

    def _alias_names(self) -> tuple[str, ...]:
        return tuple(self.names()) if self._reader.at("(") else (self._reader.name(),)

    def _range(self) -> _Expression:
        start = self._range_end()
        self._reader.take()
        return range_(start, self._range_end())

    def _range_end(self) -> str | int:
        token = self._reader.token
        if token.kind == "number" and token.text.isdigit():
            return int(self._reader.take().text)
        return self._reader.name()

    def _binary(self, operators: dict[str, _Binary], operand: Callable[[], _Expression]) -> _Expression:
        """Take operands between operators of the same strength, which are applied from left to right."""
        found = operand()
        while (symbol := self._reader.accept(*operators)) is not None:
            found = operators[symbol](found, operand())
        return found

    def _comparison(self) -> _Expression:
        left = self._sum()
        symbol = self._reader.accept(*_COMPARISONS)
        return left if symbol is None else _COMPARISONS[symbol](left, self._sum())

    def _sum(self) -> _Expression:
        return self._binary(_SUMS, self._product)

    def _product(self) -> _Expression:
        return self._binary(_PRODUCTS, self._signed)

    def _signed(self) -> _Expression:
        if self._reader.accept("!"):
            return Expression(Apply("NOT", (node_of(self._called()),)))
        if self._reader.accept("-"):
            return self._negative()
        self._reader.accept("+")
        return self._called()

    def _negative(self) -> _Expression:
        """Return the negative of what follows; the minus of a number belongs to it, as in `-5.abs`."""
        if self._reader.token.kind != "number":
            return -self._called()
        node = node_of(self._number())
        assert isinstance(node, Lit)
        assert isinstance(node.value, int | float)
        return self.suffixes(lit(-node.value, node.type))

    def _called(self) -> _Expression:
        return self.suffixes(self._atom())

    def _atom(self) -> _Expression:
        reader = self._reader
        if reader.accept("("):
            found = self.expression()
            reader.expect(")")
            return found
        if reader.accept("*"):
            return Expression(Star())
        if reader.accept("?"):
            return self.conditional()
        if reader.token.kind == "number":
            return self._number()
        if reader.token.kind == "text":
            return literals.text(reader.take())
        return self._named()

    def _number(self) -> _Expression:
        error = self._reader.error("invalid number")
        try:
            return literals.number(self._reader.take())
        except ValueError as reason:
            raise error from reason

    def _named(self) -> _Expression:
        reader = self._reader
        if reader.ahead().text == "(":
            if reader.accept_word("null", "nullof"):
                return null_of(self.type_argument())
            return self.prefix_call()
        if self.at_distinct_call():
            return self.distinct_call()
        if reader.at_word("true", "false"):
            return lit(reader.take().text.lower() == "true")
        return col(reader.name())
