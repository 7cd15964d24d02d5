"""Speculative copies of slow tasks lose and duplicate nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.cli.session import firesteel
from tests.seeds import steps
from tests.spark.standalone_spark import StandaloneSpark

pytestmark = pytest.mark.spark

RECORDS = steps(600, 1500)
PROGRAM = """
import random, sys, time
from firesteel.common import Duration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, RollingPolicy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

records, target = int(sys.argv[1]), sys.argv[2]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)


def slowly(number):
    if random.random() < 0.01:
        time.sleep(0.3)
    return number % 10, 1


source = NumberSequenceSource(0, records - 1)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
pairs = numbers.map(slowly, Types.TUPLE([Types.LONG(), Types.LONG()]))
counts = pairs.key_by(lambda pair: pair[0], Types.LONG()).reduce(lambda a, b: (a[0], a[1] + b[1]))
texts = counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
sink = FileSink.for_row_format(target, Encoder.simple_string_encoder())
texts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()).uid("out")
env.execute("slowly")
"""
OPTIONS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "20ms",
    "spark.executor.memory": "512m",
    "taskmanager.numberOfTaskSlots": "1",
    "jobmanager.rpc.port": "0",
    "rest.port": "0",
    "execution.checkpointing.interval": "500 ms",
}


def test_duplicate_task_attempts_change_no_result(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    spark = StandaloneSpark(tmp_path)
    try:
        for _ in range(2):
            spark.add_worker(cores=2)
        spark.wait_for_workers()
        options = {
            **OPTIONS,
            "spark.master": spark.url,
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        }
        settings = [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        firesteel("run", "-t", "application", *settings, str(tmp_path / "job.py"), str(RECORDS), str(tmp_path / "out"))
    finally:
        spark.close()
    lines = Counter(
        line
        for path in (tmp_path / "out").rglob("*")
        if path.is_file() and not path.name.startswith(".")
        for line in path.read_text().splitlines()
    )
    assert lines == Counter(f"{key} {count}" for key in range(10) for count in range(1, RECORDS // 10 + 1))
