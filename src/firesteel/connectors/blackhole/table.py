"""The connector `blackhole`. Flink: `BlackHoleTableSinkFactory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import Ability, ResolvedTable, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.user_functions import SinkFunction

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.streams.stream_base import DataStreamSink

OPTIONS = {"blackhole": OptionTable(())}


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> BlackHole:
    """Return a sink that discards rows."""
    OPTIONS["blackhole"].read(table.options, "blackhole")
    return BlackHole()


class BlackHole:
    """A sink that discards rows."""

    abilities = frozenset({Ability.PARTITIONING, Ability.DISCARDS})

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return all kinds."""
        return kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Discard the rows."""
        return stream.add_sink(_Nothing()).name(name)


class _Nothing(SinkFunction[object]):
    def invoke(self, value: object) -> None:
        """Do nothing."""
