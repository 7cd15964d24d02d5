"""Programs with databases: PostgreSQL, MariaDB, Redis, ClickHouse, and a stand-in for MongoDB."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.end_to_end.inputs import clicks, lines, orders
from tests.end_to_end.outcome import outcome
from tests.end_to_end.prepared import Prepared, Run
from tests.end_to_end.printed import printed_rows
from tests.end_to_end.systems import Systems

__all__ = ["DATABASE_RUNS"]

_ORDERS = "CREATE TABLE IF NOT EXISTS orders (id int, customer text, product text, amount numeric(10, 2), ts timestamp)"
_CUSTOMERS = "CREATE TABLE IF NOT EXISTS customers (id varchar(9) PRIMARY KEY, name varchar(20), city varchar(20))"


def _lookup(systems: Systems, inputs: Path, output: Path) -> Prepared:
    postgres, known = systems.postgresql, _customers(inputs)
    values = [f"('{key}', '{name}', '{city}')" for key, (name, city) in known.items()]
    postgres.execute(_CUSTOMERS, f"INSERT INTO customers VALUES {', '.join(values)}")
    rows = [(order.id, *known.get(order.customer, (None, None)), order.amount) for order in orders(inputs)]
    expected = [
        f'.: {{"id":{number},"name":{_json(name)},"city":{_json(city)},"amount":{amount.normalize():f}}}'
        for number, name, city, amount in rows
    ]
    arguments = {"url": f"jdbc:{postgres.url}", "input": inputs, "output": output}
    return Prepared(arguments, lambda printed: outcome(printed, output), sorted(expected))


def _sink(systems: Systems, inputs: Path, _: Path) -> Prepared:
    postgres = systems.postgresql
    key = "PRIMARY KEY (customer, product)"
    postgres.execute(f"CREATE TABLE last_orders (customer text, product text, id int, amount float, {key})")
    last = {(order.customer, order.product): (order.id, float(order.amount)) for order in orders(inputs)}
    return Prepared(
        {"url": f"jdbc:{postgres.url}", "input": inputs},
        lambda _: sorted(postgres.execute("SELECT * FROM last_orders")),
        sorted((*key, *values) for key, values in last.items()),
    )


def _to_mariadb(systems: Systems, inputs: Path, _: Path) -> Prepared:
    mariadb, known = systems.mariadb, _customers(inputs)
    values = [f"('{key}', '{name}', '{city}')" for key, (name, city) in known.items()]
    mariadb.execute(
        _CUSTOMERS,
        f"INSERT INTO customers VALUES {', '.join(values)}",
        "CREATE TABLE cities (city varchar(20) PRIMARY KEY, orders bigint, most decimal(10, 2))",
    )
    amounts = defaultdict(list)
    for order in orders(inputs):
        if order.customer in known:
            amounts[known[order.customer][1]].append(order.amount)
    return Prepared(
        {"postgres": f"jdbc:{_with_orders(systems, inputs)}", "mariadb": f"jdbc:mysql://127.0.0.1:{mariadb.port}/test"},
        lambda _: sorted(mariadb.execute("SELECT * FROM cities")),
        sorted((city, len(found), max(found)) for city, found in amounts.items()),
    )


def _mysql_cdc(systems: Systems, _: Path, __: Path) -> Prepared:
    mariadb, postgres = systems.mariadb, systems.postgresql
    mariadb.execute(
        "CREATE TABLE products (id int PRIMARY KEY, price int)",
        "INSERT INTO products SELECT seq, seq * 9 FROM seq_1_to_100",
    )
    postgres.execute("CREATE TABLE product_totals (hundreds int PRIMARY KEY, n bigint, price bigint)")
    changes = ("UPDATE products SET price = 50 WHERE id > 90", "DELETE FROM products WHERE id BETWEEN 20 AND 40")
    groups = defaultdict(list)
    for price in [n * 9 if n <= 90 else 50 for n in range(1, 101) if not 20 <= n <= 40]:
        groups[price // 100].append(price)
    return Prepared(
        {"host": "127.0.0.1", "port": mariadb.port, "url": f"jdbc:{postgres.url}"},
        lambda _: sorted(postgres.execute("SELECT * FROM product_totals")),
        sorted((key, len(found), sum(found)) for key, found in groups.items()),
        batches=6,
        between=lambda: mariadb.execute(*changes),
    )


def _to_s3(systems: Systems, inputs: Path, _: Path) -> Prepared:
    bucket = systems.bucket
    groups = defaultdict(list)
    for order in orders(inputs):
        if order.amount > 10:
            groups[order.product].append(order.amount)
    return Prepared(
        {"url": f"jdbc:{_with_orders(systems, inputs)}", "target": bucket.uri("archive")},
        printed_rows,
        sorted((key, f"{len(found)}", f"{sum(found)}") for key, found in groups.items()),
        options=bucket.options,
    )


def _redis(systems: Systems, inputs: Path, output: Path) -> Prepared:
    redis = pytest.importorskip("redis")
    counts = Counter((click["user"], click["page"]) for click in clicks(inputs))
    expected: dict[str, dict[str, str]] = defaultdict(dict)
    for (user, page), count in counts.items():
        expected[user][page] = str(count)

    def left(_: str) -> object:
        with redis.Redis("127.0.0.1", systems.redis, decode_responses=True) as client:
            return {key: client.hgetall(key) for key in client.scan_iter()}

    return Prepared({"port": systems.redis, "input": inputs, "output": output}, left, expected)


def _mongodb(systems: Systems, inputs: Path, _: Path) -> Prepared:
    pymongo = pytest.importorskip("pymongo")
    pages = defaultdict(list)
    for click in clicks(inputs):
        pages[click["user"]].append(click["page"])
    counts = {user: (len(found), found.count("/shop"), found.count("/cart")) for user, found in pages.items()}

    def left(printed: str) -> object:
        with closing(pymongo.MongoClient(systems.mongodb)) as client:
            found = {one["_id"]: (one["clicks"], *one["pages"].values()) for one in client["web"]["profiles"].find()}
        return found, printed_rows(printed)

    rows = sorted((user, *map(str, numbers)) for user, numbers in counts.items() if user != "u3")
    return Prepared({"uri": systems.mongodb, "input": inputs}, left, (counts, rows))


def _clickhouse(systems: Systems, inputs: Path, _: Path) -> Prepared:
    url = systems.clickhouse
    _in_clickhouse(url, "CREATE TABLE totals (product String, n Int64, cents Int64) ENGINE = Memory")
    groups = defaultdict(list)
    for order in orders(inputs):
        groups[order.product].append(int(order.amount * 100))
    rows = sorted((key, len(found), sum(found)) for key, found in groups.items())

    def left(printed: str) -> object:
        return _in_clickhouse(url, "SELECT * FROM totals ORDER BY product FORMAT CSV"), printed_rows(printed)

    stored = "".join(f'"{key}",{count},{total}\n' for key, count, total in rows)
    shown = [(key, str(count), str(total)) for key, count, total in rows if count > 40]
    return Prepared({"url": url.replace("http:", "clickhouse:"), "input": inputs}, left, (stored, shown))


DATABASE_RUNS = {
    "postgres_lookup": Run(("files", "PostgreSQL"), _lookup),
    "jdbc_sink": Run(("files", "PostgreSQL"), _sink),
    "postgres_to_mariadb": Run(("PostgreSQL", "MariaDB"), _to_mariadb, is_nightly=True),
    "mysql_cdc_totals": Run(("MariaDB CDC", "PostgreSQL"), _mysql_cdc, is_nightly=True),
    "postgres_to_s3": Run(("PostgreSQL", "S3 (moto)"), _to_s3),
    "redis_counts": Run(("files", "Redis"), _redis),
    "mongodb_profiles": Run(("files", "MongoDB (SecantusDB)"), _mongodb, is_nightly=True),
    "clickhouse_totals": Run(("files", "ClickHouse"), _clickhouse, is_nightly=True),
}


def _with_orders(systems: Systems, inputs: Path) -> str:
    """Return the address of a server that has the orders."""
    values = ", ".join(f"({o.id}, '{o.customer}', '{o.product}', {o.amount}, '{o.ts}')" for o in orders(inputs))
    systems.postgresql.execute(_ORDERS, "TRUNCATE orders", f"INSERT INTO orders VALUES {values}")
    return systems.postgresql.url


def _customers(inputs: Path) -> dict[str, tuple[str, str]]:
    rows = [line.split(",") for line in lines(inputs / "customers/customers.csv")]
    return {key: (name, city) for key, name, city in rows}


def _json(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'


def _in_clickhouse(url: str, statement: str) -> str:
    headers = {"X-ClickHouse-User": "tester", "X-ClickHouse-Key": "secret"}
    with urlopen(Request(url, statement.encode(), headers), timeout=30) as answer:
        text: str = answer.read().decode()
    return text
