"""Who reads an option: what is set elsewhere has no effect, and whoever sets it there is told so.

Files of options are not checked, as a client and its cluster share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from firesteel.common.options.declared import declared_options
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.option_classes import OptionClass, class_of
from firesteel.common.options.option_rule import closest

__all__ = ["Reader", "note_of_unread", "readers_of"]


class Reader(Enum):
    """Who reads options."""

    JOB = "jobs and the programs that submit them"
    CLUSTER = "a cluster when it starts"
    GATEWAY = "a SQL gateway or client"
    HISTORY_SERVER = "a history server"


_JOB, _CLUSTER, _GATEWAY, _HISTORY = ({reader} for reader in Reader)
_PATTERNS: tuple[tuple[set[Reader], str], ...] = (
    (
        _JOB | _GATEWAY,
        "execution.* metrics.latency.interval pipeline.* python.* table.*",
    ),
    (
        # What a job has takes precedence over what its cluster has.
        _JOB | _CLUSTER | _GATEWAY,
        "cluster.evenly-spread-out-slots execution.checkpointing.* execution.state-recovery.from-local fs.* "
        "heartbeat.* io.tmp.dirs job.autoscaler.* jobmanager.adaptive-scheduler.* "
        "jobmanager.execution.failover-strategy jobmanager.scheduler jobmanager.scheduler.* parallelism.default "
        "pekko.* presto.* python.executable restart-strategy.* s3.* s3a.* security.ssl.rest.* slot.* state.* task.* "
        "taskmanager.memory.managed.* taskmanager.numberOfTaskSlots web.adaptive-scheduler.*",
    ),
    (
        # A client finds its cluster by them.
        _JOB | _CLUSTER | _GATEWAY | _HISTORY,
        "env.log.* rest.* security.rest.*",
    ),
    (
        _CLUSTER,
        "autoscaler.* cleanup-strategy.* cluster.* completed-application-store.* containerized.* events.* "
        "high-availability.* job-result-store.* jobmanager.* kubernetes.* metrics.* resourcemanager.* security.* "
        "slotmanager.* spark.* taskmanager.* traces.* web.* yarn.*",
    ),
    (_CLUSTER | _HISTORY, "jobmanager.archive.fs.dir web.access-control-allow-origin"),
    (_HISTORY, "historyserver.*"),
    (_GATEWAY, "sql-client.* sql-gateway.*"),
)
_READERS = {pattern: frozenset(readers) for readers, patterns in _PATTERNS for pattern in patterns.split()}


def readers_of(key: str) -> frozenset[Reader]:
    """Return who reads an option that has an effect.

    Raises:
        KeyError: no pattern fits it.

    Example:
        >>> readers_of("execution.buffer-timeout.interval") == {Reader.JOB, Reader.GATEWAY}
        True
    """
    declared = declared_options().get(key)
    found = closest(_READERS, declared.key if declared is not None else deprecated_keys().get(key, key))
    if found is None:
        raise KeyError(f"who reads {key!r}?")
    return found


def note_of_unread(keys: Iterable[str], *readers: Reader) -> str | None:
    """Return a message that names the options that only others read, or None if there are none.

    Args:
        keys: The options that were set.
        readers: Who is there to read them.

    Example:
        >>> note_of_unread(["rest.port", "sql-client.execution.result-mode"], Reader.CLUSTER)
        'sql-client.execution.result-mode has no effect here: it is read by a SQL gateway or client'
    """
    found: dict[frozenset[Reader], list[str]] = {}
    for key in sorted(keys):
        if class_of(key) is OptionClass.EFFECTIVE or key.startswith("spark."):
            others = readers_of(key)
            if others.isdisjoint(readers):
                found.setdefault(others, []).append(key)
    parts = []
    for others, unread in found.items():
        whose = ", ".join(reader.value for reader in Reader if reader in others)
        verb, pronoun = ("has", "it is") if len(unread) == 1 else ("have", "they are")
        parts.append(f"{', '.join(unread)} {verb} no effect here: {pronoun} read by {whose}")
    return "; ".join(parts) or None
