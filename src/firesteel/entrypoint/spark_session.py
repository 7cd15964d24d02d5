"""The one JVM of this process: started at most once, shared by all jobs, ended with the process."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping

from firesteel.entrypoint.class_archive_training import start_making_archive
from firesteel.entrypoint.spark_options import has_executors, spark_master, spark_settings
from firesteel.spark.gateway import SparkGateway

_lock = threading.Lock()
_gateways: list[SparkGateway] = []


def shared_gateway(configuration: Mapping[str, str]) -> SparkGateway:
    """The gateway of this process, started on first use with Spark's settings in that configuration.

    The JVM comes up in the background. Later callers share it, whatever their settings.

    Raises:
        InvalidOptionError: an option can't be read.
    """
    with _lock:
        if not _gateways:
            _gateways.append(SparkGateway(spark_master(configuration), spark_settings(configuration)))
            atexit.register(_close, makes_archive=not has_executors(configuration))
        return _gateways[0]


def _close(makes_archive: bool) -> None:
    with _lock:
        while _gateways:
            gateway = _gateways.pop()
            wants_archive = gateway.wants_archive
            gateway.close()
            if makes_archive and wants_archive:
                start_making_archive()
