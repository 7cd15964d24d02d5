"""Translation of Flink's cluster options to Spark's settings: location, resources and credentials of executors.

Sources: `YarnConfigOptions`, `KubernetesConfigOptions` and `TaskManagerOptions` of Flink 2.3; "Running Spark on YARN"
and "Running Spark on Kubernetes" in Spark's documentation. The driver runs in the JobManager's process (client mode),
so options of Flink's own JobManager containers have no counterpart.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.rpc_options import (
    HEARTBEAT_INTERVAL,
    HEARTBEAT_TIMEOUT,
    JOBMANAGER_BIND_HOST,
    JOBMANAGER_RPC_ADDRESS,
)
from firesteel.common.options.slot_options import JOBMANAGER_HEAP, TASK_SLOTS, TASKMANAGER_PROCESS_MEMORY
from firesteel.common.options.spark_counterparts import ENVIRONMENT, LISTS, MAPS, SAME_VALUE
from firesteel.common.trust.loopback import is_loopback
from firesteel.runtime.placeholders import check_not_placeholder
from firesteel.spark.executors import ON_DEMAND
from firesteel.spark.gateway import BIND_ADDRESS, CORES, python_environment

__all__ = ["MASTER", "check_master", "has_executors", "spark_master", "spark_settings"]

MASTER = "spark.master"
_AUTHENTICATE = "spark.authenticate"
_SECRET = "spark.authenticate.secret"
_LOOPBACK = "127.0.0.1"
_DRIVER_ADDRESSES = (JOBMANAGER_RPC_ADDRESS.key, JOBMANAGER_BIND_HOST.key, "spark.driver.host", BIND_ADDRESS)
_LOCAL = re.compile(r"local(\[\s*(?P<cores>\*|[1-9][0-9]*)\s*(,\s*(?P<failures>[0-9]+)\s*)?\])?")
_YARN, _OTHERS = "yarn", ("spark://", "k8s://", "local-cluster[")
_YARN_VARIABLES = {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+\s*\]")
_THREADS_PER_CORE = 16
_LEAST_HEAP = 512 << 20
_HEAP_SHARE = 4
_MEBIBYTE = 1 << 20
_LONGEST_INTERVAL_S = 60
"""Less than Spark's `spark.network.timeout`, as Spark demands."""


def spark_master(configuration: Mapping[str, str]) -> str:
    """Return Spark's master URL: `spark.master`, or a local master with all cores of the machine.

    A local Spark gets 16 threads per core, because its tasks mostly wait for slots, and the tasks of one job must not
    block those of another.

    Example:
        >>> spark_master({"spark.master": "local[2]"})
        'local[32,4]'
        >>> spark_master({"spark.master": "yarn"})
        'yarn'
    """
    if (local := _local(configuration)) is None:
        return configuration[MASTER]
    # A maximum of more than 1 task failure makes Spark's local mode retry tasks.
    return f"local[{_cores(local) * _THREADS_PER_CORE},{local['failures'] or 4}]"


def check_master(configuration: Mapping[str, str]) -> None:
    """Check what Spark's Java would need for its master, and otherwise end without.

    Raises:
        InvalidOptionError: it is missing.
    """
    master = spark_master(configuration)
    if master == _YARN and not os.environ.keys() & _YARN_VARIABLES:
        needed = " or ".join(sorted(_YARN_VARIABLES))
        raise InvalidOptionError(f"option {MASTER!r} is {master!r}, which needs the environment variable {needed}")
    if master.startswith("local-cluster") and _LOCAL_CLUSTER.fullmatch(master) is None:
        raise InvalidOptionError(
            f"option {MASTER!r} is {master!r}; must be local-cluster[EXECUTORS,CORES,MEMORY], with the memory in MiB"
        )


def has_executors(configuration: Mapping[str, str]) -> bool:
    """Return whether Spark has executors in separate processes or on other hosts."""
    return _local(configuration) is None


def _local(configuration: Mapping[str, str]) -> re.Match[str] | None:
    """Return the parsed local master, or None if Spark has executors."""
    master = configuration.get(MASTER, "local[*]")
    if master.startswith(_OTHERS) or master == _YARN:
        return None
    if (local := _LOCAL.fullmatch(master)) is None:
        allowed = f"local[N], local[N,F], local[*], {_YARN}, or begin with {', '.join(_OTHERS)}"
        raise InvalidOptionError(f"option {MASTER!r} is {master!r}; must be {allowed}")
    return local


def _cores(local: re.Match[str]) -> int:
    if local["cores"] == "*":
        return os.cpu_count() or 1
    return int(local["cores"] or 1)


