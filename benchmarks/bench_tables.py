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

VERSIONS = """CREATE VIEW v AS SELECT {key} AS k, amount, ts FROM (
SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY ts DESC) AS place FROM t) WHERE place = 1"""


@dataclass(frozen=True)
class Query:
    """A query in Flink's SQL, the columns of its result, and the same query in Spark's SQL.

    Attributes:
        spark_sql: None if Spark does not run the query.
        udf: The kind of the Python function `rescale` that the query uses, if any.
        key: The key of the versions in the view `v`.
    """

    text: str
    columns: str
    sql: str
    spark_sql: str | None = None
    udf: str | None = None
    key: str = "`user`"


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
    "hop_fine": (
        "Hopping windows of ten seconds by 100 ms",
        "k STRING, n BIGINT, total DOUBLE",
        "SELECT {key}, COUNT(*), SUM(amount) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '0.1' SECOND, "
        "INTERVAL '10' SECOND)) GROUP BY {key}, window_start, window_end",
    ),
    "cumulate": (
        "Cumulating windows of a minute by ten seconds",
        "k STRING, n BIGINT, total DOUBLE",
        "SELECT {key}, COUNT(*), SUM(amount) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, "
        "INTERVAL '60' SECOND)) GROUP BY {key}, window_start, window_end",
    ),
    "window_top_n": (
        "The three highest rows of each window of ten seconds and key",
        "id BIGINT, amount DOUBLE",
        "SELECT id, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {key}, window_start, window_end "
        "ORDER BY amount DESC) AS place FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))) "
        "WHERE place <= 3",
    ),
    "window_last_row": (
        "The last row of each window of ten seconds and key",
        "id BIGINT, amount DOUBLE",
        "SELECT id, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {key}, window_start, window_end "
        "ORDER BY ts DESC) AS place FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))) "
        "WHERE place <= 1",
    ),
    "lag": (
        "The value of the row before, per key",
        "id BIGINT, before DOUBLE",
        "SELECT id, LAG(amount) OVER (PARTITION BY {key} ORDER BY ts) FROM t",
    ),
    "over_all": (
        "SUM and MAX over all rows before",
        "id BIGINT, total DOUBLE, highest DOUBLE",
        "SELECT id, SUM(amount) OVER w, MAX(amount) OVER w FROM t WINDOW w AS (PARTITION BY {key} ORDER BY ts)",
    ),
    "top_n_updates": (
        "The three kinds with most rows of each key: Top-N over a changelog",
        "k STRING, kind STRING, n BIGINT",
        "SELECT k, kind, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS place FROM "
        "(SELECT {key} AS k, kind, COUNT(*) AS n FROM t GROUP BY {key}, kind)) WHERE place <= 3",
    ),
    "top_n_retracting": (
        "The three lowest counts of each key: Top-N that retracts",
        "k STRING, kind STRING, n BIGINT",
        "SELECT k, kind, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS place FROM "
        "(SELECT {key} AS k, kind, COUNT(*) AS n FROM t GROUP BY {key}, kind)) WHERE place <= 3",
    ),
    "max_of_counts": (
        "MAX over a changelog",
        "k STRING, n BIGINT",
        "SELECT k, MAX(n) FROM (SELECT {key} AS k, kind, COUNT(*) AS n FROM t GROUP BY {key}, kind) GROUP BY k",
    ),
    "min_of_counts": (
        "MIN over a changelog, whose values come and go",
        "k STRING, n BIGINT",
        "SELECT k, MIN(n) FROM (SELECT {key} AS k, kind, COUNT(*) AS n FROM t GROUP BY {key}, kind) GROUP BY k",
    ),
    "decimals": (
        "SUM, AVG and MAX of decimals",
        "k STRING, total DECIMAL(38, 2), mean DECIMAL(38, 6), highest DECIMAL(10, 2)",
        "SELECT {key}, SUM(price), AVG(price), MAX(price) FROM "
        "(SELECT *, CAST(amount AS DECIMAL(10, 2)) AS price FROM t) GROUP BY {key}",
    ),
    "strings": (
        "MIN and MAX of strings",
        "k STRING, least STRING, greatest STRING",
        "SELECT {key}, MIN(kind), MAX(kind) FROM t GROUP BY {key}",
    ),
    "last_value": (
        "FIRST_VALUE and LAST_VALUE",
        "k STRING, a BIGINT, b DOUBLE",
        "SELECT {key}, FIRST_VALUE(id), LAST_VALUE(amount) FROM t GROUP BY {key}",
    ),
    "filtered_distinct": (
        "Two COUNT DISTINCT with FILTER",
        "k STRING, a BIGINT, b BIGINT",
        "SELECT {key}, COUNT(DISTINCT id) FILTER (WHERE amount > 50), COUNT(DISTINCT kind) FROM t GROUP BY {key}",
    ),
    "select_distinct": (
        "SELECT DISTINCT of two columns",
        "k STRING, kind STRING",
        "SELECT DISTINCT {key}, kind FROM t",
    ),
    "interval_join": (
        "A join of rows within 5 ms",
        "id BIGINT, amount DOUBLE",
        "SELECT a.id, b.amount FROM t a JOIN t b ON a.{key} = b.{key} "
        "AND a.ts BETWEEN b.ts - INTERVAL '0.005' SECOND AND b.ts + INTERVAL '0.005' SECOND",
    ),
    "left_interval_join": (
        "An outer join of rows within 5 ms",
        "id BIGINT, amount DOUBLE",
        "SELECT a.id, b.amount FROM t a LEFT JOIN (SELECT * FROM t WHERE amount > 50) b ON a.{key} = b.{key} "
        "AND a.ts BETWEEN b.ts - INTERVAL '0.005' SECOND AND b.ts + INTERVAL '0.005' SECOND",
    ),
    "temporal_join": (
        "A temporal join with the last row of each key",
        "id BIGINT, amount DOUBLE",
        "SELECT a.id, v.amount FROM t a LEFT JOIN v FOR SYSTEM_TIME AS OF a.ts ON a.{key} = v.k",
    ),
    "left_join": (
        "An outer join of rows with an aggregate",
        "id BIGINT, n BIGINT",
        "SELECT a.id, b.n FROM (SELECT id, {key} AS k FROM t WHERE MOD(id, 100000) < 10000 AND id < 100000) a "
        "LEFT JOIN (SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY {key}) b ON a.k = b.k",
    ),
    "semi_join": (
        "IN over a changelog",
        "id BIGINT, amount DOUBLE",
        "SELECT id, amount FROM t WHERE {key} IN (SELECT {key} FROM t GROUP BY {key} HAVING COUNT(*) < 5)",
    ),
    "window_join": (
        "A join of windows of ten seconds",
        "id BIGINT, n BIGINT",
        "SELECT a.id, b.n FROM (SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))) a JOIN "
        "(SELECT {key} AS k, window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY {key}, window_start, window_end) b "
        "ON a.{key} = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
    ),
    "match": (
        "MATCH_RECOGNIZE: a rise after a fall",
        "k STRING, a BIGINT, b BIGINT",
        "SELECT * FROM (SELECT {key} AS k, id, amount, ts FROM t) MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        "MEASURES A.id AS a, LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) "
        "DEFINE B AS B.amount < A.amount, C AS C.amount > A.amount)",
    ),
    "grouping_sets": (
        "GROUPING SETS of two columns",
        "k STRING, kind STRING, n BIGINT",
        "SELECT {key}, kind, COUNT(*) FROM t GROUP BY GROUPING SETS (({key}), (kind))",
    ),
    "listagg": (
        "LISTAGG of windows of ten seconds",
        "k STRING, kinds STRING",
        "SELECT {key}, LISTAGG(kind) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY {key}, window_start, window_end",
    ),
    "listagg_group": (
        "LISTAGG of all rows of a key",
        "k STRING, kinds STRING",
        "SELECT {key}, LISTAGG(kind) FROM t GROUP BY {key}",
    ),
    "array_agg": (
        "ARRAY_AGG of all rows of a key",
        "k STRING, amounts ARRAY<DOUBLE>",
        "SELECT {key}, ARRAY_AGG(amount) FROM t GROUP BY {key}",
    ),
    "collect": (
        "COLLECT of all rows of a key",
        "k STRING, kinds MULTISET<STRING>",
        "SELECT {key}, COLLECT(kind) FROM t GROUP BY {key}",
    ),
}
"""Title, columns and text of queries whose operators have state per `{key}`."""

