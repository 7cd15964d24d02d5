"""TPC-H gives what DuckDB gives: in BATCH mode in order, in STREAMING mode the rows that remain."""

from __future__ import annotations

import pytest

from tests.table.environments import environment, remaining
from tests.table.parquet_tables import declare, in_duckdb, plain, same, write_halves
from tests.table.tpch.data import tables
from tests.table.tpch.queries import QUERIES

pytestmark = pytest.mark.slow

ORDERS = 1_000


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("tpch")
    for name, table in tables(ORDERS).items():
        write_halves(table, made / name)
    return made


@pytest.fixture(scope="module")
def database(directory):
    made = in_duckdb(directory)
    yield made
    made.close()


@pytest.fixture(scope="module", params=["batch", "streaming", "reordered"])
def mode_and_tables(request, directory):
    mode = "streaming" if request.param == "streaming" else "batch"
    reorders = str(request.param == "reordered").lower()
    made = environment(mode, **{"table.optimizer.join-reorder-enabled": reorders})
    declare(made, directory)
    return mode, made


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
