"""Tables of Parquet files that DuckDB and firesteel both read, and the comparison of their results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from firesteel.table import TableEnvironment

TYPES = {pa.int64(): "BIGINT", pa.int32(): "INT", pa.string(): "STRING", pa.date32(): "DATE"}

Rows = Sequence[Sequence[object]]


def write_halves(table: pa.Table, directory: Path) -> None:
    """Write a table as two files, so that no query sees it in one piece."""
    directory.mkdir(parents=True)
    half = len(table) // 2
    pq.write_table(table[:half], directory / "first.parquet")
    pq.write_table(table[half:], directory / "second.parquet")


def in_duckdb(directory: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with the tables of a directory, which sorts NULL as Flink does."""
    database = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc"})
    for path in directory.iterdir():
        database.execute(f"CREATE TABLE {path.name} AS SELECT * FROM '{path}/*.parquet'")
    return database


def declare(t_env: TableEnvironment, directory: Path) -> None:
    """Declare the tables of a directory."""
    for path in directory.iterdir():
        schema = pq.read_schema(path / "first.parquet")
        columns = ", ".join(f"{field.name} {type_name(field.type)}" for field in schema)
        t_env.execute_sql(
            f"CREATE TABLE {path.name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', "
            "'format' = 'parquet')"
        )


def type_name(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return TYPES[kind]


def plain(rows: Iterable[Iterable[object]]) -> list[list[object]]:
    """Return rows with numbers as floats: averages of decimals have other scales in DuckDB."""
    return [[float(value) if isinstance(value, Decimal) else value for value in row] for row in rows]


def same(ours: Rows, theirs: Rows, *, decimals: int | None = None) -> bool:
    """Return whether rows are equal but for rounding; `decimals` is the least number of digits after the point."""
    if [len(row) for row in ours] != [len(row) for row in theirs]:
        return False
    absolute = 0.0 if decimals is None else 10.0**-decimals
    pairs = [pair for row in zip(ours, theirs, strict=True) for pair in zip(*row, strict=True)]
    return all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=absolute)
        if isinstance(a, float) and isinstance(b, float | int)
        else a == b
        for a, b in pairs
    )
