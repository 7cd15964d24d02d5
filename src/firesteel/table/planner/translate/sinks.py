"""The end of queries: checks and changes between a query and its sink.

Flink: `StreamPhysicalSink`, `CommonExecSink`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType
from firesteel.columns.kernels.length_guard import LengthGuardFactory, columns_with_length
from firesteel.columns.kernels.sink_guard import SinkGuardFactory, UpdateBefore
from firesteel.columns.kernels.upsert_materialize import UpsertMaterializeFactory
from firesteel.common.options.table_options import (
    TABLE_NOT_NULL_ENFORCER,
    TABLE_TYPE_LENGTH_ENFORCER,
    TABLE_UPSERT_MATERIALIZE,
)
from firesteel.common.table_errors import TableException
from firesteel.connectors.table_connector import Batches, ResolvedTable, TableSink
from firesteel.functions.operator_builder import transformation_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, unsupported_changes
from firesteel.table.planner.traits.upsert_keys import pairs_updates, upsert_key
from firesteel.table.planner.translate.operator_names import describe_named
from firesteel.table.planner.translate.parallelism import consume_with_parallelism
from firesteel.table.planner.translate.translate import Translator

if TYPE_CHECKING:
    from firesteel.datastream.streams.stream_base import DataStreamSink


def with_lengths(
    translator: Translator, node: rel.Rel, stream: Batches, types: list[DataType], number: int | None = None
) -> Batches:
    """Return a stream whose texts and bytes have the lengths of types, if an option says so.

    Args:
        translator: Makes the streams.
        node: The query.
        stream: Its rows.
        types: The types of the columns of the sink.
        number: That of the sink.
    """
    enforcer = translator.option(TABLE_TYPE_LENGTH_ENFORCER)
    columns = () if enforcer == "IGNORE" else columns_with_length(node.row_type.names, types)
    if not columns:
        return stream
    label = f"ConstraintEnforcer(LengthEnforcer(fields=[{', '.join(name for _, name, _ in columns)}]))"
    return translator.operator(node, LengthGuardFactory(columns, enforcer == "TRIM_PAD"), stream, None, label, number)


def add_sink(translator: Translator, node: rel.Rel, table: ResolvedTable, sink: TableSink) -> DataStreamSink:
    """Write a query, whose columns already match the table, to a sink.

    A sink that replaces rows by its primary key gets no `-U`. One is dropped if a `+U` of the same key follows;
    otherwise it deletes the row. If rows of the query that share a primary key may come from several rows or ways, the
    last one that is not retracted is kept in state.

    Args:
        translator: Makes the streams.
        node: The query.
        table: The target table.
        sink: Its connector's sink.

    Raises:
        TableException: the sink does not accept the kinds of rows of the query.
    """
    kinds, name = translator.kinds(node), ".".join(table.path)
    accepted = sink.accepts(kinds)
    columns = table.persisted_columns
    names = [column.name for column in columns]
    key = tuple(names.index(column) for column in table.primary_key if column in names)
    replaces = kinds != INSERT_ONLY and Kind.UPDATE_BEFORE not in accepted and bool(key)
    before = _treatment(node, key) if Kind.UPDATE_BEFORE in kinds and replaces else UpdateBefore.KEPT
    sent = kinds - {Kind.UPDATE_BEFORE} | ({Kind.DELETE} if before is UpdateBefore.DELETES else set())
    if missing := (sent if replaces else kinds) - accepted:
        raise TableException(unsupported_changes(f"Table sink '{name}'", missing, node))
    stream = translator.stream(node)
    number = translator.names.number()
    if replaces and _is_materialized(node, key, translator.option(TABLE_UPSERT_MATERIALIZE)):
        factory = UpsertMaterializeFactory(key, upsert_key(node), tuple(node.row_type.field_types()))
        stream = translator.operator(node, factory, stream, key, "SinkMaterializer", number)
        before = UpdateBefore.KEPT
    not_null = tuple(
        (i, column.name)
        for i, (column, field) in enumerate(zip(columns, node.row_type.fields, strict=True))
        if not column.type.is_nullable and field.data_type.is_nullable
    )
    stream = with_lengths(translator, node, stream, [column.type for column in columns], number)
    if before is not UpdateBefore.KEPT or not_null:
        guard = SinkGuardFactory(not_null, translator.option(TABLE_NOT_NULL_ENFORCER) == "DROP", before)
        label = f"ConstraintEnforcer(NotNullEnforcer(fields=[{', '.join(name for _, name in not_null)}]))"
        stream = translator.operator(node, guard, stream, None, label if not_null else "DropUpdateBefore", number)
    label = f"Sink(table=[{name}], fields=[{', '.join(node.row_type.names)}])"
    title, description = translator.names.named(number, label, table.path[-1])
    written = consume_with_parallelism(translator, sink, stream, table, kinds, title)
    describe_named(transformation_of(written), transformation_of(stream), title, description)
    return written


def _treatment(node: rel.Rel, key: tuple[int, ...]) -> UpdateBefore:
    """Return what a `-U` does to the row of its primary key: nothing, if a `+U` of the same key follows."""
    found = upsert_key(node)
    same = found is not None and set(found) == set(key)
    return UpdateBefore.DROPPED if same and pairs_updates(node) else UpdateBefore.DELETES


def _is_materialized(node: rel.Rel, key: tuple[int, ...], materialize: str) -> bool:
    """Return whether several rows of the query may have one primary key."""
    found = upsert_key(node)
    return materialize == "FORCE" or (materialize == "AUTO" and (found is None or not set(found) <= set(key)))
