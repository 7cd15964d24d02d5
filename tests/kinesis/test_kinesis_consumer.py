"""FlinkKinesisConsumer against moto's server: start positions, reading and resuming."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.kinesis import splits as kinesis_splits
from firesteel.connectors.kinesis.aggregation import deaggregated
from firesteel.connectors.kinesis.client import KinesisError, Page, Record
from firesteel.connectors.kinesis.properties import initial_time_ms, role_settings, session_settings
from firesteel.connectors.kinesis.source import KinesisSource
from firesteel.connectors.kinesis.splits import KinesisReader, stops_of
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisShardAssigner,
    WatermarkTracker,
)
from firesteel.errors import InvalidProgramError
from firesteel.functions.splits import Split, SplitRange, Stop
from firesteel.testing import Fault, run_local
from tests.kinesis.conftest import Amazon

pytestmark = pytest.mark.slow

OLDEST = {"flink.stream.initpos": "TRIM_HORIZON", "flink.shard.discovery.intervalmillis": "0"}


def source_of(amazon: Amazon, *streams: str, **properties: str) -> KinesisSource:
    given = {**amazon.properties, **OLDEST, **{key.replace("__", "."): value for key, value in properties.items()}}
    return FlinkKinesisConsumer(list(streams), SimpleStringSchema(), given).as_source()


class Reading:
    """The work of enumerator and readers in a job, batch by batch."""

    def __init__(self, source: KinesisSource, parallelism: int = 1, after: Reading | None = None) -> None:
        self.splits = SourceSplits(source, parallelism)
        if after is not None:
            self.splits.restore(after.splits.state)
        self.readers = [KinesisReader(source.settings) for _ in range(parallelism)]
        self._now = 0 if after is None else after._now

    def batch(self, budget: int = 100_000) -> list[str]:
        """The elements of the next batch."""
        self._now += 60_000
        self.splits.discover(self._now)
        found = []
        for subtask, reader in enumerate(self.readers):
            for part in self.splits.take(subtask, budget):
                if part.start < part.end:
                    found += [element for chunk in reader.read(part) for element in chunk.elements]
        return found


def numbers(start: int, end: int) -> list[str]:
    return [f"{n:05}" for n in range(start, end)]


# --- reading ---------------------------------------------------------------------------------------------------------


def test_all_shards_of_all_streams_are_read_in_their_order(amazon: Amazon) -> None:
    first, second = amazon.stream(3), amazon.stream()
    for key in "abcdef":
        amazon.put(first, [f"{key}{n}" for n in numbers(0, 50)], key)
    amazon.put(second, numbers(0, 5))
    reading = Reading(source_of(amazon, first, second), 2)
    found = reading.batch()
    assert len(found) == 305
    for key in "abcdef":
        assert [value[1:] for value in found if value.startswith(key)] == numbers(0, 50)
    assert reading.batch() == []
    amazon.put(first, ["later"])
    assert reading.batch() == ["later"]


def test_a_batch_reads_about_as_much_as_it_may(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, numbers(0, 3200))
    reading = Reading(source_of(amazon, stream))
    batches = [reading.batch(budget) for budget in (1000, 10, 1200, 5000)]
    assert [len(batch) for batch in batches] == [1000, 500, 1000, 700]
    assert [element for batch in batches for element in batch] == numbers(0, 3200)


def test_records_are_read_once_whatever_dies(amazon: Amazon, tmp_path: Path) -> None:
    stream = amazon.stream(3)
    for key in "abcd":
        amazon.put(stream, [f"{key}{n}" for n in numbers(0, 1100)], key)

    def program() -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        given = {**amazon.properties, **OLDEST}
        elements = env.add_source(FlinkKinesisConsumer(stream, SimpleStringSchema(), given), type_info=Types.STRING())
        elements.key_by(lambda value: value[0]).map(lambda value: value).collect_async()
        return env

    faults = [Fault(0, 0, 0, 1), Fault(1, 0, 1), Fault(1, 1, 0), Fault(2, 1, 1, 1)]
    first = run_local(
        program(), batch_elements=600, batches=3, faults=faults, replayed=[1], checkpoint=tmp_path
    ).elements
    rest = run_local(program(), batch_elements=600, batches=5, checkpoint=tmp_path).elements
    assert 0 < len(first) < 4400
    for key in "abcd":
        assert [value[1:] for value in first + rest if value[0] == key] == numbers(0, 1100)


def test_elements_have_the_arrival_times_of_their_records(amazon: Amazon) -> None:
    stream = amazon.stream()
    before = time.time() * 1000
    amazon.put(stream, ["a"])
    reading = Reading(source_of(amazon, stream))
    reading.splits.discover(0)
    (chunk,) = reading.readers[0].read(reading.splits.take(0, 10)[0])
    assert before - 1000 < chunk.timestamps[0] < time.time() * 1000 + 1000


def test_ranges_are_deterministic_and_a_checkpoint_resumes_after_the_last_one(amazon: Amazon) -> None:
    stream = amazon.stream()
    source = source_of(amazon, stream)
    amazon.put(stream, numbers(0, 1200))
    reading = Reading(source)
    reading.splits.discover(0)
    (part,) = reading.splits.take(0, 500)
    amazon.put(stream, numbers(1200, 1300))
    for reader in (reading.readers[0], KinesisReader(source.settings), reading.readers[0]):
        assert [e for chunk in reader.read(part) for e in chunk.elements] == numbers(0, 500)
    later = Reading(source, after=reading)
    assert later.batch() + later.batch() == numbers(500, 1300)


# --- where it starts -------------------------------------------------------------------------------------------------


def test_latest_reads_new_records_and_loses_none_between_runs(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, ["old"])
    time.sleep(0.01)
    source = source_of(amazon, stream, flink__stream__initpos="LATEST")
    reading = Reading(source)
    assert reading.batch() == []
    amazon.put(stream, ["while it was down"])
    assert Reading(source, after=reading).batch() == ["while it was down"]


def test_reading_starts_at_a_timestamp(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, ["old"])
    time.sleep(0.01)
    at = {"flink__stream__initpos": "AT_TIMESTAMP", "flink__stream__initpos__timestamp": str(time.time())}
    time.sleep(0.01)
    amazon.put(stream, ["new"])
    assert Reading(source_of(amazon, stream, **at)).batch() == ["new"]


def test_positions_are_understood_as_in_flink() -> None:
    def time_of(position: str, timestamp: str = "") -> int:
        at = {"flink.stream.initpos": position, "flink.stream.initpos.timestamp": timestamp}
        return initial_time_ms(at, 77)

    assert (initial_time_ms({}, 77), time_of("LATEST"), time_of("TRIM_HORIZON")) == (77, 77, 0)
    assert time_of("AT_TIMESTAMP", "1459799926.48") == 1459799926480
    assert time_of("AT_TIMESTAMP", "2016-04-04T19:58:46.480-00:00") == 1459799926480
    with pytest.raises(InvalidProgramError, match=r"must be seconds since the epoch or a time such as .* found 'noon'"):
        time_of("AT_TIMESTAMP", "noon")
    with pytest.raises(InvalidProgramError, match="must be LATEST, TRIM_HORIZON or AT_TIMESTAMP, found 'FIRST'"):
        time_of("FIRST")
    with pytest.raises(InvalidProgramError, match=r"AT_TIMESTAMP needs the property flink.stream.initpos.timestamp"):
        initial_time_ms({"flink.stream.initpos": "AT_TIMESTAMP"}, 0)


# --- shards ----------------------------------------------------------------------------------------------------------


def test_new_shards_are_read_after_their_parents(amazon: Amazon) -> None:
    stream = amazon.stream()
    reading = Reading(source_of(amazon, stream), 2)
    amazon.put(stream, numbers(0, 600), "a")
    assert reading.batch(500) == numbers(0, 500)
    amazon.split(stream)
    amazon.put(stream, numbers(600, 610), "a")
    amazon.put(stream, ["other"], "b")
    assert reading.batch() == numbers(500, 600)
    found = [element for _ in range(2) for element in reading.batch()]
    assert sorted(found) == [*numbers(600, 610), "other"]
    parent = f"{stream}/shardId-000000000000"
    assert parent not in reading.splits.state.splits
    assert parent in reading.splits.state.known.keys
    assert Reading(source_of(amazon, stream), 2, after=reading).batch() == []


def test_a_stream_that_was_split_before_is_read_from_its_beginning(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, numbers(0, 10), "a")
    amazon.split(stream)
    amazon.split(stream)
    amazon.put(stream, numbers(10, 20), "a")
    reading = Reading(source_of(amazon, stream))
    assert reading.batch() + reading.batch() + reading.batch() == numbers(0, 20)


def test_latest_leaves_out_closed_shards(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, ["old"], "a")
    amazon.split(stream)
    amazon.put(stream, ["old, too"], "a")
    time.sleep(0.01)
    reading = Reading(source_of(amazon, stream, flink__stream__initpos="LATEST"))
    assert reading.batch() == []
    amazon.put(stream, ["new"], "a")
    assert reading.batch() == ["new"]


# --- far behind ------------------------------------------------------------------------------------------------------


class OldStream:
    """A shard with one record per second for an hour; records the requests."""

    def __init__(self, name: str, properties: Any) -> None:
        self.name = name
        self.fetched = 0

    def iterator(self, shard_id: str, position: int) -> str:
        return str(position - 1 if position >= 0 else (position + (1 << 62)) // 1000 - 1)

    def page(self, shard_id: str, iterator: str, limit: int) -> Page:
        start = int(iterator) + 1
        records = [Record(n, n * 1000, b"x") for n in range(start, min(start + min(limit, 5), 3600))]
        self.fetched += len(records)
        last = records[-1].sequence_number if records else int(iterator)
        return Page(records, str(last), (3599 - last) * 1000)


def test_the_enumerator_fetches_few_records_of_a_long_backlog() -> None:
    enumerator = kinesis_splits.KinesisEnumerator(
        KinesisSource(FlinkKinesisConsumer("s", SimpleStringSchema(), {"aws.region": "r"})._settings).settings
    )
    stream: Any = OldStream("s", {})
    enumerator._listed = {"s/1": (stream, kinesis_splits.Shard("1", ()))}
    start = kinesis_splits.time_position(0)
    split = Split("s/1", 0, start, start, grows=True)
    for _ in range(1000):
        split = enumerator._look(split)
    assert split.end == 3600
    assert [stop.position for stop in split.stops] == sorted({stop.position for stop in split.stops})
    assert abs(sum(stop.units for stop in split.stops) - 3600) < 600
    assert stream.fetched < 1800


@pytest.mark.parametrize(("behind_ms", "found"), [(60_000, ["x"]), (0, [])])
def test_empty_pages_are_no_end_far_from_the_end(
    behind_ms: int, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sparse(OldStream):
        def page(self, shard_id: str, iterator: str, limit: int) -> Page:
            self.fetched += 1
            records = [Record(7, 7000, b"x")] if self.fetched > 3 else []
            return Page(records, iterator, behind_ms)

    monkeypatch.setattr(kinesis_splits, "_TIMEOUT_S", 0.0)
    monkeypatch.setattr(kinesis_splits, "_WAIT_S", 0.0)
    settings = FlinkKinesisConsumer("s", SimpleStringSchema(), {"aws.region": "r"})._settings
    reader = KinesisReader(settings)
    reader._streams["s"] = Sparse("s", {})  # type: ignore[assignment]
    part = SplitRange(Split("s/1", 0, 0, 8, grows=True), 0, 8)
    assert [element for chunk in reader.read(part) for element in chunk.elements] == found


def test_stops_limit_the_records_and_bytes_between_them() -> None:
    small = [Record(n, 0, b"x") for n in range(0, 2200, 2)]
    assert stops_of(small) == (Stop(999, 500), Stop(1999, 500), Stop(2199, 100))
    large = [Record(n, 0, bytes(600_000)) for n in range(5)]
    assert stops_of(large) == (Stop(2, 2), Stop(4, 2), Stop(5, 1))
    assert stops_of([]) == ()


# --- errors and settings ---------------------------------------------------------------------------------------------


class Upper(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        if message == b"bad":
            raise ValueError("what is this?")
        return None if message == b"none" else message.decode().upper()

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        return [self.deserialize(message) for message in messages]


def test_bad_records_are_named_and_empty_ones_left_out(amazon: Amazon) -> None:
    stream = amazon.stream()
    given = {**amazon.properties, **OLDEST}
    amazon.put(stream, ["a", "none", "b"])
    reading = Reading(FlinkKinesisConsumer(stream, Upper(), given).as_source())
    assert reading.batch() == ["A", "B"]
    amazon.put(stream, ["c", "bad"])
    bad = rf"could not deserialize record 5 in shard shardId-0+ of '{stream}': ValueError: what is this\?"
    with pytest.raises(KinesisError, match=bad):
        reading.batch()


def packed(*values: bytes) -> bytes:
    """The Kinesis Producer Library's encoding of records: field 1 has partition keys, field 3 the records."""

    def field(number: int, content: bytes) -> bytes:
        length = len(content)
        size = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
        return bytes([number << 3 | 2]) + size + content

    key_index = b"\x08\x00"
    message = field(1, b"key") + b"".join(field(3, key_index + field(3, value)) for value in values)
    return b"\xf3\x89\x9a\xc2" + message + hashlib.md5(message).digest()


