"""Each operator takes NaN and -0.0 as it takes other numbers: one row key, wherever a value is and whatever holds it.

A twin of each table has a number of its own in the place of NaN, and 0.0 for -0.0. An operator that compares rows by
their row keys gives the same results over both.
"""

from __future__ import annotations

import datetime
import math
import os
import random
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules.rules import optimize
from firesteel.testing import run_local
from tests.table.local_runs import insert

pytestmark = pytest.mark.slow

GREATEST = 2.0**100
"""What stands for NaN in the twin: as NaN, it is after all other numbers."""

NANS = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8000000000000, 0xFFF8000000000001)]
NOON = datetime.datetime(2026, 1, 1, 12)
NUMBERS = [*NANS, 0.0, -0.0, 1.5, None]

TUMBLE = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
OVER_INSERTS = {
    "window aggregate": f"""SELECT x, window_end, COUNT(*) FROM TABLE({TUMBLE.format("a")}) GROUP BY x, window_start,
        window_end""",
    "hop": """SELECT x, window_end, COUNT(*) FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND,
        INTERVAL '10' SECOND)) GROUP BY x, window_start, window_end""",
    "cumulate": """SELECT x, window_end, COUNT(DISTINCT x) FROM TABLE(CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '5'
        SECOND, INTERVAL '10' SECOND)) GROUP BY x, window_start, window_end""",
    "session": """SELECT x, COUNT(*), window_end FROM TABLE(SESSION(TABLE a PARTITION BY x, DESCRIPTOR(ts), INTERVAL '2'
        SECOND)) GROUP BY x, window_start, window_end""",
    "legacy window": "SELECT x, COUNT(*), COUNT(DISTINCT x) FROM a GROUP BY x, TUMBLE(ts, INTERVAL '10' SECOND)",
    "legacy session": "SELECT x, COUNT(*) FROM a GROUP BY x, SESSION(ts, INTERVAL '2' SECOND)",
    "window rank": f"""SELECT * FROM (SELECT x, id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, x ORDER BY
        id) AS n FROM TABLE({TUMBLE.format("a")})) WHERE n <= 2""",
    "window deduplication": f"""SELECT * FROM (SELECT x, id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, x
        ORDER BY ts DESC) AS n FROM TABLE({TUMBLE.format("a")})) WHERE n = 1""",
    "window join": f"""SELECT l.id, r.id FROM (SELECT * FROM TABLE({TUMBLE.format("a")})) l JOIN (SELECT * FROM
        TABLE({TUMBLE.format("b")})) r ON l.x = r.x AND l.window_start = r.window_start AND
        l.window_end = r.window_end""",
    "interval join": """SELECT a.id, b.id, a.x FROM a LEFT JOIN b ON a.x = b.x AND a.ts BETWEEN b.ts - INTERVAL '3'
        SECOND AND b.ts""",
    "temporal join": "SELECT a.id, b.x FROM a JOIN versions FOR SYSTEM_TIME AS OF a.ts AS b ON a.x = b.x",
    "over": "SELECT x, id, COUNT(*) OVER (PARTITION BY x ORDER BY ts) FROM a",
    "over rows": """SELECT x, COUNT(*) OVER (PARTITION BY x ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
        FROM a""",
    "pattern": """SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts MEASURES A.id AS i, B.id AS j AFTER
        MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.id > A.id) AS m""",
}
OVER_CHANGES = {
    "groups": "SELECT x, COUNT(*), MAX(id) FROM a GROUP BY x",
    "groups that leave": "SELECT x, COUNT(*) FROM a GROUP BY x HAVING COUNT(*) < 3",
    "distinct": "SELECT DISTINCT x FROM a",
    "distinct aggregates": "SELECT COUNT(DISTINCT x), COUNT(x) FROM a",
    "distinct aggregates of groups": "SELECT v, COUNT(DISTINCT x) FROM a GROUP BY v",
    "grouping sets": "SELECT x, v, COUNT(*) FROM a GROUP BY GROUPING SETS ((x), (x, v), ())",
    "groups of groups": "SELECT n, COUNT(*) FROM (SELECT x, COUNT(*) AS n FROM a GROUP BY x) GROUP BY n",
    "collected values": "SELECT v, CARDINALITY(COLLECT(x)) FROM a GROUP BY v",
    "inner join": "SELECT a.id, b.id, a.x FROM a JOIN b ON a.x = b.x",
    "join with a condition": "SELECT a.id, b.id FROM a JOIN b ON a.x = b.x AND a.v < b.v",
    "join of nulls": "SELECT a.id, b.id FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x",
    "left join": "SELECT a.id, a.x, b.id FROM a LEFT JOIN b ON a.x = b.x AND b.v > 1",
    "full join": "SELECT a.id, a.x, b.x FROM a FULL JOIN b ON a.x = b.x AND a.v = b.v",
    "join of values": "SELECT a.x, b.x FROM a JOIN b ON a.v = b.v",
    "semi join": "SELECT id, x FROM a WHERE x IN (SELECT x FROM b WHERE v > 1)",
    "anti join": "SELECT id, x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.v > 1)",
    "not in": "SELECT id, x FROM a WHERE x NOT IN (SELECT x FROM b WHERE v > 2 AND x IS NOT NULL)",
    "union": "SELECT x FROM a UNION SELECT x FROM b",
    "union all": "SELECT x, v FROM a UNION ALL SELECT x, v FROM b",
    "intersect": "SELECT x FROM a INTERSECT SELECT x FROM b WHERE v > 1",
    "intersect all": "SELECT x FROM a INTERSECT ALL SELECT x FROM b",
    "except": "SELECT x FROM a EXCEPT SELECT x FROM b WHERE v > 1",
    "except all": "SELECT x FROM a EXCEPT ALL SELECT x FROM b",
    "ranks": "SELECT * FROM (SELECT id, x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY id) AS n FROM a) WHERE n <= 2",
    "top n of values": "SELECT id, x FROM a ORDER BY id LIMIT 3",
    "deduplication": """SELECT id, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY ts DESC) AS n FROM a)
        WHERE n = 1""",
    "first rows": """SELECT id, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY ts) AS n FROM a) WHERE
        n = 1""",
    "over in the order of a column": "SELECT id, SUM(v) OVER (PARTITION BY x ORDER BY id), x FROM a",
    "first and last values": "SELECT v, FIRST_VALUE(x), LAST_VALUE(x) FROM a GROUP BY v",
    "unnest": "SELECT a.id, y FROM a CROSS JOIN UNNEST(MAP[1, x]) AS t (z, y)",
    "constants": """SELECT x, n, y FROM a JOIN (SELECT y, COUNT(*) AS n FROM (VALUES (1), (2), (1)) AS t (y) GROUP BY y)
        ON v = y""",
}
OF_NUMBERS = {
    "top n": "SELECT id, x FROM a ORDER BY x DESC, id LIMIT 3",
    "first of order": "SELECT id, x FROM a ORDER BY x, id LIMIT 4",
    "ranks by value": """SELECT * FROM (SELECT id, x, ROW_NUMBER() OVER (PARTITION BY v ORDER BY x DESC, id) AS n FROM
        a) WHERE n < 3""",
    "ranks from the least": """SELECT * FROM (SELECT id, x, ROW_NUMBER() OVER (PARTITION BY v ORDER BY x, id) AS n FROM
        a) WHERE n = 2""",
    "over in the order of values": "SELECT id, COUNT(*) OVER (PARTITION BY v ORDER BY x, id) FROM a",
}

