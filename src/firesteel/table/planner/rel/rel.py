"""Typed relational algebra: queries after all names have been resolved. Calcite: `RelNode`.

Each node has `row_type` (a `RowType`: names and types of its columns) and `inputs`. Expressions are those of
`firesteel.columns.rex`. They refer to the columns of the input, or of both inputs of a join, left columns first.
"""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.column_types import RowType
from firesteel.columns.kernels.match.match_pattern import Pattern
from firesteel.columns.rex import Rex, UserFunction
from firesteel.table.planner.rel.join_nodes import (
    IntervalJoin,
    Join,
    LookupJoin,
    OfJoin,
    SetOperation,
    TemporalJoin,
    TwoInputs,
    WindowJoin,
)
from firesteel.table.planner.rel.node_parts import AggregateCall, Collation, Frame, Measure, OverGroup, Part, Window
from firesteel.table.planner.rel.source_nodes import StreamScan, TableScan, Values

__all__ = [
    "Aggregate",
    "AggregateCall",
    "AssignWatermark",
    "Collation",
    "Correlate",
    "Expand",
    "Filter",
    "Frame",
    "Grouped",
    "IntervalJoin",
    "Join",
    "LookupJoin",
    "Match",
    "Measure",
    "OfJoin",
    "OneInput",
    "Over",
    "OverGroup",
    "Part",
    "Project",
    "Rank",
    "Rel",
    "SetOperation",
    "Sort",
    "StreamScan",
    "TableScan",
    "TemporalJoin",
    "TwoInputs",
    "Union",
    "Values",
    "Window",
    "WindowAggregate",
    "WindowJoin",
    "WindowTableFunction",
]


class OneInput:
    """Base of nodes with one input."""

    __slots__ = ()
    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return the input."""
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class AssignWatermark(OneInput):
    """Watermarks computed by an expression over the row; `column` becomes a rowtime attribute."""

    input: Rel
    column: int
    expression: Rex
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class Project(OneInput):
    """Expressions over the columns of the input."""

    input: Rel
    expressions: tuple[Rex, ...]
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class Filter(OneInput):
    """The rows for which a condition is TRUE."""

    input: Rel
    condition: Rex

    @property
    def row_type(self) -> RowType:
        """Return the columns of the input."""
        return self.input.row_type


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate(OneInput):
    """An aggregation by columns; its result has the keys, then a column per call.

    Attributes:
        flat: Whether the only call is a table aggregate function with several rows per group.
        state_ttl: The time to live of the state, as the hint STATE_TTL gives it; None for that of the job.
    """

    input: Rel
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    row_type: RowType
    flat: bool = False
    state_ttl: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WindowTableFunction(OneInput):
    """The columns of the input, window_start, window_end and window_time; one row per window of each input row."""

    input: Rel
    window: Window
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class WindowAggregate(OneInput):
    """An aggregation by keys and window, with one row per group when the window ends.

    The columns are the keys, a column per call, then the window properties (`start`, `end`, `rowtime`, `proctime`).

    Attributes:
        window: The assignment of rows to windows; None if the input already has window columns.
        window_columns: In that case the indexes of start, end and time in the input (None for missing ones).
        flat: Whether the only call is a table aggregate function, with several rows per group and several columns.
    """

    input: Rel
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: Window | None
    properties: tuple[str, ...]
    row_type: RowType
    window_columns: tuple[int | None, int | None, int | None] | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Correlate(OneInput):
    """A join of each row with the results of a table function; `outer` keeps rows without results.

    Attributes:
        function: The user's table function, or `UNNEST`; in resolved plans also `LATERAL` of a subquery's rows.
    """

    input: Rel
    function: str | UserFunction
    operands: tuple[Rex, ...]
    outer: bool
    row_type: RowType
    function_type: RowType
    condition: Rex | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The rows of all inputs (UNION ALL)."""

    inputs: tuple[Rel, ...]
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class Sort(OneInput):
    """Sorted rows: `fetch` of them (None for all) after skipping `offset`."""

    input: Rel
    collations: tuple[Collation, ...]
    offset: int = 0
    fetch: int | None = None

    @property
    def row_type(self) -> RowType:
        """Return the columns of the input."""
        return self.input.row_type


@dataclass(frozen=True, slots=True, eq=False)
class Over(OneInput):
    """The columns of the input, followed by a column per call of each group."""

    input: Rel
    groups: tuple[OverGroup, ...]
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class Rank(OneInput):
    """The rows of each partition with a rank from `start` to `end` (Top-N), or the first one (`end` 1).

    Attributes:
        function: ROW_NUMBER, RANK or DENSE_RANK.
        outputs_rank: Whether the rank is an additional last column.
        window: Indexes of window start and end, for a window Top-N.
        is_narrowed: Whether columns or fields that nothing reads were left out, which former releases kept; None before
            that was decided. The plans of COMPILE PLAN keep what they have.
    """

    input: Rel
    function: str
    partition: tuple[int, ...]
    order: tuple[Collation, ...]
    start: int
    end: int
    outputs_rank: bool
    row_type: RowType
    window: tuple[int, int] | None = None
    is_narrowed: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Expand(OneInput):
    """One row per grouping set, with NULL in columns outside the set, and the number of the set as last column.

    Attributes:
        sets: For each set, the indexes of its columns.
        columns: The columns that occur in grouping sets.
        ids: For each set, its `GROUPING_ID` over `columns`, with its `GROUP_ID` in the bits above.
    """

    input: Rel
    columns: tuple[int, ...]
    sets: tuple[frozenset[int], ...]
    ids: tuple[int, ...]
    row_type: RowType


@dataclass(frozen=True, slots=True, eq=False)
class Match(OneInput):
    """MATCH_RECOGNIZE over the time-ordered rows of each partition.

    Expressions of `define` and `measures` may contain the calls `FIRST`, `LAST`, `MATCH_ROWTIME`,
    aggregates and references by variable (`MATCH_REF`), which are computed per match.

    Attributes:
        define: The condition of each variable.
        measures: The columns of a match.
        within: Maximum duration in ms, or None.
    """

    input: Rel
    partition: tuple[int, ...]
    order: tuple[Collation, ...]
    pattern: Pattern
    define: tuple[tuple[str, Rex], ...]
    measures: tuple[Measure, ...]
    after: tuple[str, ...]
    within: int | None
    row_type: RowType
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    all_rows: bool = False


Grouped = Aggregate | WindowAggregate
"""The nodes of GROUP BY."""

Rel = (
    TableScan
    | StreamScan
    | Values
    | AssignWatermark
    | Project
    | Filter
    | Aggregate
    | WindowTableFunction
    | WindowAggregate
    | Join
    | IntervalJoin
    | TemporalJoin
    | LookupJoin
    | WindowJoin
    | Correlate
    | Union
    | SetOperation
    | Sort
    | Over
    | Rank
    | Expand
    | Match
)
"""A relational node: one of those defined above."""
