"""Validation at submission of job options that are read only while the job runs or ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.runtime.cluster_settings import InvalidOptionError, boolean, duration_s, memory_bytes
from firesteel.runtime.scheduler.restart_strategy import restart_strategy

__all__ = ["check_job_options"]

Configuration = Mapping[str, str]
Check = Callable[[Configuration, str], object]


def check_job_options(configuration: Configuration) -> None:
    """Reject a job with an invalid option.

    Args:
        configuration: The job's configuration, merged over the cluster's.

    Raises:
        InvalidOptionError: a value is invalid; the message names the option and the allowed values.
    """
    for option, check in _CHECKS.items():
        if option in configuration:
            check(configuration, option)
    restart_strategy(configuration)


def _duration(configuration: Configuration, option: str) -> None:
    duration_s(configuration, option, 0)


def _boolean(configuration: Configuration, option: str) -> None:
    boolean(configuration, option, False)


def _at_least(least: int) -> Check:
    def check(configuration: Configuration, option: str) -> None:
        text = configuration[option].strip()
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise InvalidOptionError(f"option {option!r}: {text!r} is not a whole number of at least {least}")

    return check


def _one_of(*allowed: str) -> Check:
    def check(configuration: Configuration, option: str) -> None:
        if configuration[option] not in allowed:
            raise InvalidOptionError(
                f"option {option!r}: {configuration[option]!r} is unknown; allowed: {', '.join(allowed)}"
            )

    return check


def _any_case(*allowed: str) -> Check:
    check = _one_of(*allowed)
    return lambda configuration, option: check({option: configuration[option].upper()}, option)


_CHECKS: Mapping[str, Check] = {
    "cluster.evenly-spread-out-slots": _boolean,
    "execution.buffer-timeout.interval": _duration,
    "execution.checkpointing.externalized-checkpoint-retention": _any_case(
        "RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"
    ),
    "execution.checkpointing.interval": _duration,
    "execution.checkpointing.max-concurrent-checkpoints": _at_least(1),
    "execution.checkpointing.min-pause": _duration,
    "execution.checkpointing.num-retained": _at_least(1),
    "execution.checkpointing.timeout": _duration,
    "execution.checkpointing.tolerable-failed-checkpoints": _at_least(0),
    "execution.sorted-inputs.memory": lambda configuration, option: memory_bytes(configuration, option, 0),
    "execution.state-recovery.claim-mode": _any_case("NO_CLAIM", "CLAIM", "LEGACY"),
    "execution.state-recovery.from-local": _boolean,
    "execution.state-recovery.ignore-unclaimed-state": _boolean,
    "parallelism.default": _at_least(-1),
    "pipeline.auto-watermark-interval": _duration,
    "pipeline.max-parallelism": _at_least(-1),
    "pipeline.object-reuse": _boolean,
    "state.backend.local-recovery": _boolean,
    "state.backend.type": _one_of("hashmap", "rocksdb"),
    "task.cancellation.timeout": _duration,
}
"""The validator of each option, which parses it like the component that uses it later."""
