"""What a statement needs of its sink beside the rows. Flink: `DynamicSinkUtils`."""

from __future__ import annotations

from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import Ability, ResolvedTable, SinkRequest, TableSink, abilities_of


def check_abilities(table: ResolvedTable, request: SinkRequest, sink: TableSink) -> None:
    """Check that a sink can do what its table and the statement ask for.

    Raises:
        TableException: the table has partitions or buckets, and the sink does not.
        ValidationException: the sink cannot replace what the table has.
    """
    name, abilities = ".".join(table.path), abilities_of(sink)
    if table.partition_keys and Ability.PARTITIONING not in abilities:
        raise TableException(
            f"Table '{name}' is a partitioned table, but the underlying DynamicTableSink doesn't implement the "
            "SupportsPartitioning interface."
        )
    if request.overwrite and Ability.OVERWRITE not in abilities:
        raise ValidationException(
            f"INSERT OVERWRITE requires that the underlying DynamicTableSink of table '{name}' implements the "
            "SupportsOverwrite interface."
        )
    if table.distribution is not None:
        raise TableException(
            f"Table '{name}' is distributed into buckets, but the underlying DynamicTableSink doesn't implement the "
            "SupportsBucketing interface."
        )
