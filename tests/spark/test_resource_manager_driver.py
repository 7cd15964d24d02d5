"""The driver of Spark's executors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firesteel.spark import resource_manager_driver
from firesteel.spark.resource_manager_driver import SparkResourceManagerDriver
from tests.runtime.highavailability.kinds import eventually
from tests.spark.standalone_spark import StandaloneSpark
from tests.waiting import wait_for


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


FORMER_LEADER = """
import asyncio, sys
from firesteel.runtime.resourcemanager.workers import RequestContainers
from firesteel.spark.executors import ON_DEMAND
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.resource_manager_driver import SparkResourceManagerDriver

class Listener:
    def containers_granted(self, container_ids):
        sys.exit(f"{container_ids} started too early")

async def main():
    gateway = SparkGateway(sys.argv[1], {**ON_DEMAND, "spark.executor.memory": "512m"})
    driver = SparkResourceManagerDriver(gateway.context, {}, [b""])
    await driver.start(Listener())
    await driver.perform(RequestContainers(1))
    await asyncio.to_thread(sys.stdin.readline)
    await driver.close()
    print("closed", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    gateway.close()

asyncio.run(main())
"""


@pytest.mark.spark
def test_an_executor_that_starts_after_its_leader_has_lost_is_released(tmp_path: Path) -> None:
    spark = StandaloneSpark(tmp_path)
    command = [sys.executable, "-c", FORMER_LEADER, spark.url]
    leader = None
    try:
        spark.add_worker(cores=1)
        spark.wait_for_workers()
        leader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert leader.stdin is not None
        assert leader.stdout is not None
        executors = wait_for(spark.executors)
        for executor in executors:
            os.kill(executor, signal.SIGSTOP)
        print(file=leader.stdin, flush=True)
        assert leader.stdout.readline() == "closed\n"
        for executor in executors:
            os.kill(executor, signal.SIGCONT)
        # It registers at its application, and then ends.
        wait_for(lambda: not spark.executors())
    finally:
        if leader is not None:
            leader.communicate("\n")
        spark.close()
