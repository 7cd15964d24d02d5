"""The nodes without inputs: tables, streams of a program, constant rows. See `rel.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType, RowType
from firesteel.columns.rex import Rex
from firesteel.connectors.table_connector import ResolvedTable, ScanSource

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.table.planner.rel.rel import Rel


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
