"""The JVM of this process: started at most once, shared by all jobs, stopped with the process."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from functools import cache

from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.option import InvalidOptionError
from firesteel.entrypoint.class_archive_training import start_making_archive
from firesteel.entrypoint.spark_options import MASTER, check_master, has_executors, spark_master, spark_settings
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.java import Java

_lock = threading.Lock()
_gateways: list[SparkGateway] = []
_used: set[SparkGateway] = set()
"""Those that a job or table has asked for, rather than `start_early` alone."""
_on_first_use: list[Callable[[Java], None]] = []


def shared_gateway(configuration: Mapping[str, str], is_strict: bool = True) -> SparkGateway:
    """Return the gateway of this process; the first call starts it with the Spark settings of the configuration.

    The JVM starts in the background. Later callers share it. One that has only been started early, before the program
    told its options, is replaced if these are others.

    Args:
        configuration: The options.
        is_strict: Whether to refuse options of Spark that a running JVM does not have; the caller does it otherwise.

    Raises:
        InvalidOptionError: an option is invalid, or differs from that of the running Spark.
    """
    with _lock:
        difference = _difference(_gateways[0], configuration) if _gateways else ""
        if difference and _gateways[0] not in _used:
            _gateways.pop().replace()
        elif difference and is_strict:
            raise InvalidOptionError(difference)
        gateway = _started(configuration)
        if not _used and _on_first_use:
            _on_first_use.pop()(gateway.java)
        _used.add(gateway)
        return gateway


def _difference(gateway: SparkGateway, configuration: Mapping[str, str]) -> str:
    """Return what to say of an option of Spark that has another value in a running JVM, or nothing."""
    for key in sorted(key for key in configuration if key.startswith("spark.")):
        wanted = spark_master(configuration) if key == MASTER else configuration[key]
        if (found := gateway.setting(key)) != wanted:
            return (
                f"option {key!r} is {wanted!r}, but the Spark of this process was started with "
                f"{'none' if found is None else repr(found)}; set it before the first job of the process"
            )
    return ""


def _started(configuration: Mapping[str, str]) -> SparkGateway:
    if not _gateways:
        check_master(configuration)
        temporary = temporary_directory(configuration)
        _gateways.append(SparkGateway(spark_master(configuration), spark_settings(configuration), temporary=temporary))
        _close_at_exit()
    return _gateways[0]


def start_early(configuration: Mapping[str, str], on_first_use: Callable[[Java], None] | None = None) -> None:
    """Start what the first job of a program will need while the program is being read.

    Args:
        configuration: The options.
        on_first_use: Called with the Java of Spark once a job or table needs it, which none does if the program has a
            mistake.

    Raises:
        InvalidOptionError: an option is invalid.
        JavaNotFoundError: Java is not installed.
    """
    with _lock:
        gateway = _started(configuration)
    if not has_executors(configuration):  # Elsewhere an application takes executors, which only a job needs.
        gateway.begin()
    if on_first_use is not None:
        _on_first_use.append(on_first_use)


@cache
def _close_at_exit() -> None:
    atexit.register(_close)


def _close() -> None:
    with _lock:
        while _gateways:
            gateway = _gateways.pop()
            wants_archive = gateway.wants_archive
            gateway.close()
            if wants_archive and not has_executors({MASTER: gateway.setting(MASTER) or ""}):
                start_making_archive()
