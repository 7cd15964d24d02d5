"""Each node over a changelog gives what it gives over the rows that remain of it, or the plan is refused."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from typing import Any, get_args

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.table.errors import TableException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules.rules import optimize
from firesteel.table.planner.traits.row_kinds import ROW_KINDS
from firesteel.testing import run_local
from tests.table.local_runs import left_of

pytestmark = pytest.mark.slow

INSERT, BEFORE, AFTER, DELETE = RowKind
TYPES = Types.ROW_NAMED(["id", "k", "v", "ts"], [Types.INT(), Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
WINDOW = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
QUERIES = {
    "project and filter": "SELECT id, v + 1 FROM a WHERE v > 4",
    "groups": "SELECT k, COUNT(*), SUM(v), MAX(v) FROM a GROUP BY k",
    "groups that leave": "SELECT k, COUNT(*) FROM a GROUP BY k HAVING COUNT(*) < 3",
    "distinct": "SELECT DISTINCT k, v FROM a",
    "distinct aggregates": "SELECT k, COUNT(DISTINCT v) FROM a GROUP BY k",
    "grouping sets": "SELECT k, v, COUNT(*) FROM a GROUP BY GROUPING SETS ((k), (v), ())",
    "window aggregate": f"""SELECT k, window_end, SUM(v) FROM TABLE({WINDOW.format("a")}) GROUP BY k, window_start,
        window_end""",
    "legacy window": """SELECT k, TUMBLE_END(ts, INTERVAL '10' SECOND), MIN(v) FROM a GROUP BY k, TUMBLE(ts, INTERVAL
        '10' SECOND)""",
    "hop": """SELECT window_end, COUNT(*) FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND,
        INTERVAL '10' SECOND)) GROUP BY window_start, window_end""",
    # A retracted row makes its session longer, so only the rows of all sessions are the same.
    "session": """SELECT k, SUM(c), MAX(w) FROM (SELECT k, COUNT(*) AS c, MAX(v) AS w FROM TABLE(SESSION(TABLE a
        PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY k, window_start, window_end) GROUP BY k""",
    "legacy session": """SELECT k, SUM(c), MIN(w) FROM (SELECT k, COUNT(*) AS c, MIN(v) AS w FROM a GROUP BY k,
        SESSION(ts, INTERVAL '2' SECOND)) GROUP BY k""",
    "window columns": f"SELECT id, window_start FROM TABLE({WINDOW.format('a')})",
    "window rank": f"""SELECT * FROM (SELECT id, v, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY
        v) AS n FROM TABLE({WINDOW.format("a")})) WHERE n <= 2""",
    "window join": f"""SELECT x.id, y.id FROM (SELECT * FROM TABLE({WINDOW.format("a")})) x JOIN (SELECT * FROM
        TABLE({WINDOW.format("b")})) y ON x.k = y.k AND x.window_start = y.window_start AND
        x.window_end = y.window_end""",
    "inner join": "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.v < b.v",
    "left join": "SELECT a.id, b.v FROM a LEFT JOIN b ON a.v = b.v",
    "full join": "SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.v = b.v",
    "semi join": "SELECT id FROM a WHERE v IN (SELECT v FROM b)",
    "anti join": "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.v = a.v)",
    "interval join": """SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND AND
        b.ts""",
    "over in the order of a column": """SELECT id, v, SUM(v) OVER (PARTITION BY k ORDER BY v), COUNT(*) OVER (PARTITION
        BY k ORDER BY v), RANK() OVER (PARTITION BY k ORDER BY v) FROM a""",
    "over in the order of columns, by rows": """SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id),
        LAG(v, 2, -1) OVER (PARTITION BY k ORDER BY v, id), AVG(v) OVER (PARTITION BY k ORDER BY v, id ROWS BETWEEN
        UNBOUNDED PRECEDING AND CURRENT ROW) FROM a""",
    "union all": "SELECT k, v FROM a UNION ALL SELECT k, v FROM b",
    "intersect": "SELECT k, v FROM a INTERSECT SELECT k, v FROM b",
    "except all": "SELECT k, v FROM a EXCEPT ALL SELECT k, v FROM b",
    "top n": "SELECT id, v FROM a ORDER BY v DESC, id LIMIT 3",
    "ranks": "SELECT * FROM (SELECT id, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n FROM a) WHERE n <= 2",
    "last by time": """SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM a)
        WHERE n = 1""",
    "first by time": """SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n FROM a) WHERE
        n = 1""",
    "sort by time": "SELECT id FROM a ORDER BY ts",
    "over": "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "pattern": """SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS x, B.id AS y AFTER
        MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.v > A.v) AS m""",
    "temporal join": "SELECT a.id, b.v FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.id = b.id",
    "unnest": "SELECT a.id, x FROM a CROSS JOIN UNNEST(ARRAY[v, v + 1]) AS t (x)",
    "constants": "SELECT x, COUNT(*) FROM (VALUES (1), (2), (1)) AS t (x) GROUP BY x",
}
REFUSED = {"window rank", "window join", "interval join", "sort by time", "over", "pattern"}

VERSIONS = {"temporal join": ("b",)}
"""Tables of which former rows count, too."""


def changelog(seed: int) -> list[Row]:
    """Random changes of rows with a key; times are unique, so that orders by time are total."""
    chance, rows, changes, times = random.Random(seed), {}, [], iter(range(1, 1000))
    for _ in range(60):
        key = chance.randrange(12)
        new = (key, chance.choice("xyz"), chance.randrange(8), time_of(next(times)))
        if key not in rows:
            changes.append((INSERT, new))
        elif chance.random() < 0.3:
            changes.append((DELETE, rows.pop(key)))
            continue
        else:
            changes += [(BEFORE, rows[key]), (AFTER, new)]
        rows[key] = new
    return [_row(kind, values) for kind, values in changes]


def time_of(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 1, 1) + datetime.timedelta(milliseconds=371 * number)


def _row(kind: RowKind, values: tuple[Any, ...]) -> Row:
    row = Row(*values)
    row.set_row_kind(kind)
    return row


def folded(rows: list[Row]) -> list[Row]:
    """The rows that remain of a changelog."""
    counts = left_of(rows)
    assert min(counts.values(), default=0) >= 0, "a row is retracted that is not there"
    return [_row(INSERT, values) for values in counts.elements()]


def schema() -> Schema:
    return (
        Schema.new_builder()
        .column("id", DataTypes.INT().not_null())
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.INT())
        .column("ts", DataTypes.TIMESTAMP(3))
        .watermark("ts", "ts - INTERVAL '1' DAY")
        .primary_key("id")
        .build()
    )


def environment(tables: dict[str, list[Row]]) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    for name, rows in tables.items():
        stream = env.from_collection(rows, TYPES)
        t_env.create_temporary_view(name, t_env.from_changelog_stream(stream, schema()))
    return env, t_env


def result(sql: str, tables: dict[str, list[Row]]) -> Counter[tuple[Any, ...]]:
    env, t_env = environment(tables)
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    return Counter(tuple(row) for row in folded(run_local(env, batch_elements=7).elements))


@pytest.mark.parametrize("name", QUERIES)
def test_a_changelog_counts_as_the_rows_that_remain_of_it(name: str) -> None:
    for seed in range(2):
        tables = {"a": changelog(seed), "b": changelog(seed + 100)}
        versions = VERSIONS.get(name, ())
        plain = {table: rows if table in versions else folded(rows) for table, rows in tables.items()}
        if name in REFUSED:
            with pytest.raises(TableException, match="doesn't support consuming update and delete changes"):
                result(QUERIES[name], tables)
        else:
            assert result(QUERIES[name], tables) == result(QUERIES[name], plain)


def test_each_node_is_in_a_query() -> None:
    _, t_env = environment({"a": changelog(0), "b": changelog(1)})
    seen: set[type] = set()

    def visit(node: Any) -> None:
        seen.add(type(node))
        for child in node.inputs:
            visit(child)

    for sql in QUERIES.values():
        visit(optimize(t_env.sql_query(sql)._node, True))
    elsewhere = {rel.TableScan, rel.LookupJoin}  # read connectors
    assert set(get_args(rel.Rel)) - seen == elsewhere
    assert set(get_args(rel.Rel)) == ROW_KINDS.keys()
