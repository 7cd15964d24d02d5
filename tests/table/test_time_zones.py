"""Queries over TIMESTAMP_LTZ in several time zones, on the days on which their clocks are switched."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from firesteel.common import Row, Types
from firesteel.common.time import Instant
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment
from firesteel.table.errors import TableException
from firesteel.table.expressions import col, lit
from firesteel.table.window import Tumble
from firesteel.testing import run_local

UTC, SHANGHAI, BERLIN, LOS_ANGELES = "UTC", "Asia/Shanghai", "Europe/Berlin", "America/Los_Angeles"
AUTUMN = ["2024-10-26T15:00", "2024-10-26T22:30", "2024-10-27T00:30", "2024-10-27T01:30", "2024-10-27T22:59"]
"""Instants in UTC. In Berlin 02:30 comes twice on the 27th, which is a day of 25 hours."""
SPRING = ["2024-03-30T22:30", "2024-03-30T23:30", "2024-03-31T00:30", "2024-03-31T01:30", "2024-03-31T22:30"]
"""In Berlin 02:30 is skipped on the 31st, which is a day of 23 hours."""
FALL = ["2024-11-03T06:30", "2024-11-03T08:30", "2024-11-03T09:30", "2024-11-04T07:30", "2024-11-04T08:00"]
"""In Los Angeles 01:30 comes twice on the 3rd."""
DAY = "TABLE({}(TABLE t, DESCRIPTOR(ts){}, INTERVAL '1' DAY))"


def instant(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def rows(sql: Any, zone: str, times: list[str], mode: Any = RuntimeExecutionMode.STREAMING) -> list[tuple[Any, ...]]:
    """The rows of a query over a table `t` of numbers and instants."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.set_runtime_mode(mode)
    batch = mode is RuntimeExecutionMode.BATCH
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    t_env = StreamTableEnvironment.create(env, settings)
    t_env.get_config().set_local_timezone(zone)
    types = Types.ROW_NAMED(["id", "ms"], [Types.INT(), Types.LONG()])
    stream = env.from_collection([Row(i, instant(text)) for i, text in enumerate(times, 1)], types)
    schema = Schema.new_builder().column("id", DataTypes.INT()).column("ms", DataTypes.BIGINT())
    schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)").column_by_expression("pt", "PROCTIME()")
    schema = schema.watermark("ts", "ts - INTERVAL '1' SECOND")
    t_env.create_temporary_view("t", t_env.from_data_stream(stream, schema.build()))
    table = t_env.sql_query(sql) if isinstance(sql, str) else sql(t_env.from_path("t"))
    t_env.to_changelog_stream(table).collect_async()
    return [tuple(map(shown, row)) for row in run_local(env, batch_elements=2).elements]


def shown(value: Any) -> Any:
    """Local times as `10-27 02:30`, instants with a `Z`."""
    if isinstance(value, Instant):
        moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
        return f"{moment:%m-%d %H:%M:%S}Z"
    return f"{value:%m-%d %H:%M}" if isinstance(value, datetime.datetime) else value


COUNTS = "SELECT window_start, window_end, window_time, COUNT(*) FROM {} GROUP BY window_start, window_end, window_time"
DAYS = {
    (UTC, "autumn"): [
        ("10-26 00:00", "10-27 00:00", "10-26 23:59:59Z", 2),
        ("10-27 00:00", "10-28 00:00", "10-27 23:59:59Z", 3),
    ],
    (SHANGHAI, "autumn"): [
        ("10-26 00:00", "10-27 00:00", "10-26 15:59:59Z", 1),
        ("10-27 00:00", "10-28 00:00", "10-27 15:59:59Z", 3),
        ("10-28 00:00", "10-29 00:00", "10-28 15:59:59Z", 1),
    ],
    (BERLIN, "autumn"): [
        ("10-26 00:00", "10-27 00:00", "10-26 21:59:59Z", 1),
        ("10-27 00:00", "10-28 00:00", "10-27 22:59:59Z", 4),
    ],
    (LOS_ANGELES, "autumn"): [
        ("10-26 00:00", "10-27 00:00", "10-27 06:59:59Z", 4),
        ("10-27 00:00", "10-28 00:00", "10-28 06:59:59Z", 1),
    ],
    (BERLIN, "spring"): [
        ("03-30 00:00", "03-31 00:00", "03-30 22:59:59Z", 1),
        ("03-31 00:00", "04-01 00:00", "03-31 21:59:59Z", 3),
        ("04-01 00:00", "04-02 00:00", "04-01 21:59:59Z", 1),
    ],
    (LOS_ANGELES, "fall"): [
        ("11-02 00:00", "11-03 00:00", "11-03 06:59:59Z", 1),
        ("11-03 00:00", "11-04 00:00", "11-04 07:59:59Z", 3),
        ("11-04 00:00", "11-05 00:00", "11-05 07:59:59Z", 1),
    ],
}
TIMES = {"autumn": AUTUMN, "spring": SPRING, "fall": FALL}


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
@pytest.mark.parametrize(("zone", "season"), DAYS)
def test_days_are_cut_at_local_midnight(zone: str, season: str, mode: RuntimeExecutionMode) -> None:
    assert sorted(rows(COUNTS.format(DAY.format("TUMBLE", "")), zone, TIMES[season], mode)) == DAYS[zone, season]


