"""Table programs whose processes are killed give each result once."""

from __future__ import annotations

import datetime
import json
import os
import signal
from collections import Counter

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import EnvironmentSettings, StreamTableEnvironment
from firesteel.table.udf import udf

pytestmark = pytest.mark.slow

ROWS = 60_000


def test_killed_slots_change_no_window_and_no_file(tmp_path):
    source, sink, killed = tmp_path / "in", tmp_path / "out", tmp_path / "killed"
    source.mkdir()
    killed.mkdir()
    expected: Counter[tuple[int, str]] = Counter()
    begin = datetime.datetime(2024, 1, 1)
    for part in range(4):
        lines = []
        for i in range(ROWS // 4):
            time = begin + datetime.timedelta(milliseconds=50 * i)
            lines.append(f"{i % 7},{i},{time:%Y-%m-%d %H:%M:%S.%f}"[:-3])
            expected[
                i % 7, str(time - datetime.timedelta(seconds=time.second % 30, microseconds=time.microsecond))
            ] += i
        (source / f"{part}.csv").write_text("\n".join(lines) + "\n")

    @udf(result_type="INT")
    def kill_once(value):
        mark = killed / str(value)
        if value in (9_000, 14_000) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "200ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "10",
        "restart-strategy.fixed-delay.delay": "10ms",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_function("kill_once", kill_once)
    t_env.execute_sql(f"""CREATE TABLE numbers (k INT, v INT, ts TIMESTAMP(3),
        WATERMARK FOR ts AS ts - INTERVAL '1' HOUR)
        WITH ('connector' = 'filesystem', 'path' = '{source}', 'format' = 'csv')""")
    t_env.execute_sql(f"""CREATE TABLE sums (k INT, begins TIMESTAMP(3), total BIGINT)
        WITH ('connector' = 'filesystem', 'path' = '{sink}', 'format' = 'json')""")
    t_env.execute_sql("CREATE TEMPORARY VIEW numbers_seen AS SELECT k, kill_once(v) AS w, ts FROM numbers")
    t_env.execute_sql("""INSERT INTO sums SELECT k, window_start, SUM(CAST(w AS BIGINT))
        FROM TABLE(TUMBLE(TABLE numbers_seen, DESCRIPTOR(ts), INTERVAL '30' SECOND))
        GROUP BY k, window_start, window_end""").wait()

    found: Counter[tuple[int, str]] = Counter()
    for path in sink.rglob("*"):
        if path.is_file() and not path.name.startswith((".", "_")):
            for row in map(json.loads, path.read_text().splitlines()):
                found[row["k"], row["begins"]] += row["total"]
    assert len(list(killed.iterdir())) == 2
    assert found == expected
