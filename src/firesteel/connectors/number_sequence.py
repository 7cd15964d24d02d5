"""A source of numbers (module as `pyflink.datastream.connectors.number_seq`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.typeinfo import BasicTypeInfo, TypeInformation
from firesteel.functions.connector_base import Source

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int]):
    """The numbers from `start` to `end`, both inclusive, distributed over the subtasks.

    Attributes:
        start: First number.
        end: Last number.

    Example:
        >>> source = NumberSequenceSource(1, 5)
        >>> numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        >>> _ = numbers.collect_async()
        >>> run_local(env).elements
        [1, 2, 3, 4, 5]
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        self.start = start
        self.end = end

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the numbers: `Types.LONG()`."""
        return BasicTypeInfo.LONG_TYPE_INFO()
