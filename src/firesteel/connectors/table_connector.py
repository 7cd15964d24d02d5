"""The interface of connectors to the planner: sources and sinks of column batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Rex
from firesteel.common.watermark_strategy import WatermarkStrategy

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink
    from firesteel.table.syntax.unresolved import Unresolved

Batches: TypeAlias = "DataStream[ColumnBatch]"
"""A stream of column batches."""

INSERT_ONLY = frozenset({Kind.INSERT})
UPSERT = frozenset({Kind.INSERT, Kind.UPDATE_AFTER, Kind.DELETE})
ALL_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table with its resolved type.

    Attributes:
        kind: PHYSICAL, COMPUTED or METADATA.
        expression: Of a computed column: the unresolved expression; `text` is Flink's serializable form.
        metadata_key: Of a metadata column: the connector's key; `is_virtual`: sinks do not write it.
    """

    name: str
    type: DataType
    kind: str = "PHYSICAL"
    expression: Unresolved | None = None
    text: str = ""
    metadata_key: str | None = None
    is_virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """The rowtime column of a table and its watermark strategy: an unresolved expression and its text."""

    column: str
    expression: Unresolved
    text: str


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """A table of a catalog with resolved columns. Flink: `ResolvedCatalogTable`.

    Attributes:
        path: Catalog, database and table.
    """

    path: tuple[str, ...]
    columns: tuple[Column, ...]
    options: Mapping[str, str]
    watermark: Watermark | None = None
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    distribution: Any = None

    @property
    def physical_columns(self) -> tuple[Column, ...]:
        """The columns that the connector itself stores."""
        return tuple(column for column in self.columns if column.kind == "PHYSICAL")

    @property
    def persisted_columns(self) -> tuple[Column, ...]:
        """The columns that a sink gets: physical ones, and metadata that is not virtual."""
        return tuple(column for column in self.columns if column.kind != "COMPUTED" and not column.is_virtual)


class PartitionPredicate(Protocol):
    """A condition over the values of partition columns.

    Attributes:
        keys: Names and types of the partition columns.
    """

    @property
    def keys(self) -> tuple[tuple[str, DataType], ...]:
        """Names and types of the partition columns."""

    def __call__(self, values: dict[str, object]) -> bool:
        """Return whether the partition with these values can have rows of the result."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The planner's request to read a table.

    Attributes:
        columns: The physical columns to read, in this order (projection push-down). A row may have fewer fields than
            in the table, if the source `reads_fields`.
        metadata: Key and type of the metadata columns to append, in this order.
        partitions: The partitions that pass the filter: a predicate over a dict of partition values; None for all.
        condition: A condition over the physical columns of the table; rows for which it is not TRUE may be left out.
            None for all rows.
        watermarks: The watermark strategy of each split, if the source `has_watermarks_per_split`; None for none.
    """

    columns: tuple[Column, ...]
    metadata: tuple[tuple[str, DataType], ...] = ()
    partitions: PartitionPredicate | None = None
    condition: Rex | None = None
    limit: int | None = None
    watermarks: WatermarkStrategy | None = None


class ScanSource(Protocol):
    """A table that can be read. Flink: `ScanTableSource`.

    Attributes:
        kinds: The kinds of rows that it emits.
        is_bounded: Whether it is bounded.

    A source with an attribute `metadata` has these metadata columns: their types by key. One with an attribute
    `reads_fields` that is true accepts requests for rows with some of their fields. One with
    `has_watermarks_per_split` generates watermarks per split; they are not assigned to its rows behind it.
    """

    kinds: frozenset[Kind]
    is_bounded: bool

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the DataStream of `ColumnBatch` elements with the requested columns."""


@runtime_checkable
class FilteringSource(Protocol):
    """A source that need not read all rows. Flink: `SupportsFilterPushDown`."""

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether the source reads less if only rows are needed for which a condition is TRUE."""


@runtime_checkable
class StatisticsSource(Protocol):
    """A source that knows how many rows it has. Flink: `SupportsStatisticReport`."""

    def row_count(self) -> float | None:
        """Return the number of rows, by a guess if need be; None if it is unknown."""


class Lookup(Protocol):
    """Finds the rows of keys. It is picklable."""

    def __call__(self, keys: Sequence[Sequence[Cell]]) -> Sequence[Sequence[Sequence[Cell]]]:
        """Return the rows of each key."""

    def open(self) -> None:
        """Connect; called once per subtask."""

    def close(self) -> None:
        """Release the connection."""


@runtime_checkable
class LookupSource(Protocol):
    """A table whose rows are looked up by key. Flink: `LookupTableSource`."""

    def lookup(self, keys: list[str]) -> Lookup:
        """Return what finds the rows for values of these columns."""


class Ability(Enum):
    """What a sink can do beside writing rows.

    Attributes:
        OVERWRITE: It replaces what is there (INSERT OVERWRITE). Flink: `SupportsOverwrite`.
        PARTITIONING: It takes rows of PARTITIONED BY. Flink: `SupportsPartitioning`.
        DISCARDS: It keeps no rows, so it does not ask for the row before an update.
    """

    OVERWRITE = "overwrite"
    PARTITIONING = "partitioning"
    DISCARDS = "discards"


class TableSink(Protocol):
    """A table that can be written. Flink: `DynamicTableSink`.

    A sink with an attribute `abilities` has these, another one none; one with an attribute `metadata` writes these
    metadata columns: their types by key.
    """

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds that it accepts of a query with these kinds; the planner rejects missing ones."""

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write a DataStream of `ColumnBatch` elements with all persisted columns; return the DataStreamSink."""


def abilities_of(sink: TableSink) -> frozenset[Ability]:
    """Return what a sink can do beside writing rows."""
    return getattr(sink, "abilities", frozenset[Ability]())


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """The planner's request to write a table.

    Attributes:
        overwrite: Whether it is an INSERT OVERWRITE.
        static_partition: The values of PARTITION (...), which are also columns of the stream.
        is_bounded: Whether the query is bounded.
        deduplicates: Whether it has ON CONFLICT DO DEDUPLICATE.
    """

    overwrite: bool = False
    static_partition: Mapping[str, Cell] = field(default_factory=dict)
    is_bounded: bool = False
    deduplicates: bool = False
