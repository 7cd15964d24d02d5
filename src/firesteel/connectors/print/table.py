"""The connector `print`. Flink: `PrintTableSinkFactory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.pylist import pylist
from firesteel.columns.value_text import print_formatter
from firesteel.common.table_errors import ValidationException
from firesteel.common.typeinfo import Types
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import Ability, ResolvedTable, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.user_functions import FlatMapFunction

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.streams.stream_base import DataStreamSink

OPTIONS = {"print": OptionTable((), ("print-identifier", "standard-error"))}
_KINDS = ("+I", "-U", "+U", "-D")


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> PrintSink:
    """Return the sink that prints rows."""
    return PrintSink(table)


class PrintSink:
    """A sink that prints a line per row, such as `+I[1, a]`, to standard output."""

    abilities = frozenset({Ability.PARTITIONING})

    def __init__(self, table: ResolvedTable) -> None:
        options = OPTIONS["print"].read(table.options, "print")
        if options.flag("standard-error"):
            raise ValidationException(
                "The option 'standard-error' is not supported; rows are printed to standard output"
            )
        self._identifier = options.text("print-identifier") or None
        self._types = tuple(column.type for column in table.physical_columns)

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return all kinds: each is printed."""
        return kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Print the rows."""
        lines = stream.flat_map(RowTexts(self._types), Types.STRING())
        return lines.print(self._identifier).name(name)


class RowTexts(FlatMapFunction[ColumnBatch, str]):
    """The text of each row, formatted like Java's `RowData` printers."""

    def __init__(self, types: tuple[DataType, ...]) -> None:
        self._types = types
        self._texts: list[Callable[[Cell], str]] = []

    def flat_map(self, value: ColumnBatch) -> list[str]:
        """Return the texts of a batch."""
        if not self._texts:
            self._texts = [print_formatter(kind) for kind in self._types]
        columns = [list(map(text, pylist(array))) for text, array in zip(self._texts, value.columns, strict=True)]
        rows = zip(*columns, strict=True) if columns else iter([()] * value.length)
        kinds = value.kinds_or_inserts().tolist()
        return [f"{_KINDS[kind]}[{', '.join(row)}]" for kind, row in zip(kinds, rows, strict=True)]

    def __reduce__(self) -> tuple[object, ...]:
        return RowTexts, (self._types,)
