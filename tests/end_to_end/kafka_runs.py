"""Programs with Kafka, as broker the one of `tests/kafka`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet

from tests.end_to_end.inputs import Order, clicks, lines, orders
from tests.end_to_end.prepared import Prepared, Run, numbered
from tests.end_to_end.systems import Systems
from tests.kafka.broker import Broker

__all__ = ["KAFKA_RUNS"]


def _word_count(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka = _with_topics(systems, "lines", "counts")
    text = lines(inputs / "text/lines.txt")
    kafka.write("lines", text)
    words = [word for line in text for word in line.split()]
    return Prepared({"servers": kafka.servers}, lambda _: kafka.values("counts"), numbered(words))


def _exactly_once(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka = _with_topics(systems, "payments", "balances")
    _write_orders(kafka, "payments", orders(inputs))
    expected, cents = [], Counter[str]()
    for order in orders(inputs):
        cents[order.customer] += int(order.amount * 100)
        expected.append({"customer": order.customer, "cents": cents[order.customer], "after": order.id})
    return Prepared({"servers": kafka.servers}, lambda _: _documents(kafka, "balances"), _by_text(expected))


def _of_flink_1(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka = _with_topics(systems, "orders_1", "large_1")
    _write_orders(kafka, "orders_1", orders(inputs))
    large = [{"id": order.id, "amount": float(order.amount)} for order in orders(inputs) if order.amount > 50]
    return Prepared({"servers": kafka.servers}, lambda _: _documents(kafka, "large_1"), _by_text(large), batches=2)


def _page_windows(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka = _with_topics(systems, "clicks", "page_counts")
    kafka.write("clicks", [*map(json.dumps, clicks(inputs)), "no JSON"])
    users = defaultdict(list)
    for click in clicks(inputs):
        users[f"{click['ts'][:10]}T{click['ts'][11:15]}0:00", click["page"]].append(click["user"])
    expected = [
        {"start_time": start, "page": page, "n": len(found), "users": len({*found})}
        for (start, page), found in users.items()
    ]
    return Prepared({"servers": kafka.servers}, lambda _: _documents(kafka, "page_counts"), _by_text(expected))


def _to_postgres(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka, postgres = _with_topics(systems, "orders"), systems.postgresql
    _write_orders(kafka, "orders", orders(inputs))
    postgres.execute("CREATE TABLE customer_totals (customer text PRIMARY KEY, n bigint, amount numeric(20, 2))")
    amounts = defaultdict(list)
    for order in orders(inputs):
        amounts[order.customer].append(order.amount)
    return Prepared(
        {"servers": kafka.servers, "url": f"jdbc:{postgres.url}"},
        lambda _: sorted(postgres.execute("SELECT * FROM customer_totals")),
        sorted((customer, len(found), sum(found)) for customer, found in amounts.items()),
    )


def _upsert(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka = _with_topics(systems, "last_in", "last_orders")
    _write_orders(kafka, "last_in", orders(inputs))
    last = {order.customer: order for order in orders(inputs)}
    expected = {
        customer: {"customer": customer, "id": order.id, "amount": float(order.amount)}
        for customer, order in last.items()
        if order.amount >= 20
    }
    return Prepared({"servers": kafka.servers}, lambda _: _compacted(kafka, "last_orders", "customer"), expected)


def _to_files(systems: Systems, inputs: Path, output: Path) -> Prepared:
    kafka = _with_topics(systems, "to_files")
    _write_orders(kafka, "to_files", orders(inputs))

    def left(_: str) -> object:
        rows = pyarrow.parquet.read_table(output).to_pylist()
        return sorted(map(repr, rows)), sorted(path.parent.name for path in output.rglob("_SUCCESS"))

    rows = [
        {"id": order.id, "amount": float(order.amount), "customer": order.customer, "at_hour": int(order.ts[11:13])}
        for order in orders(inputs)
    ]
    hours = {f"at_hour={row['at_hour']}" for row in rows}
    return Prepared({"servers": kafka.servers, "output": output}, left, (sorted(map(repr, rows)), sorted(hours)))


def _avro(systems: Systems, inputs: Path, output: Path) -> Prepared:
    kafka = _with_topics(systems, "avro_orders")

    def left(_: str) -> object:
        return sorted(line for path in output.rglob("*") if path.is_file() for line in lines(path))

    expected = sorted(f"{o.id},{o.customer},{o.product},{o.amount.normalize():f},{o.ts}" for o in orders(inputs))
    return Prepared({"servers": kafka.servers, "input": inputs, "output": output}, left, expected)


def _cdc(systems: Systems, inputs: Path, _: Path) -> Prepared:
    kafka, postgres = _with_topics(systems, "products"), systems.postgresql
    postgres.execute(
        "CREATE TABLE products (id int PRIMARY KEY, price int)",
        "ALTER TABLE products REPLICA IDENTITY FULL",
        "INSERT INTO products SELECT n, n * 5 FROM generate_series(1, 100) AS n",
    )
    changes = (
        "UPDATE products SET price = 7 WHERE id % 10 = 0",
        "DELETE FROM products WHERE id % 7 = 0",
        "INSERT INTO products VALUES (200, 999), (201, 3)",
    )
    prices = {n: 7 if n % 10 == 0 else n * 5 for n in range(1, 101) if n % 7} | {200: 999, 201: 3}
    return Prepared(
        _host_and_port(postgres.url) | {"servers": kafka.servers},
        lambda _: _compacted(kafka, "products", "id"),
        {n: {"id": n, "price": price} for n, price in prices.items() if price > 10},
        batches=6,
        between=lambda: postgres.execute(*changes),
    )


KAFKA_RUNS = {
    "kafka_word_count": Run(("Kafka",), _word_count, is_nightly=True),
    "kafka_exactly_once": Run(("Kafka",), _exactly_once),
    "kafka_consumer_of_flink_1": Run(("Kafka",), _of_flink_1, is_nightly=True),
    "kafka_page_windows": Run(("Kafka",), _page_windows, is_nightly=True),
    "kafka_to_postgres": Run(("Kafka", "PostgreSQL"), _to_postgres),
    "kafka_upsert": Run(("Kafka",), _upsert, is_nightly=True),
    "kafka_to_files": Run(("Kafka", "files"), _to_files),
    "kafka_avro": Run(("files", "Kafka"), _avro, is_nightly=True),
    "postgres_cdc_to_kafka": Run(("PostgreSQL CDC", "Kafka"), _cdc),
}


def _with_topics(systems: Systems, *names: str) -> Broker:
    for name in names:
        systems.kafka.create(name)
    return systems.kafka


def _write_orders(kafka: Broker, topic: str, rows: Iterable[Order]) -> None:
    kafka.write(topic, [json.dumps(order._asdict(), default=_number) for order in rows])


def _number(value: Decimal) -> float:
    return float(value)


def _documents(kafka: Broker, topic: str) -> list[str]:
    return _by_text([json.loads(value) for value in kafka.values(topic)])


def _by_text(documents: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, documents))


def _compacted(kafka: Broker, topic: str, key: str) -> dict[object, object]:
    """Return the last value of each key that is not deleted."""
    found = {}
    for message in kafka.read(topic):
        found[json.loads(message.key())[key]] = message.value()
    return {name: json.loads(value) for name, value in found.items() if value is not None}


def _host_and_port(url: str) -> dict[str, object]:

    at = urlsplit(url)
    return {"host": at.hostname, "port": at.port}
