"""Unresolved queries, created by SQL and the methods of `Table`. Flink: `QueryOperation`.

Their expressions are those of `firesteel.table.syntax.unresolved`. Columns and types are not known yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.column_types import RowType
from firesteel.table.syntax.unresolved import Alias, Unresolved

if TYPE_CHECKING:
    from firesteel.columns.kernels.match.match_pattern import Pattern
    from firesteel.table.planner.rel.rel import Rel

from firesteel.table.syntax.unresolved import Ordering, Position, WindowSpec


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint of a SELECT or of a table, such as `BROADCAST(t)` or `STATE_TTL('t' = '1d')`.

    Attributes:
        name: As it was written.
        items: The options that are a list of names or literals.
        pairs: The options that are keys with values.
    """

    name: str
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table, view or CTE by name.

    Attributes:
        hints: The hints after the name; OPTIONS changes the options of the table.
        as_of: The expression of `FOR SYSTEM_TIME AS OF`, or None.
    """

    path: tuple[str, ...]
    hints: tuple[Hint, ...] = ()
    as_of: Unresolved | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A query that is resolved already (the relational node of a `Table`)."""

    node: Rel


@dataclass(frozen=True, slots=True)
class ValuesQuery:
    """`VALUES (1, 'a'), (2, 'b')`: rows of expressions; `row_type` if it is declared (`from_elements`)."""

    rows: tuple[tuple[Unresolved, ...], ...]
    row_type: RowType | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """`query AS name(columns)`."""

    query: Query
    name: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFunctionCall:
    """A `LATERAL TABLE(f(x))` or `UNNEST(xs)`, which may refer to columns of items on its left.

    Attributes:
        call: An `Apply`; others are refused when they are resolved.
        with_ordinality: `UNNEST(...) WITH ORDINALITY`.
    """

    call: Unresolved
    with_ordinality: bool = False


@dataclass(frozen=True, slots=True)
class Lateral:
    """A `LATERAL (SELECT ...)`, which may refer to columns of items on its left."""

    query: Query


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A window table-valued function: the rows of a query with window_start, window_end and window_time.

    Attributes:
        function: TUMBLE, HOP, CUMULATE or SESSION.
        time_column: The name in DESCRIPTOR(...).
        arguments: Interval expressions: size; slide and size; step and size; gap. `offset` is apart.
        partition_by: Columns of a session window's PARTITION BY.
    """

    function: str
    query: Query
    time_column: str
    arguments: tuple[Unresolved, ...]
    offset: Unresolved | None = None
    partition_by: tuple[str, ...] = ()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """A join of two queries.

    Attributes:
        kind: INNER, LEFT, RIGHT, FULL, CROSS, SEMI or ANTI.
        condition: The condition of ON, or None.
        using: Columns of USING.
        natural: NATURAL JOIN.
    """

    left: Query
    right: Query
    kind: str
    condition: Unresolved | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """`GROUPING SETS`, `CUBE` and `ROLLUP`: a tuple of sets of expressions."""

    sets: tuple[tuple[Unresolved, ...], ...]


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT.

    Attributes:
        source: The source; None without FROM.
        items: Expressions, `Alias` or `Star`.
        group_by: Expressions or `GroupingSets`; None: there is no GROUP BY, `()`: one group (`GROUP BY ()`).
        windows: `WINDOW w AS (...)` by name.
        unnamed: The prefix of the names of unnamed columns; the Table API uses `_c`.
        hints: The hints after SELECT.
        qualify: The condition over window functions, which may use the aliases of items.
        distinct_groups: Whether equal grouping sets count once (`GROUP BY DISTINCT`).
    """

    source: Query | None
    items: tuple[Unresolved, ...]
    where: Unresolved | None = None
    group_by: tuple[Unresolved | GroupingSets, ...] | None = None
    having: Unresolved | None = None
    distinct: bool = False
    windows: tuple[tuple[str, WindowSpec], ...] = ()
    unnamed: str = "EXPR$"
    hints: tuple[Hint, ...] = ()
    qualify: Unresolved | None = None
    distinct_groups: bool = False


@dataclass(frozen=True, slots=True)
class FlatAggregate:
    """`flat_aggregate` of the Table API: the keys of groups, and the columns of a table aggregate function over them.

    Attributes:
        call: The call, whose alias may name the columns.
        properties: Properties of the window, each with an alias, which are the last columns.
    """

    source: Query
    group_by: tuple[Unresolved, ...]
    call: Unresolved
    properties: tuple[Alias, ...]


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT, with or without ALL."""

    kind: str
    all: bool
    left: Query
    right: Query


@dataclass(frozen=True, slots=True)
class OrderBy:
    """The rows of a query in an order."""

    query: Query
    orderings: tuple[Ordering, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """`OFFSET offset ROWS FETCH NEXT fetch ROWS ONLY`; None: all."""

    query: Query
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True, slots=True)
class With:
    """Common table expressions in the order of their definition: name, column names, query."""

    tables: tuple[tuple[str, tuple[str, ...], Query], ...]
    query: Query


@dataclass(frozen=True, slots=True)
class MatchRecognize:
    """MATCH_RECOGNIZE.

    Attributes:
        pattern: Nested tuples: `("var", name)`, `("concat", parts)`, `("or", parts)`, `("repeat", part, low, high or
            None, greedy)`, `("permute", parts)`, `("exclude", part)`.
        after: SKIP TO NEXT ROW, SKIP PAST LAST ROW, SKIP TO FIRST x, SKIP TO LAST x.
        all_rows: ALL ROWS PER MATCH.
        within: An interval expression.
        subsets: Name and variables.
    """

    query: Query
    partition_by: tuple[Unresolved, ...]
    order_by: tuple[Ordering, ...]
    measures: tuple[Alias, ...]
    pattern: Pattern
    define: tuple[tuple[str, Unresolved], ...]
    after: tuple[str, ...] = ("PAST LAST ROW",)
    all_rows: bool = False
    within: Unresolved | None = None
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()


Query = (
    TableRef
    | Resolved
    | ValuesQuery
    | Named
    | TableFunctionCall
    | Lateral
    | WindowTable
    | Join
    | Select
    | FlatAggregate
    | SetOperation
    | OrderBy
    | Limit
    | With
    | MatchRecognize
)
"""A query, or an item of FROM: one of those defined above."""
