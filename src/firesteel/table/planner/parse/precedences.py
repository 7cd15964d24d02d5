"""How closely the operators of SQL bind. Calcite: `SqlStdOperatorTable`.

The numbers are those of the operators in Flink 2.3's planner. An operator takes the operand on its left from one before
it if its left number is at least the right number of that one: `a - b - c` is `(a - b) - c` as 40 is less than 41, and
`a LIKE b LIKE c` is `a LIKE (b LIKE c)` as 33 is more than 32.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OPERATORS", "PREFIXES", "Precedence"]


class Precedence(NamedTuple):
    """How closely an operator binds to its operands on the left and on the right."""

    left: int
    right: int


_COMPARISON, _RANGE, _PATTERN = Precedence(30, 31), Precedence(32, 33), Precedence(33, 32)
_SUM, _PRODUCT = Precedence(40, 41), Precedence(60, 61)

OPERATORS = {
    "OR": Precedence(22, 23),
    "AND": Precedence(24, 25),
    "IS": Precedence(28, 29),
    **dict.fromkeys(("=", "<>", "!=", "<=", ">=", "<", ">", "IS DISTINCT FROM", "OVERLAPS"), _COMPARISON),
    **dict.fromkeys(("IN", "BETWEEN", "QUANTIFIED"), _RANGE),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR"), _PATTERN),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%", "||"), _PRODUCT),
}
"""Operators that follow an operand; a quantified one is a comparison with ANY, SOME or ALL."""

PREFIXES = {"NOT": 27, "+": 81, "-": 81}
"""How closely operators before an operand bind to it."""