Holder = tuple[Any, Any, Callable[[Any], Any]]
HOLDERS: dict[str, Holder] = {
    "DOUBLE": (Types.DOUBLE(), DataTypes.DOUBLE(), lambda x: x),
    "FLOAT": (Types.FLOAT(), DataTypes.FLOAT(), lambda x: x),
    "ROW": (
        Types.ROW_NAMED(["f", "g"], [Types.INT(), Types.DOUBLE()]),
        DataTypes.ROW([DataTypes.FIELD("f", DataTypes.INT()), DataTypes.FIELD("g", DataTypes.DOUBLE())]),
        lambda x: Row(1, x),
    ),
    "ARRAY": (Types.LIST(Types.DOUBLE()), DataTypes.ARRAY(DataTypes.DOUBLE()), lambda x: [x, 1.0]),
}


def changelog(seed: int, has_changes: bool) -> list[Row]:
    """Random changes, or insertions, of rows with an id; a row is retracted with another NaN than it came with."""
    chance, rows, changes = random.Random(seed), {}, []
    for number in range(1, 40):
        key = chance.randrange(9) if has_changes else number
        time = datetime.datetime(2026, 1, 1) + datetime.timedelta(milliseconds=371 * number)
        new = (key, chance.choice(NUMBERS), chance.randrange(4), time)
        if key in rows and chance.random() < 0.4:
            changes.append(_row(RowKind.DELETE, _again(rows.pop(key))))
            continue
        if key in rows:
            changes += [_row(RowKind.UPDATE_BEFORE, _again(rows[key])), _row(RowKind.UPDATE_AFTER, new)]
        else:
            changes.append(_row(RowKind.INSERT, new))
        rows[key] = new
    return changes


