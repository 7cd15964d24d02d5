"""The JVM of this process: started at most once, shared by all jobs, stopped with the process."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping

from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.entrypoint.class_archive_training import start_making_archive
from firesteel.entrypoint.spark_options import has_executors, spark_master, spark_settings
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.java import Java

_lock = threading.Lock()
_gateways: list[SparkGateway] = []


def shared_gateway(configuration: Mapping[str, str]) -> SparkGateway:
    """Return the gateway of this process; the first call starts it with the Spark settings of the configuration.

    The JVM starts in the background. Later callers share it, regardless of their settings.

    Raises:
        InvalidOptionError: an option is invalid.
    """
    with _lock:
        if not _gateways:
            temporary = temporary_directory(configuration)
            _gateways.append(
                SparkGateway(spark_master(configuration), spark_settings(configuration), temporary=temporary)
            )
            atexit.register(_close, makes_archive=not has_executors(configuration))
        return _gateways[0]


def start_early(configuration: Mapping[str, str]) -> Java:
    """Start what the first job of a program will need while the program is being read, and return the Java of Spark.

    Raises:
        InvalidOptionError: an option is invalid.
        JavaNotFoundError: Java is not installed.
    """
    gateway = shared_gateway(configuration)
    if not has_executors(configuration):  # Elsewhere an application takes executors, which only a job needs.
        gateway.begin()
    return gateway.java


def _close(makes_archive: bool) -> None:
    with _lock:
        while _gateways:
            gateway = _gateways.pop()
            wants_archive = gateway.wants_archive
            gateway.close()
            if makes_archive and wants_archive:
                start_making_archive()
