"""The writer of the Kinesis and Firehose sinks: sends batched requests and retries failed records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.kinesis.client import KinesisError, make_client
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import SinkWriter

_GIVE_UP_S = 120.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 5.0

Put = Callable[[Any, list[dict[str, Any]]], list[dict[str, Any]]]
"""A function of client and records that returns the result of each record."""


@dataclass(frozen=True)
class BatchSettings:
    """Settings of a sink.

    Attributes:
        service: boto3's name of the service.
        target: Name of the stream.
        serializer: Serializes elements.
        properties: Flink's properties of the client.
        fails_on_error: Whether a rejected record fails the job; otherwise it is sent again.
        max_records: Maximum number of records in a request.
        max_bytes: Maximum size of a request in bytes.
        max_record_bytes: Maximum size of a record in bytes.
    """

    service: str
    target: str = ""
    serializer: SerializationSchema[Any] | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    fails_on_error: bool = False
    max_records: int = 500
    max_bytes: int = 5 * 1024 * 1024
    max_record_bytes: int = 1024 * 1024

    def checked(self, sink: str, method: str) -> Self:
        """Check the settings and return them.

        Raises:
            InvalidProgramError: a setting is missing, or limits contradict each other.
        """
        for is_there, what in ((self.target, method), (self.serializer, "set_serialization_schema()")):
            if not is_there:
                raise InvalidProgramError(f"{sink}: call {what}")
        if self.max_record_bytes > self.max_bytes:
            raise InvalidProgramError(
                f"{sink}: the size limit of a record ({self.max_record_bytes} bytes) must not exceed that of a "
                f"request ({self.max_bytes} bytes)"
            )
        return self


class BatchWriter(SinkWriter[Any]):
    """Buffers records and sends them when a request is full and at the end of each batch.

    Args:
        settings: Settings of the sink.
        entry_of: Returns the entry of a request for an element and its bytes.
        put: Sends a request.
    """

    def __init__(self, settings: BatchSettings, entry_of: Callable[[Any, bytes], dict[str, Any]], put: Put) -> None:
        assert settings.serializer is not None
        self._settings = settings
        self._serialize = settings.serializer.serialize
        self._entry_of, self._put = entry_of, put
        self._client = make_client(settings.service, settings.properties)
        self._entries: list[dict[str, Any]] = []
        self._bytes = 0

    def write(self, element: object, timestamp: int | None) -> None:
        """Write one element.

        Raises:
            KinesisError: the record is too large, or records were rejected.
        """
        settings = self._settings
        data = self._serialize(element)
        entry = self._entry_of(element, data)
        # Amazon's limits count both.
        size = len(data) + len(entry.get("PartitionKey", ""))
        if size > settings.max_record_bytes:
            limit = f"its limit of {settings.max_record_bytes} bytes"
            raise self._error(f"a record of {size} bytes is larger than {limit}")
        if self._entries and self._bytes + size > settings.max_bytes:
            self._send()
        self._entries.append(entry)
        self._bytes += size
        if len(self._entries) == settings.max_records:
            self._send()

    def flush(self, end_of_input: bool) -> None:
        """Send the buffered records, as a checkpoint may follow.

        Raises:
            KinesisError: records were rejected.
        """
        if self._entries:
            self._send()

    def _send(self) -> None:
        entries, self._entries, self._bytes = self._entries, [], 0
        deadline, wait_s = time.monotonic() + _GIVE_UP_S, _FIRST_WAIT_S
        while True:
            results = self._put_all(entries)
            failed = [(e, r) for e, r in zip(entries, results, strict=True) if r.get("ErrorCode")]
            if not failed:
                return
            first = failed[0][1]
            # Amazon rejects single records of a request, mostly because a shard is busy.
            if self._settings.fails_on_error or time.monotonic() > deadline:
                about = f"{first['ErrorCode']}: {first.get('ErrorMessage')}"
                raise self._error(f"{len(failed)} of {len(entries)} records were rejected: {about}")
            entries = [entry for entry, _ in failed]
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _put_all(self, entries: list[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        try:
            return self._put(self._client, entries)
        except Exception as error:
            raise self._error(f"could not write {len(entries)} records: {error}") from error

    def _error(self, text: str) -> KinesisError:
        return KinesisError(f"{self._settings.service.capitalize()} {self._settings.target!r}: {text}")

    def close(self) -> None:
        """Close the connections; unsent records are written again after a restart."""
        self._client.close()
