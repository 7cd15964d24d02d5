"""Rows per second of SQL queries over JSON files, on firesteel, PyFlink (Flink SQL) and Spark SQL.

python benchmarks/bench_tables.py [--case NAME ...] [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import harness
import pipelines

USERS = 100_000
KINDS = 10
ROWS_PER_SECOND = 1_000
"""Rows per second of event time."""

OUT_OF_ORDER = 50
"""One of so many rows is a little late."""

_FILES = 4
_START = datetime.datetime(2026, 1, 1)

SOURCE = """CREATE TABLE t (id BIGINT, `user` STRING, amount DOUBLE, kind STRING, ts TIMESTAMP(3),
everyone AS SUBSTRING(kind FROM 1 FOR 4), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"""


@dataclass(frozen=True)
class Query:
    """A query in Flink's SQL, the columns of its result, and the same query in Spark's SQL.

    Attributes:
        spark_sql: None if Spark does not run the query.
        udf: The kind of the Python function `rescale` that the query uses, if any.
    """

    text: str
    columns: str
    sql: str
    spark_sql: str | None = None
    udf: str | None = None


_FILTER = "SELECT id, amount * 2 AS doubled, UPPER(kind) AS kind FROM t WHERE amount > 50"
_GROUP = "SELECT `user`, COUNT(*) AS n, SUM(amount) AS total FROM t GROUP BY `user`"
_WINDOW = "kind, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS highest"

QUERIES = {
    "filter": Query(
        "Filter and projection: a third of the columns, half of the rows.",
        "id BIGINT, doubled DOUBLE, kind STRING",
        _FILTER,
        _FILTER,
    ),
    "group": Query(
        f"GROUP BY over {USERS:,} keys, COUNT and SUM.",
        "`user` STRING, n BIGINT, total DOUBLE",
        _GROUP,
        _GROUP,
    ),
    "tumble": Query(
        "Tumbling windows of ten seconds per kind: COUNT, SUM and MAX.",
        "ws TIMESTAMP(3), kind STRING, n BIGINT, total DOUBLE, highest DOUBLE",
        f"SELECT window_start, {_WINDOW} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end, kind",
        f"SELECT window(ts, '10 seconds').start AS ws, {_WINDOW} FROM t GROUP BY window(ts, '10 seconds'), kind",
    ),
    "udf": Query(
        "A scalar Python function of a column, called per row.",
        "id BIGINT, amount DOUBLE",
        "SELECT id, rescale(amount) FROM t",
        udf="general",
    ),
    "pandas": Query(
        "The same with a pandas function.",
        "id BIGINT, amount DOUBLE",
        "SELECT id, rescale(amount) FROM t",
        udf="pandas",
    ),
}

_KEYS = {"`user`": f"{USERS:,} keys", "everyone": "one key"}
_LAST_ROWS = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY %s) AS place FROM t) WHERE place <= %d"
_STATEFUL = {
    "session": (
        "Sessions with a gap of ten seconds, by the table function",
        "k STRING, n BIGINT, total DOUBLE",
        "SELECT {key}, COUNT(*), SUM(amount) FROM TABLE(SESSION(TABLE t PARTITION BY {key}, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY {key}, window_start, window_end",
    ),
    "session_rows": (
        "The rows of sessions with a gap of ten seconds",
        "id BIGINT, ws TIMESTAMP(3)",
        "SELECT id, window_start FROM TABLE(SESSION(TABLE t PARTITION BY {key}, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
    ),
    "legacy_session": (
        "Sessions with a gap of ten seconds in GROUP BY",
        "k STRING, n BIGINT, total DOUBLE",
        "SELECT {key}, COUNT(*), SUM(amount) FROM t GROUP BY {key}, SESSION(ts, INTERVAL '10' SECOND)",
    ),
    "over_rows": (
        "SUM and COUNT over the last 100 rows, in event time",
        "id BIGINT, total DOUBLE, n BIGINT",
        "SELECT id, SUM(amount) OVER w, COUNT(*) OVER w FROM t WINDOW w AS "
        "(PARTITION BY {key} ORDER BY ts ROWS BETWEEN 99 PRECEDING AND CURRENT ROW)",
    ),
    "over_range": (
        "SUM and COUNT over the last minute, in event time",
        "id BIGINT, total DOUBLE, n BIGINT",
        "SELECT id, SUM(amount) OVER w, COUNT(*) OVER w FROM t WINDOW w AS "
        "(PARTITION BY {key} ORDER BY ts RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW)",
    ),
    "last_row": (
        "The last row of each key",
        "id BIGINT, amount DOUBLE",
        f"SELECT id, amount FROM {_LAST_ROWS % ('ts DESC', 1)}",
    ),
    "first_row": (
        "The first row of each key",
        "id BIGINT, amount DOUBLE",
        f"SELECT id, amount FROM {_LAST_ROWS % ('ts', 1)}",
    ),
    "top_n": (
        "The ten highest rows of each key",
        "id BIGINT, amount DOUBLE",
        f"SELECT id, amount FROM {_LAST_ROWS % ('amount DESC', 10)}",
    ),
    "distinct": (
        "COUNT DISTINCT per key",
        "k STRING, n BIGINT",
        "SELECT {key}, COUNT(DISTINCT id) FROM t GROUP BY {key}",
    ),
    "updating_join": (
        "A join of two aggregates",
        "k STRING, n BIGINT, total DOUBLE",
        "SELECT a.k, n, total FROM (SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY {key}) a "
        "JOIN (SELECT {key} AS k, SUM(amount) AS total FROM t GROUP BY {key}) b ON a.k = b.k",
    ),
}
"""Title, columns and text of queries whose operators have state per `{key}`."""

QUERIES |= {
    f"{name}{suffix}": Query(f"{title}; {_KEYS[key]}.", columns, sql.replace("{key}", key))
    for name, (title, columns, sql) in _STATEFUL.items()
    for key, suffix in (("`user`", ""), ("everyone", "_one_key"))
}


def row(number: int) -> str:
    """Return a row as JSON; event times grow with the number, except for a few late rows."""
    millis = number * 1_000 // ROWS_PER_SECOND
    if number % OUT_OF_ORDER == 0:
        millis = max(0, millis - 900)
    moment = (_START + datetime.timedelta(milliseconds=millis)).isoformat(" ", "milliseconds")
    user = number * 7_919 % USERS
    amount = number * 37 % 10_000 / 100
    return (
        f'{{"id":{number},"user":"user-{user}","amount":{amount},"kind":"kind{number * 31 % KINDS}","ts":"{moment}"}}\n'
    )


@cache
def files(records: int) -> Path:
    """Return a directory with this number of rows; created once per machine."""
    path = Path(tempfile.gettempdir()) / f"bench_tables_{records}"
    if not path.is_dir():
        directory = Path(tempfile.mkdtemp(dir=path.parent))
        part = -(-records // _FILES)
        for index in range(_FILES):
            numbers = range(index * part, min(records, (index + 1) * part))
            (directory / f"part-{index}.json").write_text("".join(map(row, numbers)))
        directory.rename(path)
    return path


def sql_runs(query: Query, is_batch: bool = False) -> harness.Runs:
    """Run Flink SQL on firesteel or PyFlink."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    @cache
    def environment(records: int) -> Any:
        settings = EnvironmentSettings.in_batch_mode() if is_batch else EnvironmentSettings.in_streaming_mode()
        t_env = TableEnvironment.create(settings)
        t_env.get_config().set("parallelism.default", str(harness.PARALLELISM))
        t_env.get_config().set("python.executable", sys.executable)
        t_env.execute_sql(SOURCE.format(path=files(records)))
        if query.udf is not None:
            from pyflink.table import DataTypes
            from pyflink.table.udf import udf

            rescale = udf(lambda amount: amount * 1.5 + 1, result_type=DataTypes.DOUBLE(), func_type=query.udf)
            t_env.create_temporary_function("rescale", rescale)
        t_env.execute_sql(f"CREATE TABLE results ({query.columns}) WITH ('connector' = 'blackhole')")
        return t_env

    def run(records: int) -> None:
        environment(records).execute_sql(f"INSERT INTO results {query.sql}").wait()

    return harness.timed_runs(run)


def spark_runs(query: Query) -> harness.Runs:
    """Run Spark SQL as a batch, with a sink that discards the rows."""
    from baselines import session

    spark = session()

    def run(records: int) -> None:
        schema = "id BIGINT, user STRING, amount DOUBLE, kind STRING, ts TIMESTAMP"
        spark.read.schema(schema).json(str(files(records))).createOrReplaceTempView("t")
        spark.sql(query.spark_sql).write.format("noop").mode("overwrite").save()

    return harness.timed_runs(run)


def case(name: str) -> harness.Case:
    """Return the engines of a case."""
    query = QUERIES[name]
    engines = {
        "firesteel": harness.Engine("firesteel, STREAMING", lambda: sql_runs(query)),
        "batch": harness.Engine("firesteel, BATCH", lambda: sql_runs(query, is_batch=True)),
        "spark": harness.Engine("Spark SQL, batch", lambda: spark_runs(query)),
        "pyflink": harness.Engine("PyFlink (Flink SQL), STREAMING", lambda: sql_runs(query)),
    }
    if query.spark_sql is None:
        del engines["spark"]
    return harness.Case(f"Tables: {name}", query.text, engines)


TEXT = """\
SQL over files of JSON lines into `blackhole`; firesteel and PyFlink run the very same statements in STREAMING mode,
firesteel and Spark SQL also as a batch. Times are those of whole jobs on a warm session: the start of the job counts,
that of the JVM does not. Without `--pyflink-python` PyFlink is left out."""

if __name__ == "__main__":
    pipelines.pickle_by_value()
    harness.main("Tables", TEXT, {name: case(name) for name in QUERIES})
