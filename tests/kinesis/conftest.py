"""Amazon's services for tests: moto's server in this process, with three things as Amazon has them.

A shard that is split keeps its records and gets no more of them, and the last page of a closed shard has no iterator.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

_NAMES = itertools.count()


@dataclass
class Amazon:
    """The server.

    Attributes:
        properties: Flink's properties that lead to it.
        kinesis: A client.
    """

    properties: dict[str, str]
    kinesis: Any

    def stream(self, shards: int = 1) -> str:
        """Make a stream."""
        name = f"stream-{next(_NAMES)}"
        self.kinesis.create_stream(StreamName=name, ShardCount=shards)
        return name

    def put(self, stream: str, values: list[str], key: str = "k") -> None:
        """Write records, 500 at a time."""
        for start in range(0, len(values), 500):
            records = [{"Data": value.encode(), "PartitionKey": key} for value in values[start : start + 500]]
            self.kinesis.put_records(StreamName=stream, Records=records)

    def values(self, stream: str) -> list[tuple[str, str]]:
        """All records of a stream: (shard, value)."""
        found = []
        for shard in self.kinesis.list_shards(StreamName=stream)["Shards"]:
            where = {"StreamName": stream, "ShardId": shard["ShardId"]}
            start = self.kinesis.get_shard_iterator(**where, ShardIteratorType="TRIM_HORIZON")
            records = self.kinesis.get_records(ShardIterator=start["ShardIterator"])["Records"]
            found += [(shard["ShardId"], record["Data"].decode()) for record in records]
        return found

    def split(self, stream: str) -> None:
        """Split the first open shard in two."""
        shards = self.kinesis.list_shards(StreamName=stream)["Shards"]
        shard = next(s for s in shards if "EndingSequenceNumber" not in s["SequenceNumberRange"])
        middle = (int(shard["HashKeyRange"]["StartingHashKey"]) + int(shard["HashKeyRange"]["EndingHashKey"])) // 2
        self.kinesis.split_shard(StreamName=stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=str(middle))


@pytest.fixture(scope="session")
def amazon() -> Iterator[Amazon]:
    with running() as found:
        yield found


@contextmanager
def running() -> Iterator[Amazon]:
    """The services, with keys in the environment that they take.

    All servers of a process share their streams, so those that were made meanwhile are removed.
    """
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    patch = pytest.MonkeyPatch()
    _as_amazon(patch)
    patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    with closing(boto3.client("kinesis", region_name="us-east-1", endpoint_url=url)) as client:
        before = _streams(client)
        yield Amazon({"aws.region": "us-east-1", "aws.endpoint": url}, client)
        for name in _streams(client) - before:
            client.delete_stream(StreamName=name)
    server.stop()
    patch.undo()


def _streams(client: Any) -> set[str]:
    pages = client.get_paginator("list_streams").paginate()
    return {name for page in pages for name in page["StreamNames"]}


def _as_amazon(patch: pytest.MonkeyPatch) -> None:
    from moto.kinesis import models

    if models.KinesisBackend.get_records.__module__ == __name__:
        return  # another server in this process has done it
    split_shard, get_records = models.Stream.split_shard, models.KinesisBackend.get_records
    get_shard_for_key = models.Stream.get_shard_for_key

    def split_and_keep(self: Any, shard_to_split: str, new_starting_hash_key: str) -> None:
        shard = self.shards[shard_to_split]
        records, shard.records = shard.records, OrderedDict()
        split_shard(self, shard_to_split, new_starting_hash_key)
        shard.records = records

    def get_records_to_the_end(self: Any, stream_arn: Any, shard_iterator: str, limit: Any) -> Any:
        following, records, behind = get_records(self, stream_arn, shard_iterator, limit)
        name, shard_id, last = models.decompose_shard_iterator(following)
        shard = self.describe_stream(stream_arn=stream_arn, stream_name=name).get_shard(shard_id)
        is_end = not shard.is_open and int(last) >= shard.get_max_sequence_number()
        return None if is_end else following, records, behind

    def open_shard_for_key(self: Any, partition_key: str, explicit_hash_key: str) -> Any:
        every, self.shards = self.shards, {name: shard for name, shard in self.shards.items() if shard.is_open}
        try:
            return get_shard_for_key(self, partition_key, explicit_hash_key)
        finally:
            self.shards = every

    patch.setattr(models.Stream, "split_shard", split_and_keep)
    patch.setattr(models.Stream, "get_shard_for_key", open_shard_for_key)
    patch.setattr(models.KinesisBackend, "get_records", get_records_to_the_end)