@pytest.mark.parametrize(("zone", "season"), DAYS)
def test_group_windows_of_sql_and_of_the_table_api(zone: str, season: str) -> None:
    expected = DAYS[zone, season]
    day = "(ts, INTERVAL '1' DAY)"
    sql = f"SELECT TUMBLE_START{day}, TUMBLE_END{day}, TUMBLE_ROWTIME{day}, COUNT(*) FROM t GROUP BY TUMBLE{day}"
    assert sorted(rows(sql, zone, TIMES[season])) == expected

    def table_api(table: Any) -> Any:
        days = table.window(Tumble.over(lit(1).days).on(col("ts")).alias("w")).group_by(col("w"))
        return days.select(col("w").start, col("w").end, col("w").rowtime, col("id").count)

    assert sorted(rows(table_api, zone, TIMES[season])) == expected


HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '12' HOUR, INTERVAL '1' DAY))"
CUMULATE = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '12' HOUR, INTERVAL '1' DAY))"
SESSION = "TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '45' MINUTE))"
PER_WINDOW = "SELECT window_start, window_end, COUNT(*) FROM {} GROUP BY window_start, window_end"
QUERIES = {
    "hops": (PER_WINDOW.format(HOP), BERLIN, AUTUMN, [
        ("10-26 00:00", "10-27 00:00", 1),
        ("10-26 12:00", "10-27 12:00", 4),
        ("10-27 00:00", "10-28 00:00", 4),
        ("10-27 12:00", "10-28 12:00", 1),
    ]),
    "hours that cumulate": (PER_WINDOW.format(CUMULATE), BERLIN, SPRING, [
        ("03-30 00:00", "03-31 00:00", 1),
        ("03-31 00:00", "03-31 12:00", 3),
        ("03-31 00:00", "04-01 00:00", 3),
        ("04-01 00:00", "04-01 12:00", 1),
        ("04-01 00:00", "04-02 00:00", 1),
    ]),
    "sessions by the clock": (PER_WINDOW.format(SESSION), BERLIN, AUTUMN, [  # 02:30 twice is one time of the clock
        ("10-26 17:00", "10-26 17:45", 1),
        ("10-27 00:30", "10-27 01:15", 1),
        ("10-27 02:30", "10-27 03:15", 2),
        ("10-27 23:59", "10-28 00:44", 1),
    ]),
    "sessions per key, columns in any order": (
        """WITH halves AS (SELECT *, MOD(id, 2) AS half FROM t)
            SELECT window_time, COUNT(*), half, window_end, SUM(id) FROM
            TABLE(SESSION(TABLE halves PARTITION BY half, DESCRIPTOR(ts), INTERVAL '1' DAY))
            GROUP BY window_end, half, window_time, window_start""", BERLIN, AUTUMN, [
        ("10-28 01:29:59Z", 2, 0, "10-28 02:30", 6),
        ("10-28 22:58:59Z", 3, 1, "10-28 23:59", 9),
    ]),
    "sessions per key, row by row": (
        """WITH halves AS (SELECT *, MOD(id, 2) AS half FROM t)
            SELECT window_time, COUNT(DISTINCT id), half, window_end, SUM(id) FROM
            TABLE(SESSION(TABLE halves PARTITION BY half, DESCRIPTOR(ts), INTERVAL '1' DAY))
            GROUP BY window_end, half, window_time, window_start""", BERLIN, AUTUMN, [
        ("10-28 01:29:59Z", 2, 0, "10-28 02:30", 6),
        ("10-28 22:58:59Z", 3, 1, "10-28 23:59", 9),
    ]),
    "group windows of sessions": (
        """SELECT SESSION_START(ts, INTERVAL '45' MINUTE), SESSION_END(ts, INTERVAL '45' MINUTE), COUNT(*) FROM t
            GROUP BY SESSION(ts, INTERVAL '45' MINUTE)""", LOS_ANGELES, FALL, [
        ("11-02 23:30", "11-03 00:15", 1),
        ("11-03 01:30", "11-03 02:15", 2),
        ("11-03 23:30", "11-04 00:45", 2),
    ]),
    "windows with an offset": (
        PER_WINDOW.format("TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '6' HOUR))"), SHANGHAI,
        AUTUMN, [
        ("10-26 06:00", "10-27 06:00", 1),
        ("10-27 06:00", "10-28 06:00", 3),
        ("10-28 06:00", "10-29 06:00", 1),
    ]),
    "the first of each day": (
        f"""SELECT id, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end
            ORDER BY id) AS n FROM {DAY.format("TUMBLE", "")}) WHERE n = 1""", BERLIN, SPRING, [
        (1, "03-30 00:00"), (2, "03-31 00:00"), (5, "04-01 00:00")
    ]),
    "a join of days": (
        f"""SELECT a.id, b.id FROM (SELECT * FROM {DAY.format("TUMBLE", "")}) a JOIN (SELECT * FROM
            {DAY.format("TUMBLE", "")} WHERE MOD(id, 2) = 0) b ON a.window_start = b.window_start AND
            a.window_end = b.window_end""", SHANGHAI, AUTUMN, [
        (2, 2), (2, 4), (3, 2), (3, 4), (4, 2), (4, 4)
    ]),
    "a day in rows": (
        "SELECT id, COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM t",
        BERLIN, AUTUMN, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 3)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_windows(name: str) -> None:
    sql, zone, times, expected = QUERIES[name]
    assert sorted(rows(sql, zone, times)) == expected


def test_windows_of_windows_are_on_the_same_clock() -> None:
    sql = """WITH hours AS (SELECT window_time AS rt, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts),
            INTERVAL '1' HOUR)) GROUP BY window_start, window_end, window_time)
        SELECT window_start, window_end, SUM(n) FROM TABLE(TUMBLE(TABLE hours, DESCRIPTOR(rt), INTERVAL '1' DAY))
        GROUP BY window_start, window_end"""
    expected = [("10-26 00:00", "10-27 00:00", 1), ("10-27 00:00", "10-28 00:00", 4)]
    assert sorted(rows(sql, BERLIN, AUTUMN)) == expected


FUNCTIONS = {
    "EXTRACT(DAY FROM ts)": {UTC: [27, 26], SHANGHAI: [27, 26], BERLIN: [27, 26], LOS_ANGELES: [26, 26]},
    "EXTRACT(HOUR FROM ts)": {UTC: [0, 15], SHANGHAI: [8, 23], BERLIN: [2, 17], LOS_ANGELES: [17, 8]},
    "DATE_FORMAT(ts, 'dd HH:mm')": {
        UTC: ["27 00:30", "26 15:00"], SHANGHAI: ["27 08:30", "26 23:00"], BERLIN: ["27 02:30", "26 17:00"],
        LOS_ANGELES: ["26 17:30", "26 08:00"],
    },
    "CAST(ts AS STRING)": {
        BERLIN: ["2024-10-27 02:30:00.000", "2024-10-26 17:00:00.000"],
        LOS_ANGELES: ["2024-10-26 17:30:00.000", "2024-10-26 08:00:00.000"],
    },
    "CAST(CAST(ts AS DATE) AS STRING)": {
        UTC: ["2024-10-27", "2024-10-26"], LOS_ANGELES: ["2024-10-26", "2024-10-26"],
    },
    "CAST(CAST(ts AS TIME) AS STRING)": {UTC: ["00:30:00", "15:00:00"], BERLIN: ["02:30:00", "17:00:00"]},
    "CAST(ts AS TIMESTAMP(3))": {UTC: ["10-27 00:30", "10-26 15:00"], SHANGHAI: ["10-27 08:30", "10-26 23:00"]},
    "CAST(CAST(ts AS TIMESTAMP(3)) AS TIMESTAMP_LTZ(3))": {
        UTC: ["10-27 00:30:00Z", "10-26 15:00:00Z"], BERLIN: ["10-27 00:30:00Z", "10-26 15:00:00Z"],
    },
    "CAST(CAST(ts AS DATE) AS TIMESTAMP_LTZ(3))": {
        UTC: ["10-27 00:00:00Z", "10-26 00:00:00Z"], SHANGHAI: ["10-26 16:00:00Z", "10-25 16:00:00Z"],
        BERLIN: ["10-26 22:00:00Z", "10-25 22:00:00Z"],
    },
    "CAST(CAST(ts AS STRING) AS TIMESTAMP_LTZ(3))": {LOS_ANGELES: ["10-27 00:30:00Z", "10-26 15:00:00Z"]},
    "FLOOR(ts TO DAY)": {
        UTC: ["10-27 00:00:00Z", "10-26 00:00:00Z"], SHANGHAI: ["10-26 16:00:00Z", "10-25 16:00:00Z"],
        LOS_ANGELES: ["10-26 07:00:00Z", "10-26 07:00:00Z"],
    },
    "CEIL(ts TO HOUR)": {UTC: ["10-27 01:00:00Z", "10-26 15:00:00Z"], BERLIN: ["10-27 01:00:00Z", "10-26 15:00:00Z"]},
    "FLOOR(ts TO MONTH)": {SHANGHAI: ["09-30 16:00:00Z", "09-30 16:00:00Z"]},
    "FROM_UNIXTIME(ms / 1000)": {SHANGHAI: ["2024-10-27 08:30:00", "2024-10-26 23:00:00"]},
    "UNIX_TIMESTAMP(DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss')) - ms / 1000": {UTC: [0, 0], SHANGHAI: [0, 0]},
}  # fmt: skip
CASES = [(function, zone) for function, results in FUNCTIONS.items() for zone in results]


@pytest.mark.parametrize(("function", "zone"), CASES)
def test_functions_of_instants(function: str, zone: str) -> None:
    found = rows(f"SELECT {function} FROM t", zone, ["2024-10-27T00:30", "2024-10-26T15:00"])
    assert [value for (value,) in found] == FUNCTIONS[function][zone]


def test_rounding_on_the_day_of_a_switch_keeps_the_offset_of_the_time() -> None:
    """Flink subtracts the offset of the instant from the rounded local time, although the clock was another one."""
    found = rows("SELECT FLOOR(ts TO DAY), CEIL(ts TO DAY) FROM t", BERLIN, ["2024-03-31T10:00"])
    assert found == [("03-30 22:00:00Z", "03-31 22:00:00Z")]


def test_skipped_and_repeated_local_times_become_instants() -> None:
    texts = {"2024-03-31 02:30:00": "03-31 01:30:00Z", "2024-10-27 02:30:00": "10-27 00:30:00Z"}
    for text, expected in texts.items():
        casts = f"CAST('{text}' AS TIMESTAMP_LTZ(3)), CAST(TIMESTAMP '{text}' AS TIMESTAMP_LTZ(3))"
        assert rows(f"SELECT {casts} FROM t", BERLIN, AUTUMN[:1]) == [(expected, expected)]


@pytest.mark.parametrize("zone", [UTC, SHANGHAI, LOS_ANGELES])
def test_current_times_are_local(zone: str) -> None:
    found = rows(
        "SELECT CAST(CURRENT_DATE AS STRING), CAST(NOW() AS STRING), CAST(LOCALTIMESTAMP AS STRING) FROM t",
        zone,
        AUTUMN[:1],
    )
    date, now, local = found[0]
    assert now[:10] == date or local[:10] == date
    wall = datetime.datetime.now(ZoneInfo(zone)).replace(tzinfo=None)
    assert abs(wall - datetime.datetime.fromisoformat(now)) < datetime.timedelta(minutes=5)
    assert abs(wall - datetime.datetime.fromisoformat(local)) < datetime.timedelta(minutes=5)


@pytest.mark.parametrize("zone", [UTC, SHANGHAI, LOS_ANGELES])
def test_windows_over_timestamps_have_no_zone(zone: str) -> None:
    sql = DAY.format("TUMBLE", "").replace("TABLE t,", "TABLE v,")
    view = "SELECT TO_TIMESTAMP('2024-10-26 23:30:00') AS ts FROM t"
    found = rows(f"WITH v AS ({view}) {COUNTS.format(sql)}", zone, AUTUMN[:2], RuntimeExecutionMode.BATCH)
    assert found == [("10-26 00:00", "10-27 00:00", "10-26 23:59", 2)]


@pytest.mark.parametrize("what", ["TopN", "Join"])
def test_windows_in_processing_time_are_refused_where_flink_does(what: str) -> None:
    windows = "(SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '1' DAY)))"
    queries = {
        "TopN": f"""SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY id) AS n
            FROM {windows}) WHERE n = 1""",
        "Join": f"""SELECT a.id FROM {windows} a JOIN {windows} b ON a.window_start = b.window_start AND
            a.window_end = b.window_end""",
    }
    with pytest.raises(TableException, match=f"Processing time Window {what} is not supported yet"):
        rows(queries[what], UTC, AUTUMN)
