"""Unresolved expressions, created by SQL and the Table API.

The planner resolves them against the columns of tables and the functions of catalogs (Flink: `UnresolvedExpression`s
and Calcite's `SqlNode`s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Rex, UserFunction

if TYPE_CHECKING:
    from firesteel.table.syntax.queries import Query


@dataclass(frozen=True, slots=True)
class Position:
    """The position of an element in a statement: line and column, both counted from 1."""

    line: int
    column: int


def where(position: Position | None, text: str = "") -> str:
    """Return how Flink names a place in a statement, empty where it is not known."""
    if position is None:
        return ""
    if len(text) > 1:
        end = position.column + len(text) - 1
        return f"From line {position.line}, column {position.column} to line {position.line}, column {end}: "
    return f"At line {position.line}, column {position.column}: "


@dataclass(frozen=True, slots=True)
class Ref:
    """A column, a field of a column, or a qualified column: `("o", "address", "city")`."""

    path: tuple[str, ...]
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Lit:
    """A constant; `type` is a logical type, or None if it follows from the value."""

    value: object
    type: DataType | None = None


def constant(expression: Unresolved) -> object:
    """Return the value of a constant."""
    assert isinstance(expression, Lit)
    return expression.value


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

    function: str | UserFunction
    operands: tuple[Unresolved, ...]
    distinct: bool = False
    condition: Unresolved | None = None
    order_by: tuple[Ordering, ...] = ()
    position: Position | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as an operand."""

    type: DataType


def named_type(expression: Unresolved) -> DataType:
    """Return the type that an operand is."""
    assert isinstance(expression, TypeName)
    return expression.type


@dataclass(frozen=True, slots=True)
class Alias:
    """`expression AS name`; a table function's result has several names."""

    expression: Unresolved
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `t.*`; with `start` and `stop` the columns of a range (Table API: `with_columns(range_(2, 3))`)."""

    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ordering:
    """One item of ORDER BY. As in Flink, nulls are the smallest values: first if ascending, last if descending."""

    expression: Unresolved
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """The window after OVER.

    Attributes:
        frame: `ROWS` or `RANGE`; None for the function's default.
        preceding: Rows, an interval expression, `UNBOUNDED` or `CURRENT`; likewise `following`.
        name: The name of the window that this one refers to.
        by_time: Whether only a time attribute may order it, as in windows of the Table API.
    """

    partition_by: tuple[Unresolved, ...] = ()
    order_by: tuple[Ordering, ...] = ()
    frame: str | None = None
    preceding: Bound | None = None
    following: Bound | None = None
    name: str | None = None
    by_time: bool = False


UNBOUNDED = "UNBOUNDED"
CURRENT = "CURRENT"


@dataclass(frozen=True, slots=True)
class OverCall:
    """`call OVER window`; `window` is a `WindowSpec` or the alias of one (Table API)."""

    call: Apply
    window: WindowSpec | str


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query within an expression: SCALAR, EXISTS or IN (`operand` is then the value to find)."""

    kind: str
    query: Query
    operand: Unresolved | None = None


Unresolved = Ref | Lit | Apply | TypeName | Alias | Star | Ordering | OverCall | Subquery | Rex
"""An expression: one of those defined above, or one that is resolved already."""

Bound = tuple[str, Unresolved | int | str]
"""A bound of a window frame: PRECEDING, FOLLOWING or CURRENT, and by how much."""
