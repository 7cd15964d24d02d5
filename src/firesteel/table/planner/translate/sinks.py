"""The end of queries: checks and changes between a query and its sink. Flink: `CommonExecSink`."""

from __future__ import annotations

from typing import Any

from firesteel.columns.batch import Kind
from firesteel.columns.kernels.sink_guard import SinkGuardFactory
from firesteel.common.table_errors import TableException
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.translate.parallelism import consume_with_parallelism
from firesteel.table.planner.translate.translate import Translator


def add_sink(translator: Translator, node: Any, table: Any, sink: Any, enforcer: str) -> Any:
    """Write a query, whose columns already match the table, to a sink.

    Args:
        translator: Makes the streams.
        node: The query.
        table: The target table.
        sink: Its connector's sink.
        enforcer: The treatment of NULL in NOT NULL columns: `ERROR` or `DROP`.

    Raises:
        TableException: the sink does not accept the kinds of rows of the query.
    """
    kinds = translator.kinds(node)
    accepted = sink.accepts(kinds)
    name = ".".join(table.path)
    missing = kinds - accepted - {Kind.UPDATE_BEFORE}
    if missing:
        what = "update and delete" if len(missing) > 1 else "update" if Kind.UPDATE_AFTER in missing else "delete"
        raise TableException(
            f"Table sink '{name}' doesn't support consuming {what} changes which is produced by node {_producer(node)}"
        )
    stream = translator.stream(node)
    drops_before = Kind.UPDATE_BEFORE in kinds - accepted
    columns = [column for column in table.columns if column.kind != "COMPUTED" and not column.is_virtual]
    not_null = tuple(
        (i, column.name)
        for i, (column, field) in enumerate(zip(columns, node.row_type.fields, strict=True))
        if not column.type._nullable and field.data_type._nullable
    )
    if drops_before or not_null:
        guard = SinkGuardFactory(not_null, enforcer.upper() == "DROP", drops_before)
        label = f"ConstraintEnforcer(NotNullEnforcer(fields=[{', '.join(name for _, name in not_null)}]))"
        stream = translator.operator(node, guard, stream, None, label if not_null else "DropUpdateBefore")
    label = f"Sink(table=[{name}], fields=[{', '.join(node.row_type.names)}])"
    return consume_with_parallelism(translator, sink, stream, table, kinds, label)


def _producer(node: Any) -> str:
    """Return the node that makes a query update its rows."""
    while type(node).__name__ in ("Project", "Filter"):
        node = node.input
    return describe(node)
