"""The connector `python`: any source or sink of DataStreams, by the name of a function that makes it.

Flink has no such connector; there, programs write a `DynamicTableFactory` in Java.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.connectors.table_rows import batches_of, row_type_of
from firesteel.functions.connector_base import Sink, Source
from firesteel.functions.operator_builder import with_operator
from firesteel.functions.operator_descriptors import ColumnsToRowsOperator

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink


def source(table: ResolvedTable, context: ConnectorContext) -> PythonSource:
    """Return the table of a user-defined source."""
    return PythonSource(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> PythonSink:
    """Return the table of a user-defined sink."""
    return PythonSink(table)


def _made(table: ResolvedTable, option: str, kind: type) -> Any:
    options = Options(table.options, "python")
    options.check((option,), ("source", "sink"), ("options.",))
    module, _, attribute = options.text(option).partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)(options.below("options.", "python").values)
    except (ImportError, AttributeError, ValueError) as error:
        raise options.invalid(option, f"module:function ({error})") from error
    if not isinstance(made, kind):
        raise ValidationException(f"'{options.text(option)}' must return a {kind.__name__}, found {made!r}")
    return made


class PythonSource:
    """Rows of a `Source` that `module:function` makes of the options below `options.`; tuples or `Row`s."""

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._source = _made(table, "source", Source)

    @property
    def is_bounded(self) -> bool:
        """Whether the source ends."""
        return bool(self._source.is_bounded())

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        rows = environment.from_source(self._source, WatermarkStrategy.no_watermarks(), name)
        names = [column.name for column in self._table.physical_columns]
        return batches_of(rows, request.columns, [names.index(column.name) for column in request.columns])


class PythonSink:
    """A `Sink` that `module:function` makes of the options below `options.`; it gets `Row`s."""

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._sink = _made(table, "sink", Sink)

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return all kinds: rows say theirs."""
        return kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        columns = self._table.physical_columns
        types, names = tuple(column.type for column in columns), tuple(column.name for column in columns)
        rows = with_operator(stream, "ColumnsToRows", ColumnsToRowsOperator(types, names), row_type_of(columns))
        return rows.sink_to(self._sink).name(name)
