"""The options `scan.parallelism` and `sink.parallelism`. Flink: `ParallelismProvider`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import TableException
from firesteel.connectors.table_connector import INSERT_ONLY, Batches, ResolvedTable, TableSink
from firesteel.connectors.table_options import parallelism_option
from firesteel.functions.operator_builder import transformation_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.translate.operator_names import transformations_up_to

if TYPE_CHECKING:
    from firesteel.datastream.streams.stream_base import DataStreamSink
    from firesteel.graph.transformations import Transformation
    from firesteel.table.planner.translate.translate import Translator


def scan_with_parallelism(translator: Translator, node: rel.TableScan, stream: Batches) -> Batches:
    """Set the parallelism that a table declares for its source.

    Args:
        translator: Distributes streams by columns.
        node: The scan.
        stream: The stream of the connector's source.

    Returns:
        The stream; changes are distributed by primary key where the parallelism differs, which keeps their order.

    Raises:
        TableException: the source emits changes, and the columns read have no primary key.
    """
    table, names = node.table, node.row_type.names
    parallelism = parallelism_option(table.options, "scan.parallelism")
    if parallelism is None:
        return stream
    _set(transformation_of(stream), None, parallelism)
    # Operators of one parallelism follow each other subtask by subtask, which keeps changes in order.
    if node.source.kinds == INSERT_ONLY or parallelism == translator.environment.get_parallelism():
        return stream
    if not table.primary_key or not set(table.primary_key) <= set(names):
        raise TableException(
            f"The source of table '{'.'.join(table.path)}' has a configured parallelism of {parallelism} and emits "
            "changes, which requires a primary key among the columns that are read"
        )
    return translator.by_columns(stream, tuple(names.index(name) for name in table.primary_key))


def consume_with_parallelism(
    translator: Translator, sink: TableSink, stream: Batches, table: ResolvedTable, kinds: frozenset[Kind], label: str
) -> DataStreamSink:
    """Write a stream with the parallelism that the table declares for its sink, by default that of the stream.

    Raises:
        TableException: the stream has changes, its parallelism differs, and the table has no primary key.
    """
    parallelism = parallelism_option(table.options, "sink.parallelism")
    if parallelism is None:
        parallelism = transformation_of(stream).parallelism
    # Distributed round robin, the changes of one row would reach the sink by several subtasks, in any order.
    if kinds != INSERT_ONLY and transformation_of(stream).parallelism != parallelism:
        names = [column.name for column in table.persisted_columns]
        stream = _by_primary_key(translator, stream, table, names, parallelism)
    written = sink.consume(stream, label)
    _set(transformation_of(written), transformation_of(stream), parallelism)
    return written


def _by_primary_key(
    translator: Translator, stream: Batches, table: ResolvedTable, names: list[str], parallelism: int
) -> Batches:
    if not table.primary_key:
        raise TableException(
            f"The sink for table '{'.'.join(table.path)}' has a configured parallelism of {parallelism}, while the "
            f"input parallelism is {transformation_of(stream).parallelism}. Since the configured parallelism is "
            "different from the input's parallelism and the changelog mode contains non-insert kinds a primary key is "
            "required but no primary key could be found."
        )
    return translator.by_columns(stream, tuple(names.index(name) for name in table.primary_key))


def _set(last: Transformation, before: Transformation | None, parallelism: int) -> None:
    """Set the parallelism of a transformation and its inputs up to another one."""
    for transformation in transformations_up_to(last, before):
        transformation.parallelism, transformation.parallelism_configured = parallelism, True
