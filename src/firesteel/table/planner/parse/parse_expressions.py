"""Expressions of SQL, as Calcite's grammar has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from firesteel.columns.column_types import DecimalType
from firesteel.common.folding import fold_in_groups
from firesteel.common.table_errors import SqlParserException, ValidationException
from firesteel.table.planner.parse.literals import at_unit, interval_literal, interval_of, time_literal
from firesteel.table.planner.parse.parse_calls import SpecialCalls
from firesteel.table.planner.parse.precedences import OPERATORS, PREFIXES
from firesteel.table.syntax.queries import Query
from firesteel.table.syntax.unresolved import (
    CURRENT,
    UNBOUNDED,
    Apply,
    Bound,
    Lit,
    Ordering,
    OverCall,
    Position,
    Ref,
    Star,
    Subquery,
    Unresolved,
    WindowSpec,
)

_Placed = tuple[Unresolved, Position]
"""An expression, and the position of the operator before it."""
_COMPARISONS = frozenset({"=", "<>", "!=", "<=", ">=", "<", ">"})
_QUANTIFIERS = frozenset({"ANY", "SOME", "ALL"})
_NEGATED = frozenset({"IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR"})
"""Operators that may have NOT before them."""
_BARE_CALLS = frozenset(
    ["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_ROW_TIMESTAMP"]
)
_TYPED_LITERALS = frozenset({"DATE", "TIME", "TIMESTAMP"})


class ExpressionParser(SpecialCalls):
    """A parser of expressions."""

    query: Callable[[], Query]

    def expression(self) -> Unresolved:
        """Take an expression."""
        return self._operators(0)

    def sum(self) -> Unresolved:
        """Take a sum, product or anything that binds closer."""
        return self._operators(OPERATORS["+"].left)

    def _operators(self, least: int) -> Unresolved:
        """Take an operand, and the operators behind it whose precedence is at least this one."""
        left, most = self._operand(), math.inf
        while True:
            name = self._operator_ahead()
            if name not in OPERATORS or not least <= OPERATORS[name].left < most:
                return left
            left = self._operation(name, left)
            if name != "IS":
                most = OPERATORS[name].right

    def _operator_ahead(self) -> str:
        """Return the key in `OPERATORS` of the operator that follows, or other text."""
        token, offset = self.token, 0
        if token.upper == "NOT":
            offset = 1
            if self.ahead().upper not in _NEGATED:
                return ""
        if token.upper == "IS":
            distinct = self.ahead(2 if self.ahead().upper == "NOT" else 1)
            return "IS DISTINCT FROM" if distinct.upper == "DISTINCT" else "IS"
        token = self.ahead(offset)
        if token.kind == "operator":
            is_quantified = token.text in _COMPARISONS and self.ahead().upper in _QUANTIFIERS
            return "QUANTIFIED" if is_quantified else token.text
        return token.upper

    def _operation(self, name: str, left: Unresolved) -> Unresolved:
        """Take an operator and its operands on the right."""
        position = self.position()
        if name in ("OR", "AND"):
            return self._chain(name, left)
        if name == "IS" or name == "IS DISTINCT FROM":
            self.expect("IS")
            return self._is(left, position)
        if self.accept("NOT"):
            return Apply("NOT", (self._range(name, left, position),), position=position)
        if name in _NEGATED:
            return self._range(name, left, position)
        operator = self.next().text
        if name == "QUANTIFIED":
            return self._quantified(left, operator, position)
        right = self._right_of(name)
        if name == "OVERLAPS":
            return Apply(name, (*_period(left), *_period(right)), position=position)
        return Apply("<>" if name == "!=" else name, (left, right), position=position)

    def _right_of(self, operator: str) -> Unresolved:
        """Take the right operand of an operator."""
        return self._operators(OPERATORS[operator].right)

    def _chain(self, function: str, left: Unresolved) -> Unresolved:
        parts = [(left, self.position())]
        while self.at(function):
            position = self.position()
            self.next()
            parts.append((self._right_of(function), position))

        def both(left: _Placed, right: _Placed) -> _Placed:
            return Apply(function, (left[0], right[0]), position=right[1]), right[1]

        return fold_in_groups(both, parts)[0]

    def _range(self, name: str, left: Unresolved, position: Position) -> Unresolved:
        self.expect(name)
        if name == "IN":
            return self._in(left, position)
        if name == "BETWEEN":
            return self._between(left, position)
        if name == "SIMILAR":
            self.expect("TO")
            return self._like("SIMILAR TO", left, position)
        return self._like(name, left, position)

    def _quantified(self, left: Unresolved, operator: str, position: Position) -> Unresolved:
        """`= ANY (query)` is IN, `<> ALL (query)` is NOT IN."""
        word = self.next().upper
        self.expect("(")
        query = self.query()
        self.expect(")")
        if operator == "=" and word != "ALL":
            return Subquery("IN", query, left)
        if operator in ("<>", "!=") and word == "ALL":
            return Apply("NOT", (Subquery("IN", query, left),), position=position)
        return Subquery(f"{operator} {'ALL' if word == 'ALL' else 'ANY'}", query, left)

    def _in(self, left: Unresolved, position: Position) -> Unresolved:
        self.expect("(")
        if self.at_query():
            query = self.query()
            self.expect(")")
            return Subquery("IN", query, left)
        items = self.comma_list(self.expression)
        self.expect(")")
        return Apply("IN", (left, *items), position=position)

    def _between(self, left: Unresolved, position: Position) -> Unresolved:
        symmetric = bool(self.accept("SYMMETRIC")) or (self.accept("ASYMMETRIC") and False)
        low = self._right_of("AND")  # up to the AND between the limits
        self.expect("AND")
        name = "BETWEEN SYMMETRIC" if symmetric else "BETWEEN"
        return Apply(name, (left, low, self._right_of("BETWEEN")), position=position)

    def _like(self, name: str, left: Unresolved, position: Position) -> Unresolved:
        operands = [left, self._right_of("LIKE")]
        if self.accept("ESCAPE"):
            operands.append(self._right_of("LIKE"))
        return Apply(name, tuple(operands), position=position)

    def _is(self, left: Unresolved, position: Position) -> Unresolved:
        prefix = "IS NOT " if self.accept("NOT") else "IS "
        if self.accept("DISTINCT", "FROM"):
            return Apply(f"{prefix}DISTINCT FROM", (left, self._right_of("IS DISTINCT FROM")), position=position)
        if self.accept("JSON"):
            kind = self.accept_any("VALUE", "OBJECT", "ARRAY", "SCALAR") or "VALUE"
            return Apply(f"{prefix}JSON {kind}", (left,), position=position)
        word = self.accept_any("NULL", "TRUE", "FALSE", "UNKNOWN")
        if word is None:
            self.fail("NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT", "JSON")
        return Apply(f"{prefix}{'NULL' if word == 'UNKNOWN' else word}", (left,), position=position)

    def _operand(self) -> Unresolved:
        """Take an operand with the operators before it."""
        position = self.position()
        if self.accept("NOT"):
            return Apply("NOT", (self._operators(PREFIXES["NOT"]),), position=position)
        if self.accept("-"):
            if self.token.kind == "number":
                # The sign is part of the literal, as the smallest BIGINT has no positive counterpart.
                return self._postfix(self._number_literal(-1))
            return Apply("NEGATE", (self._operators(PREFIXES["-"]),), position=position)
        if self.accept("+"):
            return self._operators(PREFIXES["+"])
        return self._postfix(self._primary())

    def _postfix(self, left: Unresolved) -> Unresolved:
        while True:
            position = self.position()
            if self.accept("["):
                left = Apply("ITEM", (left, self.expression()), position=position)
                self.expect("]")
            elif self.at(".") and self.ahead().kind in ("word", "quoted"):
                self.next()
                left = Apply("DOT", (left, Lit(self.name())), position=position)
            else:
                return left

    def number(self) -> int | float | Decimal:
        """Take a number: int, Decimal where it has a point, float where it has an exponent."""
        text = self.next().text
        if "e" in text.lower():
            if math.isinf(float(text)):
                raise ValidationException(f"SQL validation failed. Numeric literal '{text}' out of range")
            return float(text)
        return Decimal(text) if "." in text else int(text)

    def _number_literal(self, sign: int) -> Lit:
        """Take a number as a literal; a decimal's precision counts all digits that are written, leading zeros too.

        Raises:
            ValidationException: its digits are no BIGINT.
        """
        text, position = self.token.text, self.position()
        value = self.number() * sign
        whole, _, fraction = text.partition(".")
        if not isinstance(value, float) and not -(2**63) <= sign * int(whole + fraction or "0") < 2**63:
            raise ValidationException(
                f"SQL validation failed. At line {position.line}, column {position.column}: Numeric literal "
                f"'{text}' out of range; cast a string"
            )
        if not isinstance(value, Decimal):
            return Lit(value)
        return Lit(value, DecimalType(len(whole) + len(fraction), len(fraction), False))

    def _primary(self) -> Unresolved:
        token = self.token
        if token.kind == "number":
            return self._number_literal(1)
        if token.kind == "string":
            self.next()
            while self.token.kind == "string":  # adjacent strings are one
                token = type(token)("string", token.text + self.next().text, token.start, token.stop)
            return Lit(token.text)
        if token.kind == "bytes":
            return Lit(bytes.fromhex(self.next().text))
        if token.text == "(":
            return self._in_brackets()
        if token.kind == "word":
            return self._word()
        if token.kind == "quoted":
            return self._reference_or_call()
        self.fail("<IDENTIFIER>", "<LITERAL>", "(")

    def _in_brackets(self) -> Unresolved:
        position = self.position()
        self.expect("(")
        if self.at_query():
            query = self.query()
            self.expect(")")
            return Subquery("SCALAR", query)
        items = self.comma_list(self.expression)
        self.expect(")")
        if len(items) > 1:
            return Apply("ROW", items, position=position)
        return interval_of(self, items[0]) if at_unit(self) else items[0]

    def at_query(self) -> bool:
        """Return whether a query follows, also in further parentheses."""
        offset = 0
        while self.ahead(offset).text == "(":
            offset += 1
        return self.ahead(offset).upper in ("SELECT", "WITH", "VALUES")

    def _word(self) -> Unresolved:
        word, follower = self.token.upper, self.ahead()
        constants: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None, "UNKNOWN": None}
        if word in constants and follower.text not in ("(", "."):
            self.next()
            return Lit(constants[word])
        if word in _TYPED_LITERALS and follower.kind == "string":
            self.next()
            return time_literal(word, self.string(), self)
        if word == "INTERVAL" and (follower.kind in ("string", "number") or follower.text in ("-", "+", "(")):
            return interval_literal(self)
        if word in _BARE_CALLS and follower.text != "(":
            position = self.position()
            self.next()
            return Apply(word, (), position=position)
        special = self.special_call(word)
        return special if special is not None else self._reference_or_call()

    def _reference_or_call(self) -> Unresolved:
        position = self.position()
        if not self.is_column() and not self.is_function():
            self.fail("<IDENTIFIER>", "<LITERAL>")
        parts = [self.next().text]
        while self.at(".") and (self.ahead().kind in ("word", "quoted") or self.ahead().text == "*"):
            self.next()
            if self.accept("*"):
                return Star(tuple(parts))
            parts.append(self.name())
        if self.at("("):
            return self._call(".".join(parts), position)
        return Ref(tuple(parts), position)

    def _call(self, name: str, position: Position) -> Unresolved:
        self.expect("(")
        distinct = bool(self.accept("DISTINCT")) or (self.accept("ALL") and False)
        operands: tuple[Unresolved, ...] = ()
        order_by: tuple[Ordering, ...] = ()
        nulls = None
        if not distinct and self.accept("*"):
            operands = (Star(),)
        elif not self.at(")"):
            operands = self.comma_list(self.argument)
            nulls = self._nulls()
            if self.at("ORDER", "BY"):
                if name.upper() != "ARRAY_AGG":
                    raise SqlParserException("SQL parse failed. ORDER BY unexpected")
                self.expect("ORDER", "BY")
                order_by = self.comma_list(self.ordering)
        self.expect(")")
        call = Apply(name, operands, bool(distinct), None, order_by, position, True)
        return self.behind_call(call if nulls is None else _with_nulls(call, nulls))

    def argument(self) -> Unresolved:
        """Take an argument: an expression, a query, or `name => expression` as an `Apply` of `=>`."""
        if self.token.kind in ("word", "quoted") and self.ahead().text == "=>":
            name = self.name()
            self.next()
            return Apply("=>", (Lit(name), self.argument()))
        if self.at("TABLE") and self.ahead().kind in ("word", "quoted", "operator"):
            self.next()
            return Apply("TABLE", (Subquery("TABLE", self.table_argument()),))
        if self.accept("DESCRIPTOR"):
            return Apply("DESCRIPTOR", tuple(Lit(name) for name in self.names()))
        return self.expression()

    table_argument: Callable[[], Query]

    def behind_call(self, call: Apply) -> Unresolved:
        """Parse the clauses after a call: IGNORE NULLS, WITHIN GROUP, FILTER and OVER."""
        if nulls := self._nulls():
            call = _with_nulls(call, nulls)
        if self.accept("WITHIN", "GROUP"):
            if str(call.function).upper() not in _ORDERED:
                raise ValidationException(
                    f"SQL validation failed. Aggregate expression '{call.function}' must not contain a WITHIN GROUP "
                    "clause"
                )
            self.expect("(", "ORDER", "BY")
            orderings = self.comma_list(self.ordering)
            self.expect(")")
            call = replace(call, order_by=orderings)
        if self.at("FILTER", "("):
            self.expect("FILTER", "(", "WHERE")
            condition = self.expression()
            self.expect(")")
            call = replace(call, condition=condition)
        if self.accept("OVER"):
            return OverCall(call, self.window_spec() if self.at("(") else WindowSpec(name=self.name()))
        return call

    def _nulls(self) -> str | None:
        """Take IGNORE NULLS or RESPECT NULLS, and return the first word."""
        return next((word for word in ("IGNORE", "RESPECT") if self.accept(word, "NULLS")), None)

    def ordering(self) -> Ordering:
        """Take an item of ORDER BY."""
        expression = self.expression()
        descending = bool(self.accept("DESC")) or (self.accept("ASC") and False)
        nulls_first = None
        if self.accept("NULLS"):
            nulls_first = self.accept_any("FIRST", "LAST") == "FIRST"
        return Ordering(expression, bool(descending), nulls_first)

    def window_spec(self) -> WindowSpec:
        """Take a window in parentheses."""
        self.expect("(")
        name = self.name() if self.is_name() and not self.at("PARTITION") else None
        partition_by = self.comma_list(self.expression) if self.accept("PARTITION", "BY") else ()
        order_by = self.comma_list(self.ordering) if self.accept("ORDER", "BY") else ()
        frame = self.accept_any("ROWS", "RANGE")
        preceding = following = None
        if frame is not None:
            if self.accept("BETWEEN"):
                preceding = self._bound()
                self.expect("AND")
                following = self._bound()
            else:
                preceding, following = self._bound(), ("CURRENT", CURRENT)
        self.expect(")")
        return WindowSpec(partition_by, order_by, frame, preceding, following, name)

    def _bound(self) -> Bound:
        """Take a bound: PRECEDING, FOLLOWING or CURRENT, and by how much."""
        if self.accept("CURRENT", "ROW"):
            return "CURRENT", CURRENT
        amount = UNBOUNDED if self.accept("UNBOUNDED") else self.sum()
        word = self.accept_any("PRECEDING", "FOLLOWING")
        if word is None:
            self.fail("PRECEDING", "FOLLOWING")
        return word, amount


_ORDERED = frozenset({"COLLECT", "JSON_ARRAYAGG"})
"""Functions that take WITHIN GROUP; ARRAY_AGG has its order among its arguments."""

_WITH_NULLS = frozenset({"ARRAY_AGG", "LAG", "LEAD"})
"""Functions that take IGNORE NULLS and RESPECT NULLS."""


def _with_nulls(call: Apply, treatment: str) -> Apply:
    """Return a call that ignores or respects NULLs."""
    if str(call.function).upper() not in _WITH_NULLS:
        raise ValidationException(
            f"SQL validation failed. Cannot specify IGNORE NULLS or RESPECT NULLS following '{call.function}'"
        )
    return replace(call, function=f"{call.function} IGNORE NULLS", order_by=()) if treatment == "IGNORE" else call


def _period(operand: Unresolved) -> tuple[Unresolved, ...]:
    """Return the two ends of a period, `(start, end)` or `(start, length)`."""
    return operand.operands if isinstance(operand, Apply) and operand.function == "ROW" else (operand,)
