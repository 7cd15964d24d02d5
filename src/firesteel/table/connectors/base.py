"""What a connector is to the planner: a source or sink of column batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.columns.batch import Kind

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
    type: Any
    kind: str = "PHYSICAL"
    expression: Any = None
    text: str = ""
    metadata_key: str | None = None
    is_virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """The rowtime column of a table and how its watermarks are made: an unresolved expression and its text."""

    column: str
    expression: Any
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


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What the planner wants to read.

    Attributes:
        columns: The physical columns to read, in this order (projection push-down).
        metadata: Key and type of the metadata columns to append, in this order.
        partitions: Which partitions are left by the filter: a predicate over a dict of partition values, None: all.
    """

    columns: tuple[Column, ...]
    metadata: tuple[tuple[str, Any], ...] = ()
    partitions: Any = None
    limit: int | None = None


class ScanSource(Protocol):
    """A table that can be read. Flink: `ScanTableSource`.

    Attributes:
        kinds: What kinds of rows it gives.
        is_bounded: Whether it ends.
    """

    kinds: frozenset[Kind]
    is_bounded: bool

    def stream(self, environment: Any, request: ScanRequest, name: str) -> Any:
        """Return the DataStream of `ColumnBatch` elements with the columns asked for."""


class TableSink(Protocol):
    """A table that can be written. Flink: `DynamicTableSink`."""

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return what it takes of a query that gives these kinds; the planner refuses what is missing."""

    def consume(self, stream: Any, name: str) -> Any:
        """Write a DataStream of `ColumnBatch` elements with all persisted columns; returns the DataStreamSink."""


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """What the planner wants to write.

    Attributes:
        overwrite: INSERT OVERWRITE.
        static_partition: Values of PARTITION (...), which are columns of the stream all the same.
        is_bounded: Whether the query ends.
    """

    overwrite: bool = False
    static_partition: Mapping[str, Any] = field(default_factory=dict)
    is_bounded: bool = False
