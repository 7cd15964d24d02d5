"""A source of numbers (module as `pyflink.datastream.connectors.number_seq`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.typeinfo import BasicTypeInfo, TypeInformation
from firesteel.datastream.connectors.base import Source

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int]):
    """The numbers from `start` to `end`, both inclusive, distributed over the subtasks.

    Attributes:
        start: First number.
        end: Last number.

    Example:
        >>> env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__()
        self.start = start
        self.end = end

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the numbers: `Types.LONG()`."""
        return BasicTypeInfo.LONG_TYPE_INFO()
