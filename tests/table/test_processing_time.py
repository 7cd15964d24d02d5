"""A query in processing time gives what it gives in event time over rows that come in order, each at its time."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.table.errors import TableException
from firesteel.testing import run_local
from firesteel.testing.manual_clock import ManualClock
from tests.table.local_runs import left_of

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 1)
STEP_MS = 3000
PER_STEP = 3
STEPS, STEPS_UNTIL_ALL_IS_DUE = 15, 7
TYPES = Types.ROW_NAMED(["id", "k", "v", "at"], [Types.INT(), Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])

TUMBLE = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
HOP = "HOP(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)"
CUMULATE = "CUMULATE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)"
SESSION = "SESSION(TABLE {} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)"


def windows(window: str) -> str:
    calls = "COUNT(*), SUM(v), MIN(v), MAX(id), COUNT(DISTINCT v), FIRST_VALUE(v), LAST_VALUE(id)"
    table = window.format("a")
    return f"SELECT k, window_start, window_end, {calls} FROM TABLE({table}) GROUP BY k, window_start, window_end"


def over(calls: str, frame: str) -> str:
    return f"SELECT id, k, {calls} FROM a WINDOW w AS (PARTITION BY k ORDER BY ts {frame})"


SUMS = "SUM(v) OVER w, COUNT(*) OVER w, MIN(v) OVER w"
WITHIN = "BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts + INTERVAL '7' SECOND"
PATTERN = """SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS x, B.id AS y
AFTER MATCH SKIP {} PATTERN {} DEFINE B AS B.v > A.v + 1, C AS C.v <= A.v) AS m"""
QUERIES = {
    "tumble": windows(TUMBLE),
    "hop": windows(HOP),
    "cumulate": windows(CUMULATE),
    "session": windows(SESSION),
    "legacy tumble": """SELECT k, TUMBLE_END(ts, INTERVAL '10' SECOND), SUM(v) FROM a
        GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)""",
    "legacy hop": """SELECT k, HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '15' SECOND), SUM(v) FROM a
        GROUP BY k, HOP(ts, INTERVAL '5' SECOND, INTERVAL '15' SECOND)""",
    "legacy session": """SELECT k, SESSION_START(ts, INTERVAL '5' SECOND), SUM(v) FROM a
        GROUP BY k, SESSION(ts, INTERVAL '5' SECOND)""",
    "windows of windows": f"""SELECT k, window_end, SUM(n) FROM (SELECT k, v, window_start, window_end, COUNT(*) AS n
        FROM TABLE({TUMBLE.format("a")}) GROUP BY k, v, window_start, window_end)
        GROUP BY k, window_start, window_end""",
    "over all rows": over(SUMS, "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    "over some rows": over(SUMS, "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
    "inner join": f"SELECT a.id, b.id, a.k FROM a JOIN b ON a.k = b.k AND a.ts {WITHIN}",
    "left join": f"SELECT a.id, b.id, a.k FROM a LEFT JOIN b ON a.k = b.k AND a.v = b.v AND a.ts {WITHIN}",
    "full join": f"SELECT a.id, b.id, a.k, b.k FROM a FULL JOIN b ON a.k = b.k AND a.v = b.v AND a.ts {WITHIN}",
    "last": "SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM a) WHERE n = 1",
    "first": "SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n FROM a) WHERE n = 1",
    "pattern": PATTERN.format("PAST LAST ROW", "(A C* B)"),
    "pattern within": PATTERN.format("TO NEXT ROW", "(A C*? B) WITHIN INTERVAL '8' SECOND"),
}
REFUSED = {
    "window rank": f"""SELECT * FROM (SELECT id, k, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY
        v, id) AS n FROM TABLE({TUMBLE.format("a")})) WHERE n <= 2""",
    "window join": f"""SELECT x.id, y.id, x.k FROM (SELECT * FROM TABLE({TUMBLE.format("a")})) x JOIN (SELECT * FROM
        TABLE({TUMBLE.format("b")})) y ON x.k = y.k AND x.window_start = y.window_start AND
        x.window_end = y.window_end""",
    "sort": "SELECT id FROM a ORDER BY ts, v",
}
"""As in Flink."""


def rows(seed: int) -> list[Row]:
    """Rows of three keys, then rows of keys of their own until all is due."""
    chance = random.Random(seed)
    count = STEPS * PER_STEP
    keys = [chance.choice("xyz") for _ in range(count)] + ["later"] * (STEPS_UNTIL_ALL_IS_DUE * PER_STEP)
    times = [START + timedelta(milliseconds=STEP_MS * (n // PER_STEP)) for n in range(len(keys))]
    return [Row(n, key, chance.randrange(6), time) for n, (key, time) in enumerate(zip(keys, times, strict=True))]


def result(sql: str, *, is_processing_time: bool) -> Counter[tuple[Any, ...]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    for number, name in enumerate("ab"):
        columns = {"id": DataTypes.INT(), "k": DataTypes.STRING(), "v": DataTypes.INT(), "at": DataTypes.TIMESTAMP(3)}
        schema = Schema.new_builder().from_fields(list(columns), list(columns.values()))
        if is_processing_time:
            schema = schema.column_by_expression("ts", "PROCTIME()")
        else:
            schema = schema.column_by_expression("ts", "`at`").watermark("ts", "ts - INTERVAL '0.001' SECOND")
        stream = env.from_collection(rows(number), TYPES)
        t_env.create_temporary_view(name, t_env.from_data_stream(stream, schema.build()))
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    batches = STEPS + STEPS_UNTIL_ALL_IS_DUE  # The end of the input would end windows in event time only.
    clock = ManualClock(round(START.replace(tzinfo=UTC).timestamp() * 1000))
    found = run_local(env, batch_elements=PER_STEP, clock=clock, clock_step_ms=STEP_MS, batches=batches).elements
    return Counter({plain(row): count for row, count in left_of(found).items() if count and "later" not in row})


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose times have no zone."""
    return tuple(value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in row)


@pytest.mark.parametrize("name", QUERIES)
def test_processing_time_is_event_time_of_rows_in_order(name: str) -> None:
    found = result(QUERIES[name], is_processing_time=True)
    assert found
    assert found == result(QUERIES[name], is_processing_time=False)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_event_time_is_refused(name: str) -> None:
    with pytest.raises(TableException, match=r"[Pp]rocessing time"):
        result(REFUSED[name], is_processing_time=True)
