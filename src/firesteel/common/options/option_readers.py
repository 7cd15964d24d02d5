"""Who reads an option: what is set elsewhere has no effect, and whoever sets it there is told so.

Files of options are not checked, as a client and its cluster share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache

from firesteel.common.options import stored_options
from firesteel.common.options.declared import AREAS, options_of
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
        "cluster.evenly-spread-out-slots execution.checkpointing.* execution.state-recovery.allow-unverified-state "
        "execution.state-recovery.from-local heartbeat.* io.tmp.dirs job.autoscaler.* "
        "jobmanager.adaptive-scheduler.* jobmanager.execution.failover-strategy jobmanager.scheduler "
        "jobmanager.scheduler.* parallelism.default pekko.* python.executable restart-strategy.* slot.* state.* task.* "
        "taskmanager.memory.managed.* taskmanager.numberOfTaskSlots web.adaptive-scheduler.* "
        "web.exception-history-size",
    ),
    (
        # All of them reach files, and listen or find those who do.
        _JOB | _CLUSTER | _GATEWAY | _HISTORY,
        "env.log.* fs.* presto.* rest.* s3.* s3a.* security.rest.* security.ssl.algorithms security.ssl.protocol "
        "security.ssl.rest.*",
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
    # A former key may stand for several options.
    current = _current_keys().get(key, {deprecated_keys().get(key, key)})
    found = [closest(_READERS, one) or frozenset() for one in current]
    if not all(found):
        raise KeyError(f"who reads {key!r}?")
    return frozenset().union(*found)


@cache
def _current_keys() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for option in options_of(stored_options, *(module for modules in AREAS.values() for module in modules)):
        for key in (option.key, *option.fallback_keys):
            found.setdefault(key, set()).add(option.key)
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
