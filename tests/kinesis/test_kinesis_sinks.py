"""The sinks for Kinesis streams and Firehose against moto's server."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.common import Configuration, Types
from firesteel.common.serialization import SimpleStringSchema
from firesteel.connectors.kinesis import writer as kinesis_writer
from firesteel.connectors.kinesis.client import KinesisError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import WriterInitContext
from firesteel.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisFirehoseSink,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from firesteel.errors import InvalidProgramError
from firesteel.testing import Fault, run_local
from tests.kinesis.conftest import Amazon

pytestmark = pytest.mark.slow

CONTEXT = WriterInitContext("job", "sink", 3, 4, 0, False, None, {}, lambda: 0)


def builder(amazon: Amazon, stream: str, keys: Any = None) -> Any:
    made = KinesisStreamsSink.builder().set_stream_name(stream).set_kinesis_client_properties(amazon.properties)
    made.set_partition_key_generator(keys or PartitionKeyGenerator.random())
    return made.set_serialization_schema(SimpleStringSchema())


def firehose(amazon: Amazon, name: str) -> Any:
    made = KinesisFirehoseSink.builder().set_delivery_stream_name(name)
    return made.set_firehose_client_properties(amazon.properties).set_serialization_schema(SimpleStringSchema())


def write(sink: Any, values: list[str]) -> None:
    writer = sink.create_writer(CONTEXT)
    try:
        writer.write_all(values, None)
        writer.flush(True)
    finally:
        writer.close()


def test_each_element_is_written_at_least_once_whatever_dies(amazon: Amazon) -> None:
    stream = amazon.stream(4)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    values = [f"{n}" for n in range(40)]
    env.from_collection(values, Types.STRING()).rebalance().sink_to(builder(amazon, stream).build())
    run_local(env, batch_elements=8, faults=[Fault(1, 1, 0), Fault(2, 1, 1)])
    assert {value for _, value in amazon.values(stream)} == set(values)


def test_partition_keys_determine_the_shard(amazon: Amazon) -> None:
    values = [str(n) for n in range(50)]
    shards = []
    for keys in (PartitionKeyGenerator.fixed(), PartitionKeyGenerator.random(), lambda value: value[0]):
        stream = amazon.stream(4)
        write(builder(amazon, stream, keys).build(), values)
        found = amazon.values(stream)
        assert sorted(value for _, value in found) == sorted(values)
        shards.append(len({shard for shard, _ in found}))
    assert shards[0] == 1
    assert shards[1] > 1
    assert shards[2] > 1


def test_requests_are_bounded_and_failed_records_are_sent_again(amazon: Amazon, monkeypatch: Any) -> None:
    waits: list[float] = []
    monkeypatch.setattr(kinesis_writer, "time", SimpleNamespace(sleep=waits.append, monotonic=time.monotonic))
    sink = builder(amazon, "s").set_max_batch_size(3).set_max_batch_size_in_bytes(100)
    sink = sink.set_max_record_size_in_bytes(80).set_max_in_flight_requests(1).set_max_buffered_requests(9)
    writer = sink.set_max_time_in_buffer_ms(1).build().create_writer(CONTEXT)
    requests: list[list[str]] = []

    def put(client: Any, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        requests.append([entry["Data"].decode() for entry in entries])
        refused = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slow down"}
        return [refused if entry["Data"] == b"b" and len(requests) < 3 else {} for entry in entries]

    writer._put = put
    writer.write_all(["a", "b", "c", "x" * 48, "y" * 48], None)
    writer.flush(False)
    writer.flush(True)
    writer.close()
    assert requests == [["a", "b", "c"], ["b"], ["b"], ["x" * 48], ["y" * 48]]
    assert waits == [0.1, 0.2]


def test_permanently_rejected_records_fail_the_job(amazon: Amazon, monkeypatch: Any) -> None:
    def put(client: Any, entries: Any) -> Any:
        return [{"ErrorCode": "InternalFailure", "ErrorMessage": "oh"}] * len(entries)

    writer = builder(amazon, "s").set_fail_on_error(True).build().create_writer(CONTEXT)
    writer._put = put
    writer.write("a", None)
    with pytest.raises(KinesisError, match="Kinesis 's': 1 of 1 records were rejected: InternalFailure: oh"):
        writer.flush(False)
    writer.close()
    monkeypatch.setattr(kinesis_writer, "_GIVE_UP_S", -1.0)
    patient = builder(amazon, "s").build().create_writer(CONTEXT)
    patient._put = put
    patient.write("a", None)
    with pytest.raises(KinesisError, match="1 of 1 records were rejected"):
        patient.flush(False)
    patient.close()
    with pytest.raises(KinesisError, match=r"Kinesis 'nope': could not write 1 records: .*nope"):
        write(builder(amazon, "nope").build(), ["a"])
    with pytest.raises(KinesisError, match="a record of 100 bytes is larger than its limit of 50 bytes"):
        write(builder(amazon, "s", lambda _: "").set_max_record_size_in_bytes(50).build(), ["x" * 100])


def test_firehose_delivers_to_a_bucket(amazon: Amazon) -> None:
    import boto3

    at = {"region_name": "us-east-1", "endpoint_url": amazon.properties["aws.endpoint"]}
    s3, client = boto3.client("s3", **at), boto3.client("firehose", **at)
    s3.create_bucket(Bucket="delivered")
    configuration = {"RoleARN": "arn:aws:iam::123456789012:role/any", "BucketARN": "arn:aws:s3:::delivered"}
    client.create_delivery_stream(DeliveryStreamName="to-s3", ExtendedS3DestinationConfiguration=configuration)
    write(firehose(amazon, "to-s3").build(), ["a\n", "b\n"])
    (found,) = s3.list_objects_v2(Bucket="delivered")["Contents"]
    assert s3.get_object(Bucket="delivered", Key=found["Key"])["Body"].read() == b"a\nb\n"
    s3.close()
    client.close()


def test_builders_name_missing_settings(amazon: Amazon, monkeypatch: Any) -> None:
    with pytest.raises(InvalidProgramError, match=r"KinesisStreamsSink: call set_stream_name\(\)"):
        KinesisStreamsSink.builder().build()
    made = KinesisStreamsSink.builder().set_stream_name("s")
    with pytest.raises(InvalidProgramError, match=r"call set_serialization_schema\(\)"):
        made.build()
    made.set_serialization_schema(SimpleStringSchema())
    with pytest.raises(InvalidProgramError, match=r"call set_partition_key_generator\(\)"):
        made.build()
    made.set_partition_key_generator(PartitionKeyGenerator.fixed())
    with pytest.raises(InvalidProgramError, match=r"call set_kinesis_client_properties\(\)"):
        made.build()
    with pytest.raises(InvalidProgramError, match=r"the size limit of a record \(1048576 bytes\) must not exceed"):
        builder(amazon, "s").set_max_batch_size_in_bytes(10).build()
    with pytest.raises(InvalidProgramError, match=r"call set_delivery_stream_name\(\)"):
        KinesisFirehoseSink.builder().build()
    with pytest.raises(ValueError, match="max_batch_size must be 1 or greater, found 0"):
        builder(amazon, "s").set_max_batch_size(0)
    with pytest.raises(NotImplementedError, match="wraps a Java object; use a function"):
        PartitionKeyGenerator(object())
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'firesteel\[kinesis\]'"):
        builder(amazon, "s").build().create_writer(CONTEXT)


@pytest.mark.spark
def test_a_job_reads_what_comes_and_writes_it(amazon: Amazon) -> None:
    before, after = amazon.stream(2), amazon.stream()
    amazon.put(before, ["first"], "a")
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "100 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    properties = {**amazon.properties, "flink.stream.initpos": "TRIM_HORIZON"}
    stream = env.add_source(FlinkKinesisConsumer(before, SimpleStringSchema(), properties))
    stream.map(str.upper, Types.STRING()).sink_to(builder(amazon, after).build())
    job = env.execute_async()
    try:
        for value, key in (("second", "b"), ("third", "c")):
            amazon.put(before, [value], key)
        deadline = time.monotonic() + 60
        while sorted(value for _, value in amazon.values(after)) != ["FIRST", "SECOND", "THIRD"]:
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
    finally:
        job.cancel().result()
