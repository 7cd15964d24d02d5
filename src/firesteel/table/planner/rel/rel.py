"""Typed relational algebra: queries after all names have been resolved. Calcite: `RelNode`.

Each node has `row_type` (a `RowType`: names and types of its columns) and `inputs`. Expressions are those of
`firesteel.columns.rex`. They refer to the columns of the input, or of both inputs of a join, left columns first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType, RowType
from firesteel.columns.kernels.match_pattern import Pattern
from firesteel.columns.rex import Rex, UserFunction
from firesteel.connectors.table_connector import Lookup, ResolvedTable, ScanSource

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class OneInput:
    """Base of nodes with one input."""

    __slots__ = ()
    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return the input."""
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class TableScan:
    """A scan of a connector table. `columns` are indexes of its physical columns, `metadata` are keys with types.

    Attributes:
        partitions: A condition on the partition columns, in the order of the table's keys; None for all partitions.
        condition: A condition over the physical columns of the table, for whose rows alone the source is asked.
        watermark: The watermark of a row, from which each split of the source generates watermarks; None for none.
    """

    table: ResolvedTable
    source: ScanSource
    row_type: RowType
    columns: tuple[int, ...]
    metadata: tuple[tuple[str, DataType], ...] = ()
    partitions: Rex | None = None
    condition: Rex | None = None
    watermark: Rex | None = None
    inputs: tuple[Rel, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StreamScan:
    """A stream of column batches from a program (`from_data_stream`, `from_elements`, `from_pandas`).

    Attributes:
        make: Creates the DataStream of column batches in a StreamExecutionEnvironment.
        kinds: The kinds of rows that it emits.
    """

    make: Callable[[StreamExecutionEnvironment], DataStream[ColumnBatch]]
    row_type: RowType
    kinds: frozenset[Kind]
    is_bounded: bool
    name: str
    primary_key: tuple[str, ...] = ()
    inputs: tuple[Rel, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Constant rows of Python values."""

    rows: tuple[tuple[object, ...], ...]
    row_type: RowType
    inputs: tuple[Rel, ...] = ()


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


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate function over columns of the input.

    Attributes:
        function: Its name in SQL, or the user-defined function.
        arguments: Indexes of columns.
        condition: Index of the boolean column of FILTER; None for all rows.
        order_by: `(index, descending, nulls_first)` of the call's own ORDER BY.
    """

    function: str | UserFunction
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    condition: int | None = None
    order_by: tuple[tuple[int, bool, bool], ...] = ()
    name: str = ""


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


@dataclass(frozen=True, slots=True)
class Window:
    """The assignment of rows to time windows: TUMBLE, HOP, CUMULATE or SESSION; all lengths in ms.

    Attributes:
        time: Index of the time attribute.
        size: The size; for a session window its gap.
        step: Slide of HOP, step of CUMULATE.
        is_rowtime: Whether it uses event time; otherwise processing time.
        rows: Whether lengths are numbers of rows (TUMBLE and HOP of the Table API).
        partition: The PARTITION BY columns of a session window table function.
    """

    kind: str
    time: int
    size: int
    step: int = 0
    offset: int = 0
    is_rowtime: bool = True
    rows: bool = False
    partition: tuple[int, ...] = ()


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
class Join:
    """A join of two inputs. `kind` is INNER, LEFT, RIGHT, FULL, SEMI or ANTI.

    Attributes:
        left_keys: Columns that must equal `right_keys` (indexes within each input).
        condition: The remaining condition over the columns of both inputs, or None.
        null_aware: Whether it implements NOT IN: a NULL key on the right makes the result empty.
        state_ttl: The time to live of each input's state, as the hint STATE_TTL gives it; None for that of the job.
        keeps_times: Whether time attributes remain such in its columns, since its condition bounds the rows by time or
            window. Only resolved plans have such joins: the rule `join_kinds` makes interval and window joins of them.
    """

    left: Rel
    right: Rel
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Rex | None
    row_type: RowType
    null_aware: bool = False
    state_ttl: tuple[str | None, str | None] = (None, None)
    keeps_times: bool = False

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalJoin:
    """A join on bounded time differences: `low <= left - right <= high` (ms)."""

    join: Join
    left_time: int
    right_time: int
    low: int
    high: int
    is_rowtime: bool

    @property
    def row_type(self) -> RowType:
        """Return the columns of both inputs."""
        return self.join.row_type

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return self.join.inputs


@dataclass(frozen=True, slots=True, eq=False)
class TemporalJoin:
    """A join of each left row with the version of the right input that was valid at its time: FOR SYSTEM_TIME AS OF.

    Attributes:
        left_time: Index of the time attribute of the left input.
        right_time: Index of the rowtime of the right input; None if it has none, which does not run.
    """

    join: Join
    left_time: int
    right_time: int | None

    @property
    def row_type(self) -> RowType:
        """Return the columns of both inputs."""
        return self.join.row_type

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return self.join.inputs


@dataclass(frozen=True, slots=True, eq=False)
class LookupJoin:
    """A join of each left row with the rows that a connector finds for its keys."""

    left: Rel
    table: ResolvedTable
    lookup: Lookup
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Rex | None
    row_type: RowType

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return the left input."""
        return (self.left,)


@dataclass(frozen=True, slots=True, eq=False)
class WindowJoin:
    """A join of rows in the same window; `left_window` and `right_window` are the indexes of start and end."""

    join: Join
    left_window: tuple[int, int]
    right_window: tuple[int, int]

    @property
    def row_type(self) -> RowType:
        """Return the columns of both inputs."""
        return self.join.row_type

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return self.join.inputs


@dataclass(frozen=True, slots=True, eq=False)
class Correlate(OneInput):
    """A join of each row with the results of a table function; `outer` keeps rows without results.

    Attributes:
        function: The user's table function, or `UNNEST`.
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
class SetOperation:
    """INTERSECT or EXCEPT, with or without ALL, over all columns."""

    left: Rel
    right: Rel
    kind: str
    all: bool
    row_type: RowType

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Return both inputs."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Collation:
    """A column to sort by."""

    index: int
    descending: bool
    nulls_first: bool


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


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of an OVER aggregate. Bounds are in rows or ms, negative before the current row; None is unbounded."""

    is_rows: bool
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class OverGroup:
    """Calls over the same window: partition, order and frame."""

    partition: tuple[int, ...]
    order: tuple[Collation, ...]
    frame: Frame
    calls: tuple[AggregateCall, ...]


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
        window: Indexes of window start and end in `partition`, for a window Top-N.
        end_column: Index of the column with the last rank, instead of `end`.
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


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of MATCH_RECOGNIZE: an expression over pattern variables; see `firesteel.columns.match`."""

    name: str
    expression: Rex
    type: DataType


@dataclass(frozen=True, slots=True, eq=False)
class Match(OneInput):
    """MATCH_RECOGNIZE over the time-ordered rows of each partition.

    Expressions of `define` and `measures` may contain the calls `PREV`, `NEXT`, `FIRST`, `LAST`, `MATCH_ROWTIME`,
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
