"""The driver of Spark's executors, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.spark import resource_manager_driver
from firesteel.spark.resource_manager_driver import SparkResourceManagerDriver
from tests.runtime.highavailability.kinds import eventually


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
