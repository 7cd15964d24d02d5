"""The connector `blackhole`. Flink: `BlackHoleTableSinkFactory`."""

from __future__ import annotations

from typing import Any

from firesteel.columns.batch import Kind
from firesteel.functions.user_functions import SinkFunction
from firesteel.table.connectors.base import ResolvedTable, SinkRequest
from firesteel.table.connectors.options import Options
from firesteel.table.connectors.registry import ConnectorContext


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> BlackHole:
    """Return a sink that discards rows."""
    Options(table.options, "blackhole").check((), ())
    return BlackHole()


class BlackHole:
    """A sink that discards rows."""

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return all kinds."""
        return kinds

    def consume(self, stream: Any, name: str) -> Any:
        """Discard the rows."""
        return stream.add_sink(_Nothing()).name(name)


class _Nothing(SinkFunction[Any]):
    def invoke(self, value: Any) -> None:
        """Do nothing."""