def test_records_that_the_producer_library_packed_are_unpacked(amazon: Amazon) -> None:
    stream = amazon.stream()
    for data in (b"a", packed(b"b", b"c" * 1000, b""), packed(b"x")[:-1] + b"?"):
        amazon.kinesis.put_record(StreamName=stream, Data=data, PartitionKey="k")
    found = Reading(source_of(amazon, stream)).batch()
    assert found[:4] == ["a", "b", "c" * 1000, ""]
    assert len(found) == 5
    unknown = b"\xf3\x89\x9a\xc2\x0b" + hashlib.md5(b"\x0b").digest()
    with pytest.raises(ValueError, match="unknown wire type 3"):
        deaggregated(unknown)


def test_an_unknown_stream_and_a_server_that_is_not_there_are_named(amazon: Amazon) -> None:
    with pytest.raises(KinesisError, match=r"Kinesis at http://.*: could not list the shards of 'nope': .*nope"):
        Reading(source_of(amazon, "nope")).batch()


def test_invalid_combinations_are_rejected() -> None:
    schema = SimpleStringSchema()
    with pytest.raises(InvalidProgramError, match=r"set the property aws.region, or aws.endpoint"):
        FlinkKinesisConsumer("s", schema, {})
    with pytest.raises(InvalidProgramError, match=r"must be one of AUTO, .* found 'CUSTOM'"):
        FlinkKinesisConsumer("s", schema, {"aws.region": "r", "aws.credentials.provider": "CUSTOM"})
    with pytest.raises(InvalidProgramError, match=r"BASIC needs the property .*basic.accesskeyid"):
        FlinkKinesisConsumer("s", schema, {"aws.region": "r", "aws.credentials.provider": "BASIC"})
    with pytest.raises(ValueError, match="streams must not be empty"):
        FlinkKinesisConsumer([], schema, {"aws.region": "r"})
    with pytest.raises(TypeError, match="deserializer must be a DeserializationSchema, found None"):
        FlinkKinesisConsumer("s", None, {"aws.region": "r"})  # type: ignore[arg-type]
    for make in (KinesisDeserializationSchema, KinesisShardAssigner, WatermarkTracker):
        with pytest.raises(NotImplementedError, match="wraps a Java object"):
            make(object())


