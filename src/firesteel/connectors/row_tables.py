"""Tables of any source or sink of a DataStream whose elements are rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_rows import batches_of, row_type_of
from firesteel.functions.connector_base import Sink, Source
from firesteel.functions.operator_builder import with_operator
from firesteel.functions.operator_descriptors import ColumnsToRowsOperator

if TYPE_CHECKING:
    from firesteel.common.types import Row
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink


class SourceTable:
    """A table that reads a `Source` of rows (Flink: `ScanTableSource` with `SourceProvider`).

    Args:
        table: The table.
        source: A source of `Row`s or tuples with the values of all physical columns, in the order of the table.

    Example:
        >>> class Squares(Source):
        ...     def discover_splits(self):
        ...         return [SourceSplit("all", 3)]
        ...     def read_split(self, split_id, start, end):
        ...         return [(n, n * n) for n in range(start, end)]
        >>> def source(table, context):
        ...     Options(table.options, "squares").check(required=(), optional=())
        ...     return SourceTable(table, Squares())
    """

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable, source: Source[object]) -> None:
        self._table = table
        self._source = source

    @property
    def is_bounded(self) -> bool:
        """Whether the source ends."""
        return self._source.is_bounded()

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches.

        Args:
            environment: The environment.
            request: Which columns are read.
            name: Name of the source in plans.
        """
        rows = environment.from_source(self._source, WatermarkStrategy.no_watermarks(), name)
        names = [column.name for column in self._table.physical_columns]
        return batches_of(rows, request.columns, [names.index(column.name) for column in request.columns])


class SinkTable:
    """A table that writes a `Sink` of rows (Flink: `DynamicTableSink` with `SinkV2Provider`).

    Args:
        table: The table.
        sink: A sink of named `Row`s with the values of all physical columns. `Row.get_row_kind()` tells updates and
            deletions.
        kinds: Kinds of rows that the sink takes; the planner refuses a query with others. By default insertions only.

    Example:
        >>> class Lines(SinkWriter):
        ...     def write(self, element, timestamp):
        ...         print(element)
        >>> class LinesSink(Sink):
        ...     def create_writer(self, context):
        ...         return Lines()
        >>> def sink(table, request, context):
        ...     Options(table.options, "lines").check(required=(), optional=())
        ...     return SinkTable(table, LinesSink())
    """

    def __init__(self, table: ResolvedTable, sink: Sink[Row], kinds: frozenset[Kind] = INSERT_ONLY) -> None:
        self._table = table
        self._sink = sink
        self._kinds = kinds

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds that the sink takes.

        Args:
            kinds: Kinds of the query.
        """
        return self._kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches.

        Args:
            stream: The rows of the query.
            name: Name of the sink in plans.
        """
        columns = self._table.physical_columns
        types, names = tuple(column.type for column in columns), tuple(column.name for column in columns)
        rows = with_operator(stream, "ColumnsToRows", ColumnsToRowsOperator(types, names), row_type_of(columns))
        return rows.sink_to(self._sink).name(name)
