"""Kinesis as a source: shards are splits, and a position is the sequence number after the last record read.

Kinesis does not report the end of a shard, so the enumerator reads the newest records of each shard itself; their
sequence numbers are the positions where batches may stop. Far from the end it skips most records.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from firesteel.common.values.batch_decoding import decode_each
from firesteel.connectors.kinesis.aggregation import deaggregated
from firesteel.connectors.kinesis.client import KinesisError, KinesisStream, Page, Record, Shard, time_position
from firesteel.connectors.kinesis.messages import Message, RecordsSchema
from firesteel.connectors.kinesis.properties import initial_time_ms
from firesteel.functions.source_reading import SourceEnumerator, SourceReader
from firesteel.functions.splits import Discovered, Known, Split, SplitRange, StampedElements, Stop

if TYPE_CHECKING:
    from firesteel.connectors.kinesis.source import KinesisSourceSettings

logger = logging.getLogger(__name__)

_STOP_RECORDS, _STOP_BYTES = 500, 1 << 20
_MOST_AHEAD = 200_000
"""Maximum number of known but unread records of a shard; above it the enumerator does not look further ahead."""

_FAR_MS = 60_000
_STRIDE_MS = 10_000
"""Stride in ms by which the enumerator looks ahead in a shard that is read this far behind its end."""

_PARALLEL_REQUESTS = 8
_TIMEOUT_S = 20.0
_WAIT_S = 0.2


class KinesisEnumerator(SourceEnumerator):
    """The enumerator of shards and of the positions up to which they can be read.

    Args:
        settings: The settings of the source. Kinesis is first contacted by `discover`.
    """

    def __init__(self, settings: KinesisSourceSettings) -> None:
        self._settings = settings
        self.rediscover_ms = settings.polling_ms
        self._streams: dict[str, KinesisStream] = {}
        self._iterators: dict[str, str] = {}
        self._listed: dict[str, tuple[KinesisStream, Shard]] = {}
        self._listed_s = float("-inf")

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the shards that are new or may have grown, and the finished ones that still exist.

        Raises:
            KinesisError: a stream does not exist, or Kinesis does not answer.
        """
        self._list_shards()
        growing = [split for split in known.splits.values() if split.grows]
        found = self._look_at(growing)
        start = initial_time_ms(self._settings.properties, time.time_ns() // 1_000_000) if known.is_first else 0
        unfinished = {split.split_id for split in found if split.grows or split.stops}
        # Shards that have ended, but are not read to their end yet.
        unfinished |= known.splits.keys() - {split.split_id for split in found}
        seen = {*known.keys, *known.splits}
        while ready := self._ready(seen, unfinished):
            seen.update(ready)
            first = time_position(start)
            new = [Split(split_id, i % parallelism, first, first, grows=True) for i, split_id in enumerate(ready)]
            looked_at = self._look_at(new)
            found += looked_at
            unfinished |= {split.split_id for split in looked_at if split.grows or split.stops}
        return found, known.keys & self._listed.keys()

    def _list_shards(self) -> None:
        now = time.monotonic()
        # Shards change rarely, and pages are asked for several times per second.
        if (now - self._listed_s) * 1000 < self._settings.discovery_ms:
            return
        listed = {}
        for name in self._settings.streams:
            stream = self._streams.get(name) or KinesisStream(name, self._settings.properties)
            self._streams[name] = stream
            listed.update({_split_id(name, shard.shard_id): (stream, shard) for shard in stream.shards()})
        self._listed, self._listed_s = listed, now

    def _ready(self, seen: set[str], unfinished: set[str]) -> list[str]:
        """Return unseen shards whose parents are fully read, so that the records of a key stay in order."""
        ready = []
        for split_id, (stream, shard) in self._listed.items():
            # A parent that is not listed any more has no records left to wait for.
            parents = {_split_id(stream.name, parent) for parent in shard.parents} & self._listed.keys()
            if split_id not in seen and parents <= seen and not parents & unfinished:
                ready.append(split_id)
        return ready

    def _look_at(self, splits: Sequence[Split]) -> list[Split]:
        if not splits:
            return []
        with ThreadPoolExecutor(min(_PARALLEL_REQUESTS, len(splits))) as pool:
            return list(pool.map(self._look, splits))

    def _look(self, split: Split) -> Split:
        """Return the split extended by the stop positions of the next page of its shard."""
        if sum(stop.units for stop in split.stops) > _MOST_AHEAD:
            return split
        if split.split_id not in self._listed:  # the shard has expired and has no records left
            return _with_stops(split, (), is_closed=True)
        stream, shard = self._listed[split.split_id]
        iterator = self._iterators.get(split.split_id) or stream.iterator(shard.shard_id, split.end)
        page = stream.page(shard.shard_id, iterator, self._settings.most_records)
        if page is None:
            self._iterators.pop(split.split_id, None)
            return split
        stops = stops_of(page.records)
        if page.behind_ms > _FAR_MS and page.records:
            stride = self._stride(stream, shard, page)
            if stride is not None:
                self._iterators[split.split_id] = stream.iterator(shard.shard_id, stride.position)
                return _with_stops(split, (*stops, stride), is_closed=False)
        if page.iterator is None:
            self._iterators.pop(split.split_id, None)
        else:
            self._iterators[split.split_id] = page.iterator
        return _with_stops(split, stops, is_closed=page.iterator is None)

    def _stride(self, stream: KinesisStream, shard: Shard, page: Page) -> Stop | None:
        """Return a stop position some seconds after a page, or None if there is none."""
        last = page.records[-1]
        iterator = stream.iterator(shard.shard_id, time_position(last.time_ms + _STRIDE_MS))
        later = stream.page(shard.shard_id, iterator, 1)
        if later is None or not later.records or later.records[0].sequence_number <= last.sequence_number:
            return None
        record = later.records[0]
        span_ms = max(1, last.time_ms - page.records[0].time_ms)
        guess = len(page.records) * (record.time_ms - last.time_ms) // span_ms
        return Stop(record.sequence_number + 1, min(max(1, guess), _MOST_AHEAD))


def stops_of(records: Sequence[Record]) -> tuple[Stop, ...]:
    """Return the stop positions of some records: after every few hundred records or each megabyte, and at the end."""
    stops: list[Stop] = []
    count = size = 0
    for number, record in enumerate(records, 1):
        count += 1
        size += len(record.data)
        if count == _STOP_RECORDS or size >= _STOP_BYTES or number == len(records):
            stops.append(Stop(record.sequence_number + 1, count))
            count = size = 0
    return tuple(stops)


def _with_stops(split: Split, stops: tuple[Stop, ...], is_closed: bool) -> Split:
    end = stops[-1].position if stops else split.end
    return split.grown_to(end, (*split.stops, *stops), grows=not is_closed)


class KinesisReader(SourceReader):
    """A reader of shard ranges that resumes where the previous range ended (Flink: `ShardConsumer`)."""

    def __init__(self, settings: KinesisSourceSettings) -> None:
        self._settings = settings
        self._streams: dict[str, KinesisStream] = {}
        self._next: dict[str, tuple[int, str | None, list[Record]]] = {}

    def read(self, part: SplitRange) -> Iterator[StampedElements]:
        """Yield the elements of a range with the arrival times of their records.

        Raises:
            KinesisError: records could not be read or deserialised; the message names stream, shard and sequence
            number.
        """
        name, _, shard_id = part.split.split_id.rpartition("/")
        if name not in self._streams:
            self._streams[name] = KinesisStream(name, self._settings.properties)
        stream = self._streams[name]
        for records in self._pages(stream, part, shard_id):
            yield self._elements(stream, shard_id, records)
        if part.is_last:
            self._next.pop(part.split.split_id, None)

    def _pages(self, stream: KinesisStream, part: SplitRange, shard_id: str) -> Iterator[list[Record]]:
        position, iterator, ahead = self._next.pop(part.split.split_id, (part.start, None, []))
        # After a failure a range is read once more, from an earlier position.
        if position != part.start:
            position, iterator, ahead = part.start, None, []
        deadline = time.monotonic() + _TIMEOUT_S
        while position < part.end:
            page = Page(ahead, iterator, 0) if ahead else self._page(stream, shard_id, position, iterator)
            if page is None:
                if time.monotonic() > deadline:
                    raise KinesisError(
                        f"Kinesis: shard {shard_id} of {stream.name!r} was too busy for {_TIMEOUT_S:g} s"
                    )
                iterator = None
                time.sleep(_WAIT_S)
                continue
            mine = [record for record in page.records if record.sequence_number < part.end]
            iterator, ahead = page.iterator, page.records[len(mine) :]
            if mine:
                yield mine
                position = mine[-1].sequence_number + 1
                deadline = time.monotonic() + _TIMEOUT_S
            # Far from its end an empty page says nothing: a request looks through a part of the shard only.
            has_none = not page.behind_ms and time.monotonic() > deadline
            if ahead or page.iterator is None or has_none:
                if position < part.end:
                    logger.warning("records of shard %s of %r expired before they were read", shard_id, stream.name)
                position = part.end
            elif not mine:
                time.sleep(_WAIT_S)
        self._next[part.split.split_id] = (position, iterator, ahead)

    def _page(self, stream: KinesisStream, shard_id: str, position: int, iterator: str | None) -> Page | None:
        at = stream.iterator(shard_id, position) if iterator is None else iterator
        return stream.page(shard_id, at, self._settings.most_records)

    def _elements(self, stream: KinesisStream, shard_id: str, records: list[Record]) -> StampedElements:
        unpacked = [(record, data) for record in records for data in deaggregated(record.data)]
        if isinstance(self._settings.deserializer, RecordsSchema):
            return self._batches(stream, shard_id, unpacked)
        elements = decode_each(
            self._settings.deserializer,
            [data for _, data in unpacked],
            lambda i: f"record {unpacked[i][0].sequence_number} in shard {shard_id} of {stream.name!r}",
            KinesisError,
        )
        kept = [(e, record.time_ms) for e, (record, _) in zip(elements, unpacked, strict=True) if e is not None]
        return StampedElements([element for element, _ in kept], [stamp for _, stamp in kept])

    def _batches(self, stream: KinesisStream, shard_id: str, unpacked: list[tuple[Record, bytes]]) -> StampedElements:
        """Return the column batches of a table, with the arrival time of the last record."""
        schema = self._settings.deserializer
        assert isinstance(schema, RecordsSchema)
        messages = [Message(data, shard_id, record.sequence_number, record.time_ms) for record, data in unpacked]
        try:
            batches = schema.decode_records(messages)
        except ValueError as error:
            first, last = messages[0].sequence_number, messages[-1].sequence_number
            where = f"records {first} to {last} in shard {shard_id} of {stream.name!r}"
            raise KinesisError(f"could not deserialize {where}: {error}") from error
        return StampedElements(list(batches), [messages[-1].time_ms] * len(batches))

    def close(self) -> None:
        """Close all connections."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.close()


def _split_id(stream: str, shard_id: str) -> str:
    return f"{stream}/{shard_id}"