_QUADRATIC = ("left_join", "listagg_group", "array_agg", "collect")
"""Queries whose results with one key are quadratic in the number of rows."""

_RANKED = (
    "SELECT item, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY n {order}) AS place FROM {counts}) WHERE place <= 10"
)
_ITEMS = "(SELECT MOD(id * 7919, 100003) AS item, COUNT(*) AS n FROM t GROUP BY MOD(id * 7919, 100003))"

QUERIES |= {
    "leaders": Query(
        "The ten most frequent of 100,000 items: Top-N of one key over a changelog.",
        "item BIGINT, n BIGINT",
        _RANKED.format(order="DESC", counts=_ITEMS),
    ),
    "trailers": Query(
        "The ten least frequent of 100,000 items: Top-N of one key that retracts.",
        "item BIGINT, n BIGINT",
        _RANKED.format(order="ASC", counts=_ITEMS),
    ),
}

QUERIES |= {
    f"{name}{suffix}": Query(f"{title}; {_KEYS[key]}.", columns, sql.replace("{key}", key), key=key)
    for name, (title, columns, sql) in _STATEFUL.items()
    for key, suffix in (("`user`", ""), ("everyone", "_one_key"))
    if suffix == "" or name not in _QUADRATIC
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
        t_env.execute_sql(VERSIONS.format(key=query.key))
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
