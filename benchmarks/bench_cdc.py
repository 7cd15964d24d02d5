"""Snapshot and log of `postgres-cdc` and `mysql-cdc`, against loops over the rows of the same table.

python benchmarks/bench_cdc.py postgres|mysql [rows]

The source is read in this process, as a subtask reads it, up to column batches. The server is one of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import harness
import psycopg
import pymysql

sys.path.insert(0, str(Path(__file__).parents[1]))

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.splits import UNITS_PER_ROW
from firesteel.connectors.mysql_cdc.settings import CdcSettings as MySqlSettings
from firesteel.connectors.mysql_cdc.settings import Server as MySqlAddress
from firesteel.connectors.mysql_cdc.source import MySqlCdcSource
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.postgres_cdc.source import PostgresCdcSource
from firesteel.connectors.table_connector import Column
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import SourceReaderContext
from firesteel.functions.splits import Known, Split, SplitRange
from tests.table.captured_mysql import MySqlServer, mysql_server
from tests.table.captured_tables import Server, server

COLUMNS = {
    "id": t.BigIntType(),
    "customer": t.IntType(),
    "amount": t.DecimalType(10, 2),
    "name": t.VarCharType(100),
    "at": t.TimestampType(6),
}
READ = {"columns": tuple(Column(name, kind) for name, kind in COLUMNS.items()), "is_parallel": True, "fetch_rows": 8192}
TRANSACTIONS = {1000: 5, 1: 50}
"""Changes of a transaction, and rows of the table per change."""


class Took(NamedTuple):
    """Seconds that passed, and those of the processor that this process took: others may be at work beside it."""

    seconds: float
    cpu_s: float


class Database(Protocol):
    """A server with a table `orders`."""

    title: str

    def create(self, rows: int) -> None:
        """Create the table."""

    def source(self, slot: str) -> Source:
        """The source; PostgreSQL needs a slot."""

    def plain(self) -> Mapping[str, Callable[[], int]]:
        """Ways to read the table without the source; each returns the number of rows."""

    def execute(self, *statements: str) -> object:
        """Run statements."""


class Postgres:
    title = "PostgreSQL"

    def __init__(self, postgres: Server) -> None:
        self._postgres = postgres
        self.execute = postgres.execute

    def create(self, rows: int) -> None:
        self.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount numeric(10, 2), name text, at timestamp)",
            "INSERT INTO orders SELECT n, n % 1000, n % 100000 / 100.0, 'name of ' || n, timestamp '2024-01-01' + "
            f"n * interval '1 s' FROM generate_series(1, {rows}) AS n",
            "VACUUM ANALYZE orders",
            "ALTER TABLE orders REPLICA IDENTITY FULL",
        )

    def source(self, slot: str) -> Source:
        given = self._postgres.options("orders")
        address = Address(given["hostname"], int(given["port"]), "tester", "-", "postgres", "public", "orders")
        return PostgresCdcSource(CdcSettings(address=address, slot=slot, **READ))

    def plain(self) -> Mapping[str, Callable[[], int]]:
        def selected() -> int:
            with psycopg.connect(self._postgres.url) as connection, connection.cursor("rows") as cursor:
                cursor.itersize = 8192
                return sum(1 for _ in cursor.execute("SELECT * FROM orders"))

        def copied() -> int:
            copy = "COPY orders TO STDOUT"
            with psycopg.connect(self._postgres.url) as connection, connection.cursor().copy(copy) as lines:
                return sum(1 for _ in lines)

        def copied_rows() -> int:
            copy = "COPY orders TO STDOUT"
            with psycopg.connect(self._postgres.url) as connection, connection.cursor().copy(copy) as lines:
                return sum(1 for _ in lines.rows())

        return {
            "SELECT with a cursor, to tuples": selected,
            "COPY, to tuples of texts": copied_rows,
            "COPY, to lines that nobody reads": copied,
        }


class MariaDb:
    title = "MariaDB"

    def __init__(self, mysql: MySqlServer) -> None:
        self._mysql = mysql
        self.execute = mysql.execute

    def create(self, rows: int) -> None:
        self.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount decimal(10, 2), name varchar(100), "
            "at datetime(6))",
            "INSERT INTO orders SELECT seq, seq % 1000, seq % 100000 / 100, concat('name of ', seq), "
            f"'2024-01-01' + interval seq second FROM seq_1_to_{rows}",
            "FLUSH BINARY LOGS",
        )

    def source(self, slot: str) -> Source:
        server = MySqlAddress("127.0.0.1", self._mysql.port, "tester", "se&cret")
        return MySqlCdcSource(MySqlSettings(server=server, tables=r"test\.orders", **READ))

    def plain(self) -> Mapping[str, Callable[[], int]]:
        def selected() -> int:
            with closing(self._mysql.connect()) as connection:
                cursor = connection.cursor(pymysql.cursors.SSCursor)
                cursor.execute("SELECT * FROM orders")
                return sum(1 for _ in cursor)

        return {"SELECT with a cursor, to tuples": selected}


@contextmanager
def postgres() -> Iterator[Database]:
    with server() as found:
        yield Postgres(found)


@contextmanager
def mysql() -> Iterator[Database]:
    with mysql_server() as found:
        yield MariaDb(found)


def best(action: Callable[[], int], expected: int) -> Took:
    """The best of three runs, each of which must return the number of rows."""
    return min(timed(action, expected) for _ in range(3))


def timed(action: Callable[[], int], expected: int) -> Took:
    begin, cpu = time.perf_counter(), time.process_time()
    rows = action()
    assert rows == expected, (rows, expected)
    return Took(time.perf_counter() - begin, time.process_time() - cpu)


def read(reader, split: Split, start: int, end: int) -> int:
    return sum(len(batch) for chunk in reader.read(SplitRange(split, start, end)) for batch in chunk)


def opened(source: Source):
    return source.create_enumerator({}), source.create_reader(SourceReaderContext(0, {}))


def snapshot(source: Source) -> int:
    enumerator, reader = opened(source)
    rows, keys, first = 0, set(), True
    while True:
        splits, _ = enumerator.discover(1, Known(keys, {}, is_first=first))
        first = False
        if any(split.grows for split in splits):
            return rows
        rows += sum(read(reader, split, split.start, split.end) for split in splits)
        keys |= {split.split_id for split in splits}


def log(database: Database, rows: int, transaction: int) -> Took:
    """Read the log of that many updates, in ranges as batches have them."""
    enumerator, reader = opened(database.source(f"log_{transaction}"))
    keys, first = set(), True
    while True:
        splits, _ = enumerator.discover(1, Known(keys, {}, is_first=first))
        first = False
        if any(split.grows for split in splits):
            break
        keys |= {one.split_id for one in splits}
    (split,) = splits
    of_transactions = (f"id BETWEEN {start + 1} AND {start + transaction}" for start in range(0, rows, transaction))
    database.execute(*(f"UPDATE orders SET amount = amount + 1 WHERE {ids}" for ids in of_transactions))
    (end,), _ = enumerator.discover(1, Known(set(), {split.split_id: split}, is_first=False))

    def ranges() -> int:
        found, position = 0, split.start
        while position < end.end:
            stop = min(end.stop_after(position, 100_000 * UNITS_PER_ROW), end.end)
            found += read(reader, end, position, stop)
            position = stop
        return found

    return timed(ranges, 2 * rows)


def main(name: str, rows: int) -> None:
    with {"postgres": postgres, "mysql": mysql}[name]() as database:
        database.create(rows)
        figures = {
            "firesteel, chunks of 8,096 rows, to column batches": best(
                lambda: snapshot(database.source("snapshot")), rows
            )
        }
        figures |= {way: best(action, rows) for way, action in database.plain().items()}
        logs = {size: (rows // part, log(database, rows // part, size)) for size, part in TRANSACTIONS.items()}
    own = next(iter(figures.values()))
    ways = [
        [way, f"{s:.2f}", f"{rows / s:,.0f}", f"{s / own.seconds:.2f}", f"{cpu:.2f}", f"{cpu / own.cpu_s:.2f}"]
        for way, (s, cpu) in figures.items()
    ]
    read_logs = [
        [f"{size:,}", f"{count:,}", f"{s:.2f}", f"{count / s:,.0f}", f"{cpu:.2f}", f"{count / cpu:,.0f}"]
        for size, (count, (s, cpu)) in logs.items()
    ]
    report = [
        f"# {name}-cdc", "", f"`python benchmarks/bench_cdc.py {name} {rows}`, one process and one connection.",
        f"The server is {database.title} on the same machine, without fsync. CPU is that of the reading process.",
        "", harness.environment_line(), "",
        f"## Snapshot of {rows:,} rows of five columns, the best of three runs", "",
        *harness.table("way | s | rows/s | firesteel is times as fast | CPU s | times less CPU", ways), "",
        "## Log of updates, each an old and a new row", "",
        *harness.table("changes per transaction | updates | s | updates/s | CPU s | updates per CPU s", read_logs), "",
    ]  # fmt: skip
    harness.write_report(f"{name}_cdc", "\n".join(report))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
