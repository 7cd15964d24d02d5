"""The 99 queries of TPC-DS and their data, as DuckDB's extension has them, in words that Flink and DuckDB both take."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import duckdb_extension_tpcds

from tests.table.parquet_tables import write_halves

Rewrite = tuple[str, str]

FOR_BOTH: tuple[Rewrite, ...] = (
    (r"\) CATALOG\b", ") catalog"),  # Flink tells upper case from lower case in names.
    # An average of integers is an integer in Flink.
    (r"(?i)\b(avg|stddev_samp)\(((?:\w+\.)?(?:\w*quantity\w*|\w*_cnt|\w*_count|agg1))\)", r"\1(CAST(\2 AS DOUBLE))"),
    (r"d1\.d_date \+ 5\b", "d1.d_date + INTERVAL '5' DAY"),
)
OTHER_ROWS: tuple[Rewrite, ...] = (
    (r"(\w) = ('|\d)", r"\1 <> \2"),
    (r"(?i)(\w)\s+(IN\s*\(\s*['\d])", r"\1 NOT \2"),
)
"""What lets other rows pass: comparisons with constants are negated, so that hardly a query is without rows twice."""


def extension() -> Path:
    """Return the file of DuckDB's extension."""
    (found,) = Path(duckdb_extension_tpcds.__file__).parent.glob("extensions/*/tpcds.duckdb_extension")
    return found


def connected() -> duckdb.DuckDBPyConnection:
    """Return a database that has the functions of the extension."""
    database = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    database.execute(f"LOAD '{extension()}'")
    return database


def write_tables(directory: Path, scale: float) -> None:
    """Write a directory of Parquet files for each of the 24 tables."""
    with connected() as database:
        database.execute(f"CALL dsdgen(sf={scale})")
        for (name,) in database.execute("SELECT table_name FROM information_schema.tables").fetchall():
            write_halves(database.execute(f"FROM {name}").to_arrow_table(), directory / name)


def queries() -> dict[str, str]:
    """Return the queries by name: those of TPC-DS, and the same ones over other rows."""
    with connected() as database:
        found = database.execute("FROM tpcds_queries() ORDER BY query_nr").fetchall()
    made: dict[str, str] = {}
    for number, text in found:
        query = rewritten(text.strip().removesuffix(";"), FOR_BOTH)
        made[f"q{number}"] = query
        made[f"q{number} over other rows"] = rewritten(query, OTHER_ROWS)
    return made


def rewritten(query: str, rewrites: tuple[Rewrite, ...]) -> str:
    for pattern, replacement in rewrites:
        query = re.sub(pattern, replacement, query)
    return query
