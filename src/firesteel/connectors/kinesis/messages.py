"""What a reader of shards tells a schema that wants more of records than their data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from firesteel.common.serialization import DeserializationSchema


@dataclass(frozen=True, slots=True)
class Message:
    """The data of a record or of one of those that a producer put into it, and where and when the record arrived.

    Attributes:
        data: The data.
        shard_id: Id of the shard.
        sequence_number: Sequence number of the record.
        time_ms: Arrival time in ms since the epoch.
    """

    data: bytes
    shard_id: str
    sequence_number: int
    time_ms: int


class RecordsSchema(DeserializationSchema[object]):
    """A schema that reads whole records, many at a time."""

    @abstractmethod
    def decode_records(self, records: Sequence[Message]) -> Sequence[object]:
        """Return the elements of records, of which there may be fewer or more.

        Raises:
            ValueError: a record cannot be read.
        """
