"""BATCH jobs leave no leftovers in Spark or in the checkpoint directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark import SparkContext

from firesteel.client.client_errors import JobFailedError
from firesteel.common import Configuration, Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

pytestmark = pytest.mark.spark


def environment(**options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for option, value in options.items():
        configuration.set_string(option, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    return env


def test_large_functions_leave_no_broadcasts_behind() -> None:
    large = os.urandom(3_000_000)

    def lengths() -> list[int]:
        numbers = environment().from_collection([1, 2, 3], type_info=Types.LONG())
        with numbers.map(lambda number: number + len(large), Types.LONG()).execute_and_collect() as results:
            return sorted(results)

    assert lengths() == [3_000_001, 3_000_002, 3_000_003]
    directory = Path(SparkContext._active_spark_context._temp_dir)
    assert [path for path in directory.iterdir() if path.stat().st_size > 1_000_000] == []


def test_an_attempt_does_not_see_files_of_the_previous_one(tmp_path: Path) -> None:
    def fail_once(number: int) -> list[str]:
        (job,) = (path for path in (tmp_path / "checkpoints").iterdir() if path.is_dir())
        if not (tmp_path / "failed").exists():
            (tmp_path / "failed").touch()
            raise ValueError("once")
        return [path.name for pattern in ("failure-*", "versions-1/*", "versions-*") for path in job.glob(pattern)]

    options = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    numbers = environment(**options).from_collection([1], type_info=Types.LONG())
    with numbers.map(fail_once).execute_and_collect() as results:
        assert [sorted(names) for names in results] == [["versions-1", "versions-2"]]


def test_a_job_that_failed_keeps_no_directory_even_if_checkpoints_are_kept(tmp_path: Path) -> None:
    def fail(number: int) -> int:
        raise ValueError(number)

    options = {
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    env = environment(**options)
    env.from_collection([1], type_info=Types.LONG()).map(fail).print()
    with pytest.raises(JobFailedError):
        env.execute()
    assert list(tmp_path.iterdir()) == []
