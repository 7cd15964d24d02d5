"""The one JVM of this process: started at most once, shared by all jobs, ended with the process."""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections.abc import Mapping

from firesteel.spark.executors import ON_DEMAND
from firesteel.spark.gateway import SparkGateway, python_environment

MASTER = "spark.master"
SLOTS = "taskmanager.numberOfTaskSlots"

_lock = threading.Lock()
_gateways: list[SparkGateway] = []


def shared_gateway(configuration: Mapping[str, str]) -> SparkGateway:
    """The gateway of this process, started on first use with the `spark.*` settings of that configuration.

    The JVM comes up in the background. Later callers share it, whatever their settings.
    """
    with _lock:
        if not _gateways:
            _gateways.append(SparkGateway(_master(configuration), _settings(configuration)))
            atexit.register(_close)
        return _gateways[0]


def has_executors(configuration: Mapping[str, str]) -> bool:
    """Whether Spark has executors in processes, and on hosts, of their own."""
    return re.match(r"local(\[|$)", _master(configuration)) is None


def _master(configuration: Mapping[str, str]) -> str:
    # A number of task failures above 1 makes Spark's local mode retry tasks.
    return configuration.get(MASTER, f"local[{os.cpu_count() or 1},4]")


def _settings(configuration: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings; where it has executors, each has a core per slot, and they find what this process finds."""
    given = {key: value for key, value in configuration.items() if key.startswith("spark.") and key != MASTER}
    if not has_executors(configuration):
        return given
    address = configuration.get("jobmanager.rpc.address", "127.0.0.1")
    return {
        **ON_DEMAND,
        "spark.driver.host": address,
        "spark.driver.bindAddress": configuration.get("jobmanager.bind-host", address),
        "spark.executor.cores": configuration.get(SLOTS, "1"),
        "spark.executorEnv.PYTHONPATH": python_environment()["PYTHONPATH"],
        **given,
    }


def _close() -> None:
    with _lock:
        while _gateways:
            _gateways.pop().close()
