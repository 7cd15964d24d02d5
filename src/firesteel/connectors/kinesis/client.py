"""Kinesis client on top of boto3: shards and pages of their records."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from firesteel.common.optional_package import optional_package
from firesteel.connectors.kinesis.properties import (
    ENDPOINT,
    REGION,
    client_settings,
    profile_path,
    role_settings,
    session_settings,
)
from firesteel.errors import FiresteelError

_TIMES = 1 << 62
"""Offset of positions that are times: they are negative, so that all sequence numbers come after all times."""


class KinesisError(FiresteelError):
    """Kinesis rejected a request or did not respond."""


def make_client(service: str, properties: Mapping[str, str]) -> Any:
    """Return a boto3 client.

    Raises:
        ModuleNotFoundError: boto3 is not installed.
    """
    with optional_package(service.capitalize(), "boto3", "kinesis"):
        import boto3
        import botocore.session
        from botocore.config import Config
    core = botocore.session.Session()
    if (path := profile_path(properties)) is not None:
        core.set_config_variable("credentials_file", path)
    session = boto3.Session(botocore_session=core, **session_settings(properties))
    config = Config(retries={"mode": "standard", "max_attempts": 8})
    if (role := role_settings(properties)) is not None:
        given = session.client("sts", config=config).assume_role(**role)["Credentials"]
        keys = (given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
        session = boto3.Session(*keys, region_name=session.region_name)
    return session.client(service, config=config, **client_settings(properties))


def time_position(time_ms: int) -> int:
    """Return the position before the first record that arrived at `time_ms` (ms since the epoch) or later."""
    return time_ms - _TIMES


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of a stream.

    Attributes:
        shard_id: Id, unique within the stream.
        parents: Ids of the shards that were split or merged into it.
    """

    shard_id: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record: sequence number, arrival time (ms since the epoch) and data."""

    sequence_number: int
    time_ms: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive records of a shard.

    Attributes:
        records: Records ordered by sequence number.
        iterator: Shard iterator of the next page; None at the end of a closed shard.
        behind_ms: How far the page lags behind the newest record of the shard, in milliseconds.
    """

    records: list[Record]
    iterator: str | None
    behind_ms: int


class KinesisStream:
    """A stream and its client.

    Args:
        name: Name or ARN of the stream.
        properties: Properties of the consumer.
    """

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        self.name = name
        self._where = properties.get(ENDPOINT) or properties[REGION]
        self._client = make_client("kinesis", properties)
        self._stream = stream_argument(name)

    def shards(self) -> list[Shard]:
        """Return all shards, including closed ones whose records have not expired.

        Raises:
            KinesisError: the stream does not exist, or Kinesis does not respond.
        """
        found, page = [], self._stream
        while True:
            answer = self._call("list the shards", partial(self._client.list_shards, **page))
            for shard in answer["Shards"]:
                parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
                found.append(Shard(shard["ShardId"], tuple(filter(None, parents))))
            if not answer.get("NextToken"):
                return sorted(found, key=lambda shard: shard.shard_id)
            page = {"NextToken": answer["NextToken"]}

    def iterator(self, shard_id: str, position: int) -> str:
        """Return a shard iterator for a position: a time, or the number after the last record read.

        Raises:
            KinesisError: the shard does not exist, or Kinesis does not respond.
        """
        if position >= 0:
            start: dict[str, object] = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                # A position is a number that no record need have; the one before it was read, and is known to the
                # shard.
                "StartingSequenceNumber": str(position - 1),
            }
        elif position == time_position(0):
            start = {"ShardIteratorType": "TRIM_HORIZON"}
        else:
            moment = datetime.datetime.fromtimestamp((position + _TIMES) / 1000, datetime.UTC)
            start = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
        what = f"find a position in shard {shard_id}"
        arguments = {**self._stream, "ShardId": shard_id, **start}
        return str(self._call(what, lambda: self._client.get_shard_iterator(**arguments))["ShardIterator"])

    def page(self, shard_id: str, iterator: str, limit: int) -> Page | None:
        """Return up to `limit` next records; None if the iterator expired or the read was throttled.

        Raises:
            KinesisError: Kinesis does not respond.
        """
        exceptions = self._client.exceptions
        try:
            answer = self._call(
                f"read shard {shard_id}",
                lambda: self._client.get_records(ShardIterator=iterator, Limit=limit),
                (exceptions.ExpiredIteratorException, exceptions.ProvisionedThroughputExceededException),
            )
        except (exceptions.ExpiredIteratorException, exceptions.ProvisionedThroughputExceededException):
            return None
        records = [
            Record(
                int(record["SequenceNumber"]),
                round(record["ApproximateArrivalTimestamp"].timestamp() * 1000),
                record["Data"],
            )
            for record in answer["Records"]
        ]
        return Page(records, answer.get("NextShardIterator"), answer.get("MillisBehindLatest", 0))

    def _call(self, what: str, call: Callable[[], Any], passing: tuple[type[Exception], ...] = ()) -> Any:
        try:
            return call()
        except passing:
            raise
        except Exception as error:
            raise KinesisError(f"Kinesis at {self._where}: could not {what} of {self.name!r}: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def stream_argument(name: str) -> dict[str, str]:
    """Return the request argument for a stream's name or ARN."""
    return {"StreamARN" if name.startswith("arn:") else "StreamName": name}
