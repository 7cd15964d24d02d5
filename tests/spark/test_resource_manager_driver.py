"""The driver of Spark's executors."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from firesteel.runtime.resourcemanager.workers import RequestContainers
from firesteel.spark import resource_manager_driver
from firesteel.spark.executors import ON_DEMAND
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.resource_manager_driver import SparkResourceManagerDriver
from tests.runtime.highavailability.kinds import eventually
from tests.spark.standalone_spark import StandaloneSpark


async def test_the_watcher_of_executors_survives_errors_that_nobody_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_manager_driver, "_LOOK_EVERY_S", 0.001)
    looks: list[int] = []

    def no_context() -> Any:
        looks.append(len(looks))
        raise TypeError("unexpected")

    listener: Any = object()
    driver = SparkResourceManagerDriver(no_context, {}, [b""])
    await driver.start(listener)
    await eventually(lambda: len(looks) > 3, "further looks")
    await driver.close()


class Granted:
    """Takes what the driver tells, and starts nothing in it."""

    def containers_granted(self, container_ids: list[str]) -> None:
        raise AssertionError(f"{container_ids} were granted to a former leader")


@pytest.mark.spark
async def test_an_executor_that_starts_after_its_leader_has_lost_is_released(tmp_path: Path) -> None:
    spark = StandaloneSpark(tmp_path)
    gateway = None
    try:
        spark.add_worker(cores=1)
        spark.wait_for_workers()
        gateway = SparkGateway(spark.url, {**ON_DEMAND, "spark.executor.memory": "512m"})
        driver = SparkResourceManagerDriver(gateway.context, {}, [b""])
        listener: Any = Granted()
        await driver.start(listener)
        await driver.perform(RequestContainers(1))
        await eventually(spark.executors, "an executor that starts")
        for executor in (started := spark.executors()):
            os.kill(executor, signal.SIGSTOP)
        await driver.close()
        for executor in started:
            os.kill(executor, signal.SIGCONT)
        # It registers at its application, and then ends.
        await eventually(lambda: not spark.executors(), "the end of the executor")
    finally:
        if gateway is not None:
            gateway.close()
        spark.close()