def spark_settings(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings; options that begin with `spark.` are passed on and take precedence.

    A local Spark listens on 127.0.0.1 only. Its processes authenticate each other. An executor has one core per slot
    and the same module path as this process. A quarter of a TaskExecutor's memory, at least 512 MB, goes to the
    executor's JVM, which only moves buffers; the rest is for Python.

    Raises:
        InvalidOptionError: an option is invalid, or would let everyone run code.

    Example:
        >>> spark_settings({"spark.ui.enabled": "true"})["spark.driver.bindAddress"]
        '127.0.0.1'
        >>> spark_settings({"spark.master": "yarn", "yarn.application.queue": "etl"})["spark.yarn.queue"]
        'etl'
    """
    given = _driver_memory(configuration)
    given |= {key: value for key, value in configuration.items() if key.startswith("spark.") and key != MASTER}
    if (local := _local(configuration)) is not None:
        own = {"spark.driver.host": _LOOPBACK, BIND_ADDRESS: _LOOPBACK, _AUTHENTICATE: "true"}
        return {CORES: str(_cores(local)), **own, **given}
    address = JOBMANAGER_RPC_ADDRESS.of(configuration)
    return {
        **ON_DEMAND,
        **_heartbeats(configuration),
        "spark.driver.host": address,
        BIND_ADDRESS: JOBMANAGER_BIND_HOST.text_in(configuration) or address,
        CORES: str(TASK_SLOTS.of(configuration)),
        "spark.executorEnv.PYTHONPATH": python_environment()["PYTHONPATH"],
        **_translated(configuration),
        **_authentication(configuration),
        **given,
    }


def _heartbeats(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the settings by which Spark notices a halted executor within `heartbeat.timeout`.

    The TaskExecutor next to it is a process of its own, whose heartbeats say nothing about the executor's JVM. Spark
    looks for silent executors every `timeoutInterval`, which is therefore part of the time.
    """
    timeout_s = HEARTBEAT_TIMEOUT.of(configuration)
    interval_s = min(HEARTBEAT_INTERVAL.of(configuration), timeout_s / 4, _LONGEST_INTERVAL_S)
    look_s = timeout_s / 10
    return {
        "spark.executor.heartbeatInterval": f"{round(interval_s * 1000)}ms",
        "spark.network.timeoutInterval": f"{round(look_s * 1000)}ms",
        "spark.storage.blockManagerHeartbeatTimeoutMs": f"{round((timeout_s - look_s) * 1000)}ms",
    }


def _authentication(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the settings by which only processes of the application can talk to each other.

    On YARN and Kubernetes Spark generates a secret per application and passes it to the executors. On a standalone
    cluster Master, Workers and applications share one secret, which the user has to provide.

    Raises:
        InvalidOptionError: others can reach the driver, and authentication is not configured, or with a placeholder.
    """
    if configuration.get(_AUTHENTICATE, "true") != "true":
        return {}
    if _SECRET in configuration:
        check_not_placeholder(configuration[_SECRET].encode(), f"option {_SECRET!r}")
    encrypted = {_AUTHENTICATE: "true", "spark.network.crypto.enabled": "true"}
    master = spark_master(configuration)
    if master.startswith("local-cluster["):
        return {**encrypted, _SECRET: secrets.token_hex(32)}
    if not master.startswith("spark://") or _AUTHENTICATE in configuration or _SECRET in configuration:
        return encrypted
    addresses = {configuration.get(option, _LOOPBACK) for option in _DRIVER_ADDRESSES}
    if not all(map(is_loopback, addresses)):
        raise InvalidOptionError(
            f"option {_SECRET!r} is not set, and Spark's driver listens on {', '.join(sorted(addresses))}, where "
            f"others can make it run code: set the secret of the Spark cluster, or {_AUTHENTICATE!r} to 'false' to "
            "trust everyone who can reach these addresses"
        )
    return {}


def _translated(configuration: Mapping[str, str]) -> dict[str, str]:
    settings = {spark: configuration[flink] for flink, spark in SAME_VALUE.items() if flink in configuration}
    for flink, spark in LISTS.items():
        if flink in configuration:
            settings[spark] = ",".join(part.strip() for part in re.split("[;,]", configuration[flink]) if part.strip())
    for flink, prefix in MAPS.items():
        settings |= {f"{prefix}{key}": value for key, value in _entries(configuration, flink)}
    for option, value in configuration.items():
        if option.startswith(ENVIRONMENT):
            settings[f"spark.executorEnv.{option.removeprefix(ENVIRONMENT)}"] = value
    if "kubernetes.cluster-id" in configuration:
        settings["spark.kubernetes.executor.podNamePrefix"] = configuration["kubernetes.cluster-id"]
    return settings | _executor_memory(configuration)


def _entries(configuration: Mapping[str, str], option: str) -> list[tuple[str, str]]:
    pairs = [entry.partition(":") for entry in configuration.get(option, "").split(",") if entry.strip()]
    for key, separator, _ in pairs:
        if not separator:
            raise InvalidOptionError(f"option {option!r}: {key.strip()!r} is not of the form key:value")
    return [(key.strip(), value.strip()) for key, _, value in pairs]


def _driver_memory(configuration: Mapping[str, str]) -> dict[str, str]:
    heap = JOBMANAGER_HEAP.of(configuration)
    return {} if heap is None else {"spark.driver.memory": _mebibytes(heap)}


def _executor_memory(configuration: Mapping[str, str]) -> dict[str, str]:
    memory = TASKMANAGER_PROCESS_MEMORY.of(configuration)
    if memory is None:
        return {}
    if memory < 2 * _LEAST_HEAP:
        given = TASKMANAGER_PROCESS_MEMORY.text_in(configuration)
        raise InvalidOptionError(f"option {TASKMANAGER_PROCESS_MEMORY.key!r} is {given!r}; the minimum is '1 gb'")
    heap = max(_LEAST_HEAP, memory // _HEAP_SHARE)
    return {"spark.executor.memory": _mebibytes(heap), "spark.executor.memoryOverhead": _mebibytes(memory - heap)}


def _mebibytes(size: int) -> str:
    return f"{size // _MEBIBYTE}m"
