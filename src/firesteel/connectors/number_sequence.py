"""A source of numbers (module as `pyflink.datastream.connectors.number_seq`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firesteel.common.checks import require
from firesteel.common.typeinfo import BasicTypeInfo, TypeInformation
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext
from firesteel.functions.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int]):
    """The numbers from `start` to `end`, both inclusive, distributed over the subtasks.

    Attributes:
        start: First number.
        end: Last number.

    Raises:
        ValueError: `start` is greater than `end`.

    Example:
        >>> source = NumberSequenceSource(1, 5)
        >>> numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        >>> _ = numbers.collect_async()
        >>> run_local(env).elements
        [1, 2, 3, 4, 5]
    """

    reading_hints = ReadingHints(unit="Records")

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        for number in (start, end):
            require(number, int, "NumberSequenceSource")
        if start > end:
            raise ValueError(f"NumberSequenceSource: 'from' must be <= 'to', found {start} and {end}")
        self.start = start
        self.end = end

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the numbers: `Types.LONG()`."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of nearly equal parts."""
        return _Parts(self.start, self.end)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        return _Numbers()


class _Parts(SourceEnumerator):
    """Divides the sequence into nearly equal parts, longer ones last (Flink: `NumberSequenceIterator.split`)."""

    def __init__(self, start: int, end: int) -> None:
        self._start, self._end = start, end

    def discover(self, parallelism: int, known: Known) -> Discovered:
        base, longer = divmod(self._end - self._start + 1, parallelism)
        splits, start = [], self._start
        for subtask in range(parallelism):
            length = base + (1 if subtask >= parallelism - longer else 0)
            if length > 0:
                splits.append(Split(str(subtask + 1), subtask, start, start + length))
            start += length
        return splits, set()


class _Numbers(SourceReader):
    """Reads ranges of numbers."""

    def read(self, part: SplitRange) -> Iterator[list[int]]:
        for start in range(part.start, part.end, CHUNK_ELEMENTS):
            yield list(range(start, min(start + CHUNK_ELEMENTS, part.end)))
