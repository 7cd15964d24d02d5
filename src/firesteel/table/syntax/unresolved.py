"""Unresolved expressions, created by SQL and the Table API.

The planner resolves them against the columns of tables and the functions of catalogs (Flink: `UnresolvedExpression`s
and Calcite's `SqlNode`s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Position:
    """The position of an element in a statement: line and column, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Ref:
    """A column, a field of a column, or a qualified column: `("o", "address", "city")`."""

    path: tuple[str, ...]
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Lit:
    """A constant; `type` is a logical type, or None if it follows from the value."""

    value: Any
    type: Any = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A call of a function or operator.

    Attributes:
        function: Its name (`+`, `UPPER`, `my_function`, `cat.db.f`), or the user's function object (Table API).
        operands: Its operands. `CAST` and `TRY_CAST` have the type as second operand (`TypeName`).
        distinct: `COUNT(DISTINCT x)`.
        condition: The condition of `FILTER (WHERE ...)`.
        order_by: The items of `WITHIN GROUP (ORDER BY ...)` or of the call's own ORDER BY.
        named: Whether the program wrote the name, which may be that of a function of its own. Operators, syntax and
            methods of expressions always mean the built-in function.
    """

    function: Any
    operands: tuple[Any, ...]
    distinct: bool = False
    condition: Any = None
    order_by: tuple[Any, ...] = ()
    position: Position | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as an operand."""

    type: Any


@dataclass(frozen=True, slots=True)
class Alias:
    """`expression AS name`; a table function's result has several names."""

    expression: Any
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `t.*`; with `start` and `stop` the columns of a range (Table API: `with_columns(range_(2, 3))`)."""

    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ordering:
    """One item of ORDER BY. As in Flink, nulls are the smallest values: first if ascending, last if descending."""

    expression: Any
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """The window after OVER.

    Attributes:
        frame: `ROWS` or `RANGE`; None for the function's default.
        preceding: Rows, an interval expression, `UNBOUNDED` or `CURRENT`; likewise `following`.
        name: The name of the window that this one refers to.
    """

    partition_by: tuple[Any, ...] = ()
    order_by: tuple[Ordering, ...] = ()
    frame: str | None = None
    preceding: Any = None
    following: Any = None
    name: str | None = None


UNBOUNDED = "UNBOUNDED"
CURRENT = "CURRENT"


@dataclass(frozen=True, slots=True)
class OverCall:
    """`call OVER window`; `window` is a `WindowSpec` or the alias of one (Table API)."""

    call: Apply
    window: Any


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query within an expression: SCALAR, EXISTS or IN (`operand` is then the value to find)."""

    kind: str
    query: Any
    operand: Any = None
