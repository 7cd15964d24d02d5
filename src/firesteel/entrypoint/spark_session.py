"""The one JVM of this process: started at most once, shared by all jobs, ended with the process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping

from firesteel.spark.gateway import SparkGateway

MASTER = "spark.master"

_lock = threading.Lock()
_gateways: list[SparkGateway] = []


def shared_gateway(configuration: Mapping[str, str]) -> SparkGateway:
    """The gateway of this process, started on first use with the `spark.*` settings of that configuration.

    The JVM comes up in the background. Later callers share it, whatever their settings.
    """
    with _lock:
        if not _gateways:
            settings = {key: value for key, value in configuration.items() if key.startswith("spark.")}
            # A number of task failures above 1 makes Spark's local mode retry tasks.
            master = settings.pop(MASTER, f"local[{os.cpu_count() or 1},4]")
            _gateways.append(SparkGateway(master, settings))
            atexit.register(_close)
        return _gateways[0]


def _close() -> None:
    with _lock:
        while _gateways:
            _gateways.pop().close()
