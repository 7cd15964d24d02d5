"""Snapshot and log of `postgres-cdc`, against a loop over the rows of a plain SELECT and COPY of the same table.

python benchmarks/bench_postgres_cdc.py [rows]

The source is read in this process, as a subtask reads it, up to column batches. The server is one of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import harness
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.splits import UNITS_PER_ROW
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.postgres_cdc.source import PostgresCdcSource
from firesteel.connectors.table_connector import Column
from firesteel.functions.source_reading import SourceReaderContext
from firesteel.functions.splits import Known, Split, SplitRange
from tests.table.captured_tables import Server, server

COLUMNS = {
    "id": t.BigIntType(),
    "customer": t.IntType(),
    "amount": t.DecimalType(10, 2),
    "name": t.VarCharType(100),
    "at": t.TimestampType(6),
}
TABLE = "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount numeric(10, 2), name text, at timestamp)"
ROWS = "SELECT n, n % 1000, n % 100000 / 100.0, 'name of ' || n, timestamp '2024-01-01' + n * interval '1 s'"


def seconds(action: Callable[[], int], expected: int) -> float:
    """The best of three runs, each of which must return the number of rows."""
    found = []
    for _ in range(3):
        begin = time.perf_counter()
        assert action() == expected
        found.append(time.perf_counter() - begin)
    return min(found)


def settings(postgres: Server, slot: str) -> CdcSettings:
    given = postgres.options("orders")
    address = Address(given["hostname"], int(given["port"]), "tester", "-", "postgres", "public", "orders")
    columns = tuple(Column(name, kind) for name, kind in COLUMNS.items())
    return CdcSettings(address=address, slot=slot, columns=columns, is_parallel=True, fetch_rows=8192)


def snapshot(postgres: Server, slot: str) -> int:
    source = PostgresCdcSource(settings(postgres, slot))
    enumerator, reader = source.create_enumerator({}), source.create_reader(SourceReaderContext(0, {}))
    splits, _ = enumerator.discover(1, Known())
    return sum(read(reader, split, split.start, split.end) for split in splits)


def read(reader, split: Split, start: int, end: int) -> int:
    return sum(len(batch) for chunk in reader.read(SplitRange(split, start, end)) for batch in chunk)


def selected(postgres: Server) -> int:
    with psycopg.connect(postgres.url) as connection, connection.cursor("rows") as cursor:
        cursor.itersize = 8192
        return sum(1 for _ in cursor.execute("SELECT * FROM orders"))


def copied(postgres: Server) -> int:
    with psycopg.connect(postgres.url) as connection, connection.cursor().copy("COPY orders TO STDOUT") as copy:
        return sum(1 for _ in copy)


def log(postgres: Server, rows: int) -> float:
    """Return the seconds to read the log of that many updates, in ranges as batches have them."""
    postgres.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    source = PostgresCdcSource(settings(postgres, "log"))
    enumerator, reader = source.create_enumerator({}), source.create_reader(SourceReaderContext(0, {}))
    splits, _ = enumerator.discover(1, Known())
    (split,), _ = enumerator.discover(1, Known({one.split_id for one in splits}, {}, is_first=False))
    for first in range(0, rows, 1000):
        postgres.execute(f"UPDATE orders SET amount = amount + 1 WHERE id BETWEEN {first + 1} AND {first + 1000}")
    (end,), _ = enumerator.discover(1, Known(set(), {split.split_id: split}, is_first=False))
    begin, found, position, step = time.perf_counter(), 0, split.start, 100_000 * UNITS_PER_ROW
    while position < end.end:
        found += read(reader, split, position, min(position + step, end.end))
        position += step
    assert found == 2 * rows, found
    return time.perf_counter() - begin


def main(rows: int) -> None:
    with server() as postgres:
        postgres.execute(
            TABLE, f"INSERT INTO orders {ROWS} FROM generate_series(1, {rows}) AS n", "VACUUM ANALYZE orders"
        )
        figures = {
            "firesteel, chunks of 8,096 rows, to column batches": seconds(lambda: snapshot(postgres, "snapshot"), rows),
            "SELECT with a cursor, to tuples": seconds(lambda: selected(postgres), rows),
            "COPY, to lines that nobody reads": seconds(lambda: copied(postgres), rows),
        }
        changes = rows // 5
        log_s = log(postgres, changes)
    own = next(iter(figures.values()))
    cells = [[name, f"{s:.2f}", f"{rows / s:,.0f}", f"{s / own:.2f}"] for name, s in figures.items()]
    report = [
        "# postgres-cdc", "", f"`python benchmarks/bench_postgres_cdc.py {rows}`, one process and one connection.",
        "The server is PostgreSQL on the same machine, without fsync.", "", harness.environment_line(), "",
        f"## Snapshot of {rows:,} rows of five columns, the best of three runs", "",
        *harness.table("way | seconds | rows/s | firesteel is times as fast", cells), "",
        f"## Log of {changes:,} updates in transactions of 1,000, each an old and a new row", "",
        f"{log_s:.2f} s: {changes / log_s:,.0f} updates/s.", "",
    ]  # fmt: skip
    harness.write_report("postgres_cdc", "\n".join(report))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
