"""The connector `faker`, which Flink has not, with the options of the public flink-faker."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.cells import Cell
from firesteel.connectors.datagen.table import ROWS_PER_SECOND, RowGenerator
from firesteel.connectors.faker.columns import FakerField, field_of
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

OPTIONS = {"faker": OptionTable((), ("number-of-rows", "rows-per-second"), ("fields.",))}


def source(table: ResolvedTable, context: ConnectorContext) -> FakerTable:
    """Return the source that makes rows up."""
    return FakerTable(table)


class FakerTable:
    """Made-up rows; a source, and a lookup table that has a row for each key."""

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable) -> None:
        self._options = OPTIONS["faker"].read(table.options, "faker")
        self._fields = {
            column.name: field_of(column, self._options.below(f"fields.{column.name}.", f"column {column.name}"))
            for column in table.physical_columns
        }
        known = tuple(f"fields.{name}." for name in self._fields)
        self._options.check((), OPTIONS["faker"].optional, known or ("\0",))

    @property
    def is_bounded(self) -> bool:
        """Whether the number of rows is set."""
        return "number-of-rows" in self._options.values

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        options, names = self._options, list(self._fields)
        count = options.positive("number-of-rows", 1) if self.is_bounded else None
        fields = tuple(self._fields[column.name] for column in request.columns)
        numbers = tuple(names.index(column.name) for column in request.columns)
        generator = RowGenerator(fields, numbers, count, options.positive("rows-per-second", ROWS_PER_SECOND))
        return generator.stream(environment, name)

    def lookup(self, keys: list[str]) -> FakerLookup:
        """Return the lookup that makes up a row with each key."""
        names = list(self._fields)
        return FakerLookup(tuple(self._fields.values()), tuple(map(names.index, keys)))


class FakerLookup:
    """Makes up a row with each key.

    Args:
        fields: The columns.
        places: Positions of the columns of keys.
    """

    def __init__(self, fields: tuple[FakerField, ...], places: tuple[int, ...]) -> None:
        self._fields = fields
        self._places = places

    def __call__(self, keys: Sequence[Sequence[Cell]]) -> list[list[list[Cell]]]:
        """Return a row for each key."""
        seeds = [random.getrandbits(62) for _ in self._fields]
        columns = [field.column(seed, len(keys)) for field, seed in zip(self._fields, seeds, strict=True)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        for row, key in zip(rows, keys, strict=True):
            for place, value in zip(self._places, key, strict=True):
                row[place] = value
        return [[row] for row in rows]

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
