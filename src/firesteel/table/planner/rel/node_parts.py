"""What nodes consist of beside expressions: aggregate calls, windows, orders and frames. See `rel.py`."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Rex, UserFunction


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


@dataclass(frozen=True, slots=True)
class Collation:
    """A column to sort by."""

    index: int
    descending: bool
    nulls_first: bool


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


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of MATCH_RECOGNIZE: an expression over pattern variables; see `firesteel.columns.match`."""

    name: str
    expression: Rex
    type: DataType


Part = AggregateCall | Window | Collation | Frame | OverGroup | Measure
"""A part of nodes: one of those defined above."""
