"""Tables of a PostgreSQL server that are captured with their changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.table.captured_tables import Server, capture, changes, folded, server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as found:
        yield found


def test_a_table_and_its_changes(postgres: Server, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, name text)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "INSERT INTO orders SELECT n, 'name ' || n FROM generate_series(1, 250) AS n",
    )
    options = postgres.options("orders") | {
        "scan.incremental.snapshot.enabled": "true",
        "scan.incremental.snapshot.chunk.size": "60",
    }
    columns = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
    first = capture(columns, options, tmp_path, batches=8)
    assert len(changes(first)) == 250
    postgres.execute("UPDATE orders SET name = 'new' WHERE id < 4", "DELETE FROM orders WHERE id = 5")
    second = capture(columns, options, tmp_path, batches=8)
    print(changes(second))
    assert folded(changes(first) + changes(second)) == sorted(postgres.execute("SELECT * FROM orders"), key=repr)
