"""Tables of Kinesis and Firehose against moto's server."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from firesteel.connectors.kinesis.firehose_table import OPTIONS as FIREHOSE_OPTIONS
from firesteel.connectors.kinesis.table import OPTIONS
from firesteel.table.errors import ValidationException
from tests.kinesis.conftest import Amazon
from tests.table.local_runs import create, environments, explained, read, written

pytestmark = pytest.mark.slow

VALUES = "SELECT * FROM (VALUES ('to', 1), ('be', 2), ('to', 3)) AS v (word, n)"


def table(amazon: Amazon, stream: str, columns: str = "word STRING, n INT", more: str = "", **options: str) -> str:
    given = {"connector": "kinesis", "stream": stream, "format": "json", **amazon.properties}
    return create("t", columns, given | options, more)


def test_a_row_is_a_record(amazon: Amazon) -> None:
    stream = amazon.stream()
    written(table(amazon, stream), VALUES)
    assert sorted(value for _, value in amazon.values(stream)) == [
        '{"word":"be","n":2}',
        '{"word":"to","n":1}',
        '{"word":"to","n":3}',
    ]


def test_partitions_determine_the_shard(amazon: Amazon) -> None:
    stream = amazon.stream(4)
    rows = ", ".join(f"('w{n % 3}', {n})" for n in range(30))
    options = {"sink.partitioner-field-delimiter": "/", "sink.batch.max-size": "7"}
    query = f"SELECT * FROM (VALUES {rows}) AS v (word, n)"
    written(table(amazon, stream, more="PARTITIONED BY (word)", **options), query)
    shards: dict[str, set[str]] = {}
    for shard, value in amazon.values(stream):
        shards.setdefault(value[:12], set()).add(shard)
    assert len(amazon.values(stream)) == 30
    assert [len(found) for found in shards.values()] == [1, 1, 1]
    for partitioner, least in (("fixed", 1), ("random", 2)):
        stream = amazon.stream(4)
        written(table(amazon, stream, **{"sink.partitioner": partitioner}), query)
        found = {shard for shard, _ in amazon.values(stream)}
        assert (len(found) >= least) if least > 1 else len(found) == 1


@pytest.mark.parametrize("start", ["source.init.position", "scan.stream.initpos"])
def test_records_are_read_with_their_metadata(amazon: Amazon, start: str) -> None:
    stream = amazon.stream()
    amazon.put(stream, ['{"word":"to","n":1}', '{"word":"be","n":2}'])
    columns = (
        "word STRING, arrived TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, n INT, "
        "shard STRING METADATA FROM 'shard-id' VIRTUAL, `sequence-number` STRING METADATA VIRTUAL"
    )
    options = {start: "TRIM_HORIZON", "source.shard.discovery.interval": "1 s"}
    rows = read("SELECT * FROM t", table(amazon, stream, columns, **options), batches=2)
    assert [(row[0], row[2], row[3][:8]) for row in rows] == [("to", 1, "shardId-"), ("be", 2, "shardId-")]
    ago = datetime.datetime.now(datetime.UTC).timestamp() - rows[0][1].to_epoch_milli() / 1000
    assert -5 < ago < 600
    assert int(rows[0][4]) < int(rows[1][4])


def test_each_shard_has_its_own_watermark(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, [f'{{"word":"to","n":{n}}}' for n in range(3)])
    columns = "word STRING, n BIGINT, ts AS TO_TIMESTAMP_LTZ(n, 0), WATERMARK FOR ts AS ts"
    statement = table(amazon, stream, columns, **{"source.init.position": "TRIM_HORIZON"})
    query = (
        "SELECT COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND) GROUP BY window_start, window_end"
    )
    assert read(query, statement, batches=2) == [(1,), (1,)]


def test_records_that_cannot_be_read_are_named(amazon: Amazon) -> None:
    stream = amazon.stream()
    amazon.put(stream, ["no json"])
    options = {"source.init.position": "TRIM_HORIZON"}
    with pytest.raises(Exception, match=f"could not deserialize records .* in shard .* of '{stream}'"):
        read("SELECT * FROM t", table(amazon, stream, **options), batches=2)


BAD: list[tuple[dict[str, str], str, str]] = [
    ({"stream.arn": "arn:aws:kinesis:us-east-1:1:stream/a"}, "", "Either 'stream' or 'stream.arn' must be set"),
    ({"sink.partitioner": "fixed"}, "PARTITIONED BY (word)", "Cannot set 'sink.partitioner' for a table with"),
    ({"sink.partitioner-field-delimiter": "/"}, "", "needs a table with PARTITIONED BY"),
    ({"sink.partitioner": "org.Mine"}, "", "expected one of random, fixed, found 'org.Mine'"),
    ({"aws.credentials.provider": "CUSTOM"}, "", "aws.credentials.provider must be one of"),
    ({"source.efo.consumer.name": "a"}, "", "'source.efo.consumer.name' of 'kinesis' is not supported: there is no"),
    ({"sink.batch.max-size": "0"}, "", "expected an integer above zero, found '0'"),
]


@pytest.mark.parametrize(("options", "more", "message"), BAD)
def test_bad_options_of_sinks_are_refused(options: dict[str, str], more: str, message: str) -> None:
    given = {"connector": "kinesis", "stream": "s", "format": "json", "aws.region": "us-east-1"}
    with pytest.raises(ValidationException, match=re.escape(message)):
        explained(create("t", "word STRING, n INT", given | options, more), VALUES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source.init.position": "MIDDLE"}, "must be LATEST, TRIM_HORIZON or AT_TIMESTAMP, found 'MIDDLE'"),
        ({"source.init.position": "AT_TIMESTAMP"}, "AT_TIMESTAMP needs the property"),
        ({"source.reader.type": "EFO"}, "expected one of polling"),
        ({"source.init.timestamp.format": "yyyy"}, "times are seconds since 1970"),
    ],
)
def test_bad_options_of_sources_are_refused(options: dict[str, str], message: str) -> None:
    given = {"connector": "kinesis", "stream": "s", "format": "json", "aws.region": "us-east-1"}
    _, t_env = environments()
    t_env.execute_sql(create("t", "word STRING, n INT", given | options))
    with pytest.raises(ValidationException, match=re.escape(message)):
        t_env.explain_sql("SELECT * FROM t")


def test_firehose_takes_a_record_per_row(amazon: Amazon) -> None:
    import boto3

    region = {"region_name": "us-east-1", "endpoint_url": amazon.properties["aws.endpoint"]}
    s3, client = boto3.client("s3", **region), boto3.client("firehose", **region)
    s3.create_bucket(Bucket="rows")
    role = {"RoleARN": "arn:aws:iam::123456789012:role/r", "BucketARN": "arn:aws:s3:::rows"}
    client.create_delivery_stream(DeliveryStreamName="rows", ExtendedS3DestinationConfiguration=role)
    given = {"connector": "firehose", "delivery-stream": "rows", "format": "csv", **amazon.properties}
    written(create("t", "word STRING, n INT", {**given, "sink.batch.max-size": "2"}), VALUES)
    bodies = [
        s3.get_object(Bucket="rows", Key=found["Key"])["Body"].read().decode()
        for found in s3.list_objects(Bucket="rows")["Contents"]
    ]
    assert sorted(bodies) == ["to,1be,2", "to,3"]
    for made in (s3, client):
        made.close()
    _, t_env = environments()
    t_env.execute_sql(create("t", "n INT", given))
    with pytest.raises(ValidationException, match="'firehose' can only be used as a sink"):
        t_env.explain_sql("SELECT * FROM t")


def test_tables_of_options_do_not_contradict_themselves() -> None:
    for one in (*OPTIONS.values(), *FIREHOSE_OPTIONS.values()):
        found: list[Any] = list(one.all_options())
        assert len(found) == len({*found}) + ("aws.region" in one.required)
