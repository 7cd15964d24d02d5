"""TPC-H gives what DuckDB gives: in BATCH mode in order, in STREAMING mode the rows that remain."""

from __future__ import annotations

import math
from decimal import Decimal

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.table.environments import environment, remaining
from tests.table.tpch.data import tables
from tests.table.tpch.queries import QUERIES

pytestmark = pytest.mark.slow

ORDERS = 1_000
TYPES = {
    "int64": "BIGINT",
    "int32": "INT",
    "string": "STRING",
    "date32[day]": "DATE",
    "decimal128(15, 2)": "DECIMAL(15, 2)",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("tpch")
    for name, table in tables(ORDERS).items():
        (made / name).mkdir()
        half = len(table) // 2
        pq.write_table(table[:half], made / name / "first.parquet")
        pq.write_table(table[half:], made / name / "second.parquet")
    return made


@pytest.fixture(scope="module")
def database(directory):
    made = duckdb.connect()
    for path in directory.iterdir():
        made.execute(f"CREATE TABLE {path.name} AS SELECT * FROM '{path}/*.parquet'")
    yield made
    made.close()


@pytest.fixture(scope="module", params=["batch", "streaming", "reordered"])
def mode_and_tables(request, directory):
    mode = "streaming" if request.param == "streaming" else "batch"
    reorders = str(request.param == "reordered").lower()
    made = environment(mode, **{"table.optimizer.join-reorder-enabled": reorders})
    for path in directory.iterdir():
        schema = pq.read_schema(path / "first.parquet")
        columns = ", ".join(f"{field.name} {TYPES[str(field.type)]}" for field in schema)
        made.execute_sql(
            f"CREATE TABLE {path.name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', "
            "'format' = 'parquet')"
        )
    return mode, made


def plain(rows):
    """Numbers as floats: averages of decimals have other scales in DuckDB."""
    return [[float(value) if isinstance(value, Decimal) else value for value in row] for row in rows]


def same(ours, theirs):
    pairs = [pair for row in zip(ours, theirs, strict=True) for pair in zip(*row, strict=True)]
    return all(math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) else a == b for a, b in pairs)


@pytest.mark.parametrize("number", QUERIES)
def test_a_query_has_the_rows_of_duckdb(number, mode_and_tables, database):
    mode, made = mode_and_tables
    query = QUERIES[number]
    expected = plain(database.execute(query).fetchall())
    assert expected
    if mode == "streaming" and "LIMIT" not in query:  # A stream is not sorted as a whole.
        query = query.partition("ORDER BY")[0]
    found = plain(remaining(made.sql_query(query)))
    if mode == "streaming":
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    assert same(found, expected)
