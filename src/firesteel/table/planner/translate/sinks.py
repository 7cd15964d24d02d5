"""The end of queries: checks and changes between a query and its sink.

Flink: `StreamPhysicalSink`, `CommonExecSink`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType
from firesteel.columns.kernels.length_guard import LengthGuardFactory, columns_with_length
from firesteel.columns.kernels.sink_guard import SinkGuardFactory, UpdateBefore
from firesteel.columns.kernels.upsert_materialize import UpsertMaterializeFactory
from firesteel.common.options.table_options import (
    TABLE_NOT_NULL_ENFORCER,
    TABLE_REQUIRE_ON_CONFLICT,
    TABLE_TYPE_LENGTH_ENFORCER,
    TABLE_UPSERT_MATERIALIZE,
)
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import Ability, Batches, ResolvedTable, SinkRequest, TableSink, abilities_of
from firesteel.functions.operator_builder import transformation_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of, unsupported_changes
from firesteel.table.planner.traits.upsert_keys import pairs_updates, upsert_key
from firesteel.table.planner.translate.operator_names import describe_named
from firesteel.table.planner.translate.parallelism import consume_with_parallelism
from firesteel.table.planner.translate.translate import Translator
from firesteel.table.table_config import TableConfig

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


@dataclass(frozen=True, slots=True)
class SinkEnd:
    """The end of a query at a sink.

    Attributes:
        node: The query, whose columns match the table.
        table: The target table.
        sink: Its connector's sink.
        kinds: The kinds of rows of the query.
        key: The columns of the primary key.
        before: What becomes of `-U` rows before the sink.
        is_materialized: Whether the last row of each primary key is kept in state.
        needs_before: Whether the sink, or what is done before it, needs `-U` rows.
    """

    node: rel.Rel
    table: ResolvedTable
    sink: TableSink
    kinds: frozenset[Kind]
    key: tuple[int, ...]
    before: UpdateBefore
    is_materialized: bool
    needs_before: bool


def end_of(
    node: rel.Rel, table: ResolvedTable, sink: TableSink, request: SinkRequest, is_streaming: bool, config: TableConfig
) -> SinkEnd:
    """Return what is done to the rows of a query before a sink.

    A sink that replaces rows by its primary key gets no `-U`. One is dropped if a `+U` of the same key follows;
    otherwise it deletes the row. If rows of the query that share a primary key may come from several rows or ways, the
    last one that is not retracted is kept in state.

    Args:
        node: The query, whose columns match the table.
        table: The target table.
        sink: Its connector's sink.
        request: What the sink was made for.
        is_streaming: Whether results are changelogs.
        config: The options of the table environment.

    Raises:
        TableException: the sink does not accept the kinds of rows of the query.
        ValidationException: ON CONFLICT is there, and the sink does not replace rows; or the options demand it.
    """
    kinds = kinds_of(node, is_streaming)
    accepted, discards = sink.accepts(kinds), Ability.DISCARDS in abilities_of(sink)
    if request.deduplicates and not discards:
        _check_replaces(table, accepted)
    names = [column.name for column in table.persisted_columns]
    key = tuple(names.index(column) for column in table.primary_key if column in names)
    replaces = kinds != INSERT_ONLY and Kind.UPDATE_BEFORE not in accepted and bool(key)
    before = _treatment(node, key) if Kind.UPDATE_BEFORE in kinds and replaces else UpdateBefore.KEPT
    sent = kinds - {Kind.UPDATE_BEFORE} | ({Kind.DELETE} if before is UpdateBefore.DELETES else set())
    if missing := (sent if replaces else kinds) - accepted:
        raise TableException(unsupported_changes(f"Table sink '{'.'.join(table.path)}'", missing, node))
    options = config.get_configuration()
    conflicts = replaces and _may_conflict(node, key)
    if conflicts and not request.deduplicates and options.get(TABLE_REQUIRE_ON_CONFLICT):
        conflict = _conflict(node, table.primary_key, ".".join(table.path))
        raise ValidationException(
            f"{conflict} Add ON CONFLICT DO DEDUPLICATE, which keeps the last one that is not retracted, or set "
            "'table.exec.sink.require-on-conflict' to 'false'."
        )
    materialize = options.get(TABLE_UPSERT_MATERIALIZE)
    is_materialized = replaces and (materialize == "FORCE" or (materialize == "AUTO" and conflicts))
    # The materializer needs `-U` to find which of several rows with a primary key is gone.
    if is_materialized:
        before = UpdateBefore.KEPT
    needs_before = not discards and (is_materialized or before is not UpdateBefore.DROPPED)
    return SinkEnd(node, table, sink, kinds, key, before, is_materialized, needs_before)


def upserts_need_before(node: rel.Rel, primary_key: Sequence[str], is_streaming: bool) -> bool:
    """Return whether a stream of upserts needs `-U` rows: if it has a key, and some of them remove a row.

    Args:
        node: The query.
        primary_key: The columns of the key; empty if it has none.
        is_streaming: Whether results are changelogs.

    Raises:
        ValidationException: several rows may have the key.
    """
    if not primary_key or kinds_of(node, is_streaming) == INSERT_ONLY:
        return False
    key = tuple(node.row_type.names.index(name) for name in primary_key)
    if _may_conflict(node, key):
        raise ValidationException(_conflict(node, primary_key, "*anonymous_datastream_sink*"))
    return _treatment(node, key) is not UpdateBefore.DROPPED


def add_sink(translator: Translator, end: SinkEnd) -> DataStreamSink:
    """Write a query to a sink."""
    node, table, key, before = end.node, end.table, end.key, end.before
    columns = table.persisted_columns
    stream = translator.stream(node)
    # Taken once for all operators in front of the sink: in Flink they are parts of one node, and share its number.
    number = translator.names.number()
    if end.is_materialized:
        factory = UpsertMaterializeFactory(key, upsert_key(node), tuple(node.row_type.field_types()))
        stream = translator.operator(node, factory, stream, key, "SinkMaterializer", number)
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
    label = f"Sink(table=[{'.'.join(table.path)}], fields=[{', '.join(node.row_type.names)}])"
    title, description = translator.names.named(number, label, table.path[-1])
    written = consume_with_parallelism(translator, end.sink, stream, table, end.kinds, title)
    describe_named(transformation_of(written), transformation_of(stream), title, description)
    return written


def _treatment(node: rel.Rel, key: tuple[int, ...]) -> UpdateBefore:
    """Return what a `-U` does to the row of its primary key: nothing, if a `+U` of the same key follows."""
    found = upsert_key(node)
    same = found is not None and set(found) == set(key)
    return UpdateBefore.DROPPED if same and pairs_updates(node) else UpdateBefore.DELETES


def _may_conflict(node: rel.Rel, key: tuple[int, ...]) -> bool:
    """Return whether several rows of a query may have one primary key."""
    found = upsert_key(node)
    return found is None or not set(found) <= set(key)


def _conflict(node: rel.Rel, primary_key: Sequence[str], sink: str) -> str:
    """Return Flink's sentences about a primary key that several rows of a query may have."""
    found = ", ".join(node.row_type.names[place] for place in upsert_key(node) or ())
    return (
        f"The query has an upsert key that differs from the primary key of the sink table '{sink}'. "
        f"Primary key: [{', '.join(primary_key)}], upsert key: {f'[{found}]' if found else 'none'}. "
        "Several rows with different upsert keys may have the same primary key."
    )


def _check_replaces(table: ResolvedTable, accepted: frozenset[Kind]) -> None:
    if Kind.UPDATE_BEFORE not in accepted and accepted != INSERT_ONLY:
        return
    is_append = accepted == INSERT_ONLY
    reason = "only accepts INSERT (append-only) changes" if is_append else "requires UPDATE_BEFORE (retract mode)"
    raise ValidationException(
        f"ON CONFLICT clause is only allowed for upsert sinks. The sink '{'.'.join(table.path)}' is not an upsert sink "
        f"because it {reason}."
    )
