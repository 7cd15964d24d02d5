"""The state of a job that runs on a cluster, by SQL and by REST."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.client.rest_connection import ClusterClientError
from firesteel.connectors.state.client import RunningState, StateReadError
from tests.cli.session import RUN_DIRECTORY, JobManager, firesteel
from tests.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PROGRAM = """
import sys
from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.texts = context.get_list_state(ListStateDescriptor("texts", Types.STRING()))

    def process_element(self, word, ctx):
        self.count.update((self.count.value() or 0) + 1)
        self.texts.add(f"{word} {self.count.value()}")


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1])
files = lines.monitor_continuously(Duration.of_millis(50)).build()
words = env.from_source(files, WatermarkStrategy.no_watermarks(), "words", Types.STRING()).uid("words")
words.key_by(lambda word: word, Types.STRING()).process(Count(), Types.STRING()).uid("counter").print()
env.execute("counts")
"""
TABLE = """
CREATE TABLE {name} (word STRING, {column}, PRIMARY KEY (word) NOT ENFORCED) WITH (
  'connector' = 'state', 'job' = 'counts', 'uid' = 'counter', 'state' = '{name}');
"""
QUERIES = """
SET 'execution.runtime-mode' = 'batch';
SET 'parallelism.default' = '1';
SELECT n AS found FROM `count` WHERE word = 'b';
SELECT SUM(n) AS total, COUNT(*) AS words FROM `count`;
SELECT word AS texts_of, t[2] AS later FROM texts WHERE word IN ('a', 'z');
CREATE TABLE orders (id STRING, pt AS PROCTIME()) WITH (
  'connector' = 'filesystem', 'path' = '{orders}', 'format' = 'csv');
SELECT id AS joined, n FROM orders JOIN `count` FOR SYSTEM_TIME AS OF orders.pt AS c ON orders.id = c.word;
"""


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_the_state_of_a_running_job_is_a_table(
    jobmanagers: Callable[..., JobManager], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path))
    cluster = jobmanagers(**{"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    program, words = tmp_path / "counts.py", tmp_path / "in"
    program.write_text(PROGRAM)
    words.mkdir()
    (words / "one").write_text("a\nb\na\nc\na\n")
    firesteel("run", "-m", cluster.address, "-d", "-D", f"state.backend.type={backend}", str(program), str(words))
    count = RunningState(cluster.address, None, "counts", {"uid": "counter"}, "count")
    wait_for(lambda: _read(count) == [3, 1, 1, None])
    (words / ".two").write_text("b\n")
    (words / ".two").rename(words / "two")
    wait_for(lambda: _read(count) == [3, 2, 1, None])

    (tmp_path / "orders").write_text("c\nz\nb\n")
    script = tmp_path / "state.sql"
    tables = TABLE.format(name="`count`", column="n BIGINT") + TABLE.format(name="texts", column="t ARRAY<STRING>")
    script.write_text(tables.replace("'`count`'", "'count'") + QUERIES.replace("{orders}", str(tmp_path / "orders")))
    done = firesteel("sql", "-m", cluster.address, "--result-mode", "tableau", "-f", str(script), check=False)
    rows = [tuple(map(str.strip, line.split("|")[1:-1])) for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows == [
        *(("found",), ("2",)),
        *(("total", "words"), ("6", "3")),
        *(("texts_of", "later"), ("a", "a 2")),
        *(("joined", "n"), ("c", "1"), ("b", "2")),
    ], done.stderr
    with pytest.raises(ClusterClientError, match=r"has no keyed state 'sum'; it has 'count', 'texts'"):
        RunningState(cluster.address, None, "counts", {"uid": "counter"}, "sum").values(["a"])
    with pytest.raises(StateReadError, match=r"no running job at .* has the name 'other'; running jobs: 'counts'"):
        RunningState(cluster.address, None, "other", {"uid": "counter"}, "count").values(["a"])


def _read(state: RunningState) -> object:
    try:
        return state.values(["a", "b", "c", "d"])
    except (ClusterClientError, StateReadError) as error:  # the job is about to run
        time.sleep(0.1)
        return error
