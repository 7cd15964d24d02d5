"""The connector `datagen`. Flink: `DataGenTableSourceFactory`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.datagen.fields import Field, field_of
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.connector_base import Source, SourceSplit

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

OPTIONS = {"datagen": OptionTable((), ("number-of-rows", "rows-per-second"), ("fields.",))}
_BLOCK_ROWS = 4096
ROWS_PER_SECOND = 10_000


def source(table: ResolvedTable, context: ConnectorContext) -> DataGenTable:
    """Return the source that generates rows."""
    return DataGenTable(table)


class DataGenTable:
    """Random rows and sequences."""

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable) -> None:
        self._options = OPTIONS["datagen"].read(table.options, "datagen")
        self._fields = {
            column.name: field_of(self._options.below(f"fields.{column.name}.", f"field {column.name}"), column.type)
            for column in table.physical_columns
        }

    @property
    def is_bounded(self) -> bool:
        """Whether the number of rows is set."""
        return "number-of-rows" in self._options.values

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        counts = [field.count for field in self._fields.values() if field.count is not None]
        if self.is_bounded:
            counts.append(self._options.number("number-of-rows"))
        fields = tuple(self._fields[column.name] for column in request.columns)
        rate = self._options.number("rows-per-second", ROWS_PER_SECOND)
        numbers = tuple(list(self._fields).index(column.name) for column in request.columns)
        made = RowGenerator(fields, numbers, min(counts, default=None), rate)
        return made.stream(environment, name)


class RowGenerator(Source[Any]):
    """A deterministic source: the same positions always have the same rows; a position is a row.

    Args:
        fields: The generators of the columns.
        numbers: The number of each column, used as seed of its random values.
        count: Number of rows; None for an unbounded source.
        rate: Rows per second.
    """

    def __init__(self, fields: tuple[Field, ...], numbers: tuple[int, ...], count: int | None, rate: int) -> None:
        super().__init__()
        self._fields = fields
        self._numbers = numbers
        self._count = count
        self._rate = rate
        self._seed = time.time_ns()
        self._begin = time.time()
        self._steady_begin_s: float | None = None

    def stream(self, environment: StreamExecutionEnvironment, name: str) -> Batches:
        """Return the stream of the rows, which one subtask makes: others would hold back the watermark for ever."""
        return environment.from_source(self, WatermarkStrategy.no_watermarks(), name).set_parallelism(1)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the begin by the clock of this process."""
        return {**self.__dict__, "_steady_begin_s": None}

    @property
    def grows_to_end(self) -> bool:  # type: ignore[override]
        """Whether the rows are more than those of the first second."""
        return self._count is not None and self._count > self._rate

    def is_bounded(self) -> bool:
        """Return whether the number of rows is limited."""
        return self._count is not None

    def discover_splits(self) -> Sequence[SourceSplit]:
        """Return one split, which grows by the rate, whatever happens to the wall clock."""
        now_s = time.monotonic()
        if self._steady_begin_s is None:
            self._steady_begin_s = now_s - max(0.0, time.time() - self._begin)
        due = int((now_s - self._steady_begin_s + 1) * self._rate)
        return [SourceSplit("rows", due if self._count is None else min(due, self._count), final_end=self._count)]

    def read_split(self, split_id: str, start: int, end: int) -> Iterator[ColumnBatch]:
        """Yield the rows from `start` to before `end`."""
        while start < end:
            block = start // _BLOCK_ROWS
            first = block * _BLOCK_ROWS
            stop = min(end, first + _BLOCK_ROWS)
            rows = _BLOCK_ROWS if self._count is None else min(_BLOCK_ROWS, self._count - first)
            arrays = tuple(
                field.make(np.random.default_rng([self._seed, number, block]), first, rows)
                for field, number in zip(self._fields, self._numbers, strict=True)
            )
            yield ColumnBatch(arrays, rows).slice(start - first, stop - first)
            start = stop
