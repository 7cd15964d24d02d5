"""Programs with object stores, Amazon's services, search servers, lake formats, HTTP, and what PyFlink 1 had."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import boto3

from tests.end_to_end.inputs import clicks, lines, orders
from tests.end_to_end.outcome import outcome
from tests.end_to_end.prepared import Prepared, Run
from tests.end_to_end.printed import printed_rows
from tests.end_to_end.systems import Systems
from tests.table import http_service

__all__ = ["OTHER_RUNS"]


def _s3(systems: Systems, inputs: Path, _: Path) -> Prepared:
    bucket, text = systems.bucket, lines(inputs / "text/lines.txt")
    for part in range(3):
        bucket.put(f"lines/{part}.txt", "\n".join(text[part::3]).encode())

    def left(_: str) -> object:
        return sorted(line for name in bucket.names("counts/") for line in bucket.read(name).decode().splitlines())

    counts = Counter(word for line in text for word in line.split())
    expected = sorted(f"{word}={count}" for word, count in counts.items())
    return Prepared({"bucket": bucket.name}, left, expected, options=bucket.options)


def _kinesis(systems: Systems, inputs: Path, _: Path) -> Prepared:
    amazon = systems.amazon
    for stream in ("readings", "alerts"):
        amazon.kinesis.create_stream(StreamName=stream, ShardCount=2)
    rows = [line.split(",") for line in lines(inputs / "sensors/readings.csv")]
    readings = [{"sensor": sensor, "at": at, "value": float(value)} for sensor, at, value in rows]
    amazon.put("readings", [json.dumps(reading) for reading in readings])
    return Prepared(
        {"endpoint": amazon.properties["aws.endpoint"]},
        lambda _: sorted(value for _, value in amazon.values("alerts")),
        sorted(json.dumps(reading) for reading in readings if reading["value"] > 30),
        batches=2,
    )


def _firehose(systems: Systems, inputs: Path, _: Path) -> Prepared:
    amazon = systems.amazon
    amazon.kinesis.create_stream(StreamName="clicks", ShardCount=1)
    amazon.put("clicks", [json.dumps(click) for click in clicks(inputs)])
    at = {"region_name": "us-east-1", "endpoint_url": amazon.properties["aws.endpoint"]}
    with closing(boto3.client("s3", **at)) as s3, closing(boto3.client("firehose", **at)) as client:
        s3.create_bucket(Bucket="paid")
        target = {"RoleARN": "arn:aws:iam::123456789012:role/r", "BucketARN": "arn:aws:s3:::paid"}
        client.create_delivery_stream(DeliveryStreamName="paid", ExtendedS3DestinationConfiguration=target)

    def left(_: str) -> object:
        with closing(boto3.client("s3", **at)) as s3:
            keys = [found["Key"] for found in s3.list_objects(Bucket="paid").get("Contents", [])]
            texts = [s3.get_object(Bucket="paid", Key=key)["Body"].read().decode() for key in keys]
        return sorted("".join(texts).replace("}{", "}\n{").splitlines())

    paid = [{"user": click["user"], "paid": click["ts"]} for click in clicks(inputs) if click["page"] == "/pay"]
    expected = sorted(json.dumps(one, separators=(",", ":")) for one in paid)
    return Prepared({"endpoint": at["endpoint_url"]}, left, expected, batches=2)


def _opensearch(systems: Systems, inputs: Path, _: Path) -> Prepared:
    url = systems.opensearch
    users = defaultdict(list)
    for click in clicks(inputs):
        users[click["page"], click["ts"][:10]].append(click["user"])

    def left(_: str) -> object:
        urlopen(Request(f"{url}/_refresh", method="POST"), timeout=30).close()
        with urlopen(f"{url}/pages/_search?size=100", timeout=30) as answer:
            return {hit["_id"]: hit["_source"] for hit in json.load(answer)["hits"]["hits"]}

    expected = {
        f"{page}@{day}": {"page": page, "seen": day, "n": len(found), "users": len({*found})}
        for (page, day), found in users.items()
    }
    return Prepared({"host": url, "input": inputs}, left, expected)


def _elasticsearch(systems: Systems, inputs: Path, _: Path) -> Prepared:
    model, url = systems.elasticsearch
    expected: dict[str, dict[str, Any]] = defaultdict(dict)
    for order in orders(inputs):
        document = {"id": str(order.id), "customer": order.customer, "product": order.product}
        expected[order.product][str(order.id)] = document | {"amount": str(order.amount)}
    return Prepared({"host": url, "input": inputs}, lambda _: model.indices, expected)


def _http(systems: Systems, inputs: Path, output: Path) -> Prepared:
    names = dict(line.split(",")[:2] for line in lines(inputs / "customers/customers.csv"))

    def customer(request: http_service.Request) -> tuple[int, str]:
        [key] = parse_qs(urlsplit(request.path).query)["id"]
        return (200, json.dumps({"id": key, "name": names[key]})) if key in names else (404, "")

    _, url = systems.served(customer)
    expected = sorted(f".: {order.id},{_quoted(names.get(order.customer))}" for order in orders(inputs))
    return Prepared({"url": url, "input": inputs, "output": output}, lambda printed: outcome(printed, output), expected)


def _quoted(name: str | None) -> str:
    return "nobody" if name is None else f'"{name}"'


def _iceberg(_: Systems, inputs: Path, output: Path) -> Prepared:
    groups = _by_product(inputs)
    expected = sorted(
        (key, str(len(found)), str(sum(o.amount for o in found)), str(min(o.id for o in found)))
        for key, found in groups.items()
        if key in ("p1", "p2", "p3")
    )
    return Prepared({"warehouse": output, "input": inputs}, printed_rows, expected)


def _delta(_: Systems, inputs: Path, output: Path) -> Prepared:
    rows = orders(inputs)
    early = Counter(order.product for order in rows if 50 < order.id <= 100)
    expected = [(str(len(rows)), str(sum(o.amount for o in rows))), *((key, str(n)) for key, n in early.items())]
    return Prepared({"path": output / "lake", "input": inputs}, printed_rows, sorted(expected))


def _orc(_: Systems, inputs: Path, output: Path) -> Prepared:
    expected = [(key, str(len(found)), str(sum(o.amount for o in found))) for key, found in _by_product(inputs).items()]
    return Prepared({"path": output / "archive", "input": inputs}, printed_rows, sorted(expected))


def _by_product(inputs: Path) -> dict[str, list[Any]]:
    groups = defaultdict(list)
    for order in orders(inputs):
        groups[order.product].append(order)
    return groups


def _faker(_: Systems, __: Path, ___: Path) -> Prepared:
    return Prepared({}, printed_rows, [("200", "200", "TRUE", "3")])


def _descriptors(_: Systems, inputs: Path, output: Path) -> Prepared:
    large = [order for order in orders(inputs) if order.amount > 20 and order.product != "p1"]
    counts = Counter(order.customer for order in large)
    expected = sorted(f".: {customer},{count}" for customer, count in counts.items())
    arguments = {"input": inputs, "output": output / "counts.csv"}
    return Prepared(arguments, lambda printed: outcome(printed, output), expected)


OTHER_RUNS = {
    "s3_word_count": Run(("S3 (moto)",), _s3),
    "kinesis_alerts": Run(("Kinesis (moto)",), _kinesis, is_nightly=True),
    "kinesis_to_firehose": Run(("Kinesis (moto)", "Firehose (moto)"), _firehose),
    "opensearch_index": Run(("files", "OpenSearch (osmem)"), _opensearch, is_nightly=True),
    "elasticsearch_sink": Run(("files", "Elasticsearch (bulk API)"), _elasticsearch, is_nightly=True),
    "http_lookup": Run(("files", "HTTP"), _http),
    "iceberg_lake": Run(("files", "Iceberg"), _iceberg, is_nightly=True),
    "delta_table": Run(("files", "Delta Lake"), _delta),
    "spark_orc": Run(("files", "Spark's ORC"), _orc, is_nightly=True),
    "faker_people": Run(("faker",), _faker),
    "descriptors_of_flink_1": Run(("files",), _descriptors),
}