def _again(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(-value if isinstance(value, float) and (value != value or value == 0) else value for value in values)


def _row(kind: RowKind, values: tuple[Any, ...]) -> Row:
    return Row.of_kind(kind, *values)


def twin(value: Any) -> Any:
    """Return a value with other numbers for NaN and -0.0."""
    if isinstance(value, float):
        return GREATEST if math.isnan(value) else value + 0.0
    if isinstance(value, Row):
        return _row(value.get_row_kind(), tuple(map(twin, value)))
    if isinstance(value, dict):
        return tuple((twin(key), twin(item)) for key, item in value.items())
    return tuple(map(twin, value)) if isinstance(value, list | tuple) else value


def environment(tables: dict[str, list[Row]], holder: str, mode: str) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    is_batch = mode == "batch"
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    settings = EnvironmentSettings.in_batch_mode() if is_batch else EnvironmentSettings.in_streaming_mode()
    t_env = StreamTableEnvironment.create(env, settings)
    for option, value in MODES[mode].items():
        t_env.get_config().set(option, value)
    kind, data_type, hold = HOLDERS[holder]
    names, kinds = ["id", "x", "v", "ts"], [Types.INT(), kind, Types.INT(), Types.SQL_TIMESTAMP()]
    builder = Schema.new_builder().column("id", DataTypes.INT().not_null()).column("x", data_type)
    schema = builder.column("v", DataTypes.INT()).column("ts", DataTypes.TIMESTAMP(3))
    schema = schema if is_batch else schema.watermark("ts", "ts - INTERVAL '1' DAY")
    for name, rows in tables.items():
        held = [_row(row.get_row_kind(), (row[0], hold(row[1]), *row[2:])) for row in rows]
        stream = env.from_collection(held, Types.ROW_NAMED(names, kinds))
        is_appended = all(row.get_row_kind() is RowKind.INSERT for row in rows)
        view = t_env.from_data_stream if is_appended else t_env.from_changelog_stream
        t_env.create_temporary_view(name, view(stream, schema.build()))
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW versions AS SELECT x, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY "
        "ts DESC) AS n FROM b) WHERE n = 1"
    )
    return env, t_env


def result(sql: str, tables: dict[str, list[Row]], holder: str, mode: str) -> Counter[Any]:
    env, t_env = environment(tables, holder, mode)
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    counts: Counter[Any] = Counter()
    for row in run_local(env, batch_elements=7).elements:
        is_new = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        counts[tuple(map(twin, row))] += 1 if is_new else -1
    assert min(counts.values(), default=0) >= 0, "a row is retracted that is not there"
    return +counts


MODES = {
    "streaming": {},
    "batch": {},
    "disk": {"state.backend.type": "rocksdb"},
    "ttl": {"table.exec.state.ttl": "1 d"},
    "mini-batch": {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "5",
    },
}
ALL = OVER_INSERTS | OVER_CHANGES | OF_NUMBERS


EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 17
"""By default each 17th case runs, nightly each: so all modes and types occur, and each query once or twice."""


def cases() -> Iterator[tuple[str, str, str]]:
    for name, mode, holder in product(ALL, MODES, HOLDERS):
        if (name != "temporal join" or mode != "batch") and (name not in OF_NUMBERS or holder in ("DOUBLE", "FLOAT")):
            yield name, mode, holder


@pytest.mark.parametrize(("name", "mode", "holder"), list(cases())[::EVERY])
def test_nan_is_a_number_like_others(name: str, mode: str, holder: str) -> None:
    has_changes = name not in OVER_INSERTS and mode != "batch"
    tables = {"a": changelog(1, has_changes), "b": changelog(2, has_changes)}
    twins = {table: [twin(row) for row in rows] for table, rows in tables.items()}
    assert result(ALL[name], tables, holder, mode) == result(ALL[name], twins, holder, mode)


def test_each_node_is_in_a_query() -> None:
    _, t_env = environment({"a": changelog(0, False), "b": changelog(1, False)}, "DOUBLE", "streaming")
    seen: set[type] = set()

    def visit(node: Any) -> None:
        seen.add(type(node))
        for child in node.inputs:
            visit(child)

    for sql in ALL.values():
        visit(optimize(t_env.sql_query(sql)._node, True))
    read_connectors = {rel.TableScan, rel.LookupJoin}
    assert set(get_args(rel.Rel)) - seen == read_connectors


def test_rows_of_one_key_are_one_row_of_a_sink(tmp_path: Path) -> None:
    """SQLite has no NaN, and would store NULL, which is not unique."""
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (x REAL, id INTEGER, PRIMARY KEY (x))")
    rows = {
        name: [_row(RowKind.INSERT, (number, x, 0, NOON)) for number, x in enumerate(values)]
        for name, values in {"a": (0.0, -0.0, 1.5), "b": NANS}.items()
    }
    env, t_env = environment(rows, "DOUBLE", "streaming")
    env.set_parallelism(1)
    t_env.execute_sql(
        "CREATE TABLE t (x DOUBLE, id INT, PRIMARY KEY (x) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 't')"
    )
    insert(env, t_env, "INSERT INTO t SELECT x, id FROM a")
    with closing(sqlite3.connect(path)) as database:
        assert set(database.execute("SELECT * FROM t")) == {(0.0, 1), (1.5, 2)}
    with pytest.raises(UserFunctionError, match="SQLite has no NaN"):
        insert(env, t_env, "INSERT INTO t SELECT x, id FROM b")