def test_setters_without_effect_say_so(caplog: pytest.LogCaptureFixture) -> None:
    consumer = FlinkKinesisConsumer("s", SimpleStringSchema(), {"aws.region": "r", "aws.nope": 1})
    consumer.set_shard_assigner(KinesisShardAssigner.uniform_shard_assigner())
    consumer.set_watermark_tracker(WatermarkTracker.job_manager_watermark_tracker("name"))
    assert caplog.messages[0] == "FlinkKinesisConsumer: properties without effect: aws.nope"
    assert len(caplog.messages) == 3
    with pytest.raises(NotImplementedError, match=r"use assign_timestamps_and_watermarks\(\)"):
        consumer.set_periodic_watermark_assigner(None)  # type: ignore[arg-type]


def test_credentials_get_the_names_of_boto3() -> None:
    prefix = "aws.credentials.provider"
    keys = {"aws.region": "r", f"{prefix}.basic.accesskeyid": "id", f"{prefix}.basic.secretkey": "key"}
    assert session_settings(keys) == {
        "region_name": "r",
        "aws_access_key_id": "id",
        "aws_secret_access_key": "key",
    }
    profile = {"aws.region": "r", prefix: "PROFILE", f"{prefix}.profile.name": "me"}
    assert session_settings(profile) == {"region_name": "r", "profile_name": "me"}
    role = {"aws.region": "r", prefix: "ASSUME_ROLE", f"{prefix}.role.arn": "arn:x", f"{prefix}.role.externalId": "e"}
    assert role_settings(role) == {"RoleArn": "arn:x", "RoleSessionName": "firesteel", "ExternalId": "e"}
    assert role_settings(keys) is None
