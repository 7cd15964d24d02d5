"""TPC-DS gives what DuckDB gives, in BATCH mode: the queries with their variants, and the same ones over other rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from firesteel.errors import JobExecutionError
from firesteel.table import TableEnvironment
from tests.table.environments import environment, remaining
from tests.table.parquet_tables import declare, in_duckdb, plain, same
from tests.table.tpcds.queries import queries, write_tables

pytestmark = pytest.mark.slow

SCALE = 0.003
EVERY = 1 if os.environ.get("FIRESTEEL_ALL_TPCDS") else 7
"""By default each seventh query runs, of both kinds."""

QUERIES = queries()

DIVIDES_BY_ZERO = ("q12", "q90", "q90 over other rows")
"""Jobs that fail, as Flink's do; DuckDB has NULL."""

DIVIDES_INTEGERS = ("q21", "q34", "q78", "q83")
NO_TOTAL = ("q18", "q27 over other rows", "q36 over other rows", "q80 over other rows")
"""ROLLUP over no rows: Flink has no total, DuckDB has one."""

TIES = ("q49 over other rows", "q86 over other rows")
"""Rows at the limit that ORDER BY finds equal, and ranks that rounding decides."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tpcds")
    write_tables(made, SCALE)
    return made / "tables"


@pytest.fixture(scope="module")
def database(directory: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    made = in_duckdb(directory)
    yield made
    made.close()


@pytest.fixture(scope="module")
def t_env(directory: Path) -> TableEnvironment:
    made = environment("batch")
    declare(made, directory)
    return made


@pytest.mark.parametrize("name", list(QUERIES)[::EVERY])
def test_a_query_has_the_rows_of_duckdb(
    name: str, t_env: TableEnvironment, database: duckdb.DuckDBPyConnection
) -> None:
    table = t_env.sql_query(QUERIES[name])
    database.execute(f"SET integer_division = {name.partition(' ')[0] in DIVIDES_INTEGERS}")
    expected = rows_of(database, QUERIES[name])
    if expected is None or name in DIVIDES_BY_ZERO:
        error = "Division by zero" if name in DIVIDES_BY_ZERO else "received more than one element"
        with pytest.raises(JobExecutionError, match=error):
            remaining(table)
        return
    found = plain(remaining(table))
    if name in NO_TOTAL:
        assert (found, len(expected)) == ([], 1)
    elif name in TIES:
        assert len(found) == len(expected)
    else:  # Rows that ORDER BY finds equal may have any order.
        assert same(found, expected, decimals=5) or same(in_order(found), in_order(expected), decimals=5)


def rows_of(database: duckdb.DuckDBPyConnection, query: str) -> list[list[object]] | None:
    """Return what DuckDB gives, or None if a subquery that is a value has several rows."""
    try:
        return plain(database.execute(query.replace("`", '"')).fetchall())
    except duckdb.InvalidInputException as error:
        if "More than one row returned by a subquery" in str(error):
            return None
        raise


def in_order(rows: list[list[object]]) -> list[list[object]]:
    return sorted(rows, key=lambda row: repr([round(v, 3) if isinstance(v, float) else v for v in row]))
