"""What DataStream sources of captured tables have in common."""

from __future__ import annotations

from typing import Generic, TypeVar

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.cdc.debezium import DebeziumDeserializationSchema
from firesteel.connectors.cdc.splits import UNITS_PER_ROW
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints

S = TypeVar("S")


class CaptureSource(Source[object], Generic[S]):
    """A source whose elements a deserializer makes of changes.

    Args:
        settings: The settings of the connector.
        decimals: How decimals become values, see `RecordColumn`.
        deserializer: Makes the elements.
    """

    reading_hints = ReadingHints(units_per_element=UNITS_PER_ROW, open_at_once=1, unit="Bytes")

    def __init__(self, settings: S, decimals: str, deserializer: DebeziumDeserializationSchema[object]) -> None:
        super().__init__()
        self._settings = settings
        self._decimals = decimals
        self._deserializer = deserializer

    @property
    def produced_type(self) -> TypeInformation[object]:
        """The type of the elements, by the deserializer."""
        return self._deserializer.get_produced_type()
