"""Restart strategies: whether and when a failed job is restarted."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from firesteel.common.options.checkpointing_options import CHECKPOINTING_INTERVAL
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.restart_options import (
    RESTART_EXPONENTIAL_DELAY_ATTEMPTS_BEFORE_RESET_BACKOFF,
    RESTART_EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER,
    RESTART_EXPONENTIAL_DELAY_INITIAL_BACKOFF,
    RESTART_EXPONENTIAL_DELAY_JITTER_FACTOR,
    RESTART_EXPONENTIAL_DELAY_MAX_BACKOFF,
    RESTART_EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD,
    RESTART_FAILURE_RATE_DELAY,
    RESTART_FAILURE_RATE_INTERVAL,
    RESTART_FAILURE_RATE_MAX_FAILURES_PER_INTERVAL,
    RESTART_FIXED_DELAY_ATTEMPTS,
    RESTART_FIXED_DELAY_DELAY,
    RESTART_TYPE,
)

__all__ = [
    "ExponentialDelayRestartStrategy",
    "FailureRateRestartStrategy",
    "FixedDelayRestartStrategy",
    "NoRestartStrategy",
    "RestartStrategy",
    "describe_restart_strategy",
    "restart_strategy",
]


class RestartStrategy(Protocol):
    """A restart strategy. Pure. Flink: `runtime.executiongraph.failover.RestartBackoffTimeStrategy`."""

    def notify_failure(self, now_s: float) -> None:
        """Record a failure."""

    def can_restart(self) -> bool:
        """Return whether the job may be restarted after the last failure."""
        ...

    def backoff_s(self) -> float:
        """Return the delay before the restart in seconds."""
        ...

    @property
    def description(self) -> str:
        """The strategy in the words of Flink's REST API."""
        ...


class NoRestartStrategy:
    """A strategy without restarts: the first failure fails the job."""

    def notify_failure(self, now_s: float) -> None:
        """Do nothing."""

    def can_restart(self) -> bool:
        """Return False."""
        return False

    def backoff_s(self) -> float:
        """Return 0."""
        return 0.0

    @property
    def description(self) -> str:
        """The strategy in the words of Flink's REST API."""
        return "Restart deactivated."

    def __str__(self) -> str:
        return "NoRestartBackoffTimeStrategy"


class FixedDelayRestartStrategy:
    """A strategy with a maximum number of restarts per job, each after the same delay."""

    def __init__(self, attempts: int, delay_s: float) -> None:
        self._attempts = attempts
        self._delay_s = delay_s
        self._failures = 0

    def notify_failure(self, now_s: float) -> None:
        """Count a failure."""
        self._failures += 1

    def can_restart(self) -> bool:
        """Return whether attempts are left."""
        return self._failures <= self._attempts

    def backoff_s(self) -> float:
        """Return the delay."""
        return self._delay_s

    @property
    def description(self) -> str:
        """The strategy in the words of Flink's REST API."""
        return f"Restart with fixed delay ({_iso(self._delay_s)}). #{self._attempts} restart attempts."

    def __str__(self) -> str:
        return (
            f"FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts={self._attempts}, "
            f"backoffTimeMS={self._delay_s * 1000:.0f})"
        )


class FailureRateRestartStrategy:
    """A strategy that restarts unless there are too many failures within an interval."""

    def __init__(self, max_failures: int, interval_s: float, delay_s: float) -> None:
        self._max_failures = max_failures
        self._interval_s = interval_s
        self._delay_s = delay_s
        # One more than may happen: if the oldest of them is outside of the interval, at most the allowed number is
        # inside.
        self._failures_s: deque[float] = deque(maxlen=max_failures + 1)

    def notify_failure(self, now_s: float) -> None:
        """Record the time of a failure."""
        self._failures_s.append(now_s)

    def can_restart(self) -> bool:
        """Return whether the number of failures in the last interval is within the limit."""
        if len(self._failures_s) <= self._max_failures:
            return True
        return self._failures_s[-1] - self._failures_s[0] > self._interval_s

    def backoff_s(self) -> float:
        """Return the delay."""
        return self._delay_s

    @property
    def description(self) -> str:
        """The strategy in the words of Flink's REST API."""
        return (
            f"Failure rate restart with maximum of {self._max_failures} failures within interval "
            f"{_iso(self._interval_s)} and fixed delay {_iso(self._delay_s)}."
        )

    def __str__(self) -> str:
        return (
            f"FailureRateRestartBackoffTimeStrategy(FailuresIntervalMS={self._interval_s * 1000:.0f},"
            f"backoffTimeMS={self._delay_s * 1000:.0f},maxFailuresPerInterval={self._max_failures})"
        )


class ExponentialDelayRestartStrategy:
    """A strategy with a growing delay, which is reset after a time without failures.

    Failures within the current delay count as one.
    """

    def __init__(
        self,
        initial_backoff_s: float = 1,
        max_backoff_s: float = 60,
        multiplier: float = 1.5,
        reset_threshold_s: float = 3600,
        jitter: float = 0.1,
        attempts: float = float("inf"),
        random_: Callable[[], float] = random.random,
    ) -> None:
        self._initial_backoff_s = initial_backoff_s
        self._max_backoff_s = max_backoff_s
        self._multiplier = multiplier
        self._reset_threshold_s = reset_threshold_s
        self._jitter = jitter
        self._attempts = attempts
        self._random = random_
        self._base_s = self._backoff_s = 0.0
        self._failures = 0
        self._restart_at_s: float | None = None

    def notify_failure(self, now_s: float) -> None:
        """Increase or reset the delay."""
        # Several tasks fail from one cause, at nearly the same time; each would make the delay longer.
        if self._restart_at_s is not None and now_s <= self._restart_at_s:
            return
        if self._restart_at_s is None or now_s - self._restart_at_s >= self._reset_threshold_s:
            self._failures, base_s = 0, self._initial_backoff_s
        else:
            base_s = min(self._base_s * self._multiplier, self._max_backoff_s)
        self._failures += 1
        self._base_s = base_s
        # Jobs that fail together, as their database is away, should not come back together. A failure right after a
        # restart must count, even if the jitter let it come early.
        self._backoff_s = min(base_s * (1 + self._jitter * (2 * self._random() - 1)), self._max_backoff_s)
        self._restart_at_s = now_s + self._backoff_s

    def can_restart(self) -> bool:
        """Return whether attempts are left before the delay is reset."""
        return self._failures <= self._attempts

    def backoff_s(self) -> float:
        """Return the current delay with jitter in seconds."""
        return self._backoff_s

    @property
    def description(self) -> str:
        """The strategy in the words of Flink's REST API."""
        return (
            f"Restart with exponential delay: starting at {_iso(self._initial_backoff_s)}, increasing by "
            f"{self._multiplier:g}, with maximum {_iso(self._max_backoff_s)}. Delay resets after "
            f"{_iso(self._reset_threshold_s)} with jitter {self._jitter:g}"
        )

    def __str__(self) -> str:
        return (
            f"ExponentialDelayRestartBackoffTimeStrategy(initialBackoffMS={self._initial_backoff_s * 1000:.0f}, "
            f"maxBackoffMS={self._max_backoff_s * 1000:.0f}, backoffMultiplier={self._multiplier:g}, "
            f"resetBackoffThresholdMS={self._reset_threshold_s * 1000:.0f}, jitterFactor={self._jitter:g})"
        )


def _none(_: Mapping[str, str]) -> RestartStrategy:
    return NoRestartStrategy()


def _fixed_delay(configuration: Mapping[str, str]) -> RestartStrategy:
    return FixedDelayRestartStrategy(
        RESTART_FIXED_DELAY_ATTEMPTS.of(configuration),
        RESTART_FIXED_DELAY_DELAY.of(configuration),
    )


def _failure_rate(configuration: Mapping[str, str]) -> RestartStrategy:
    return FailureRateRestartStrategy(
        RESTART_FAILURE_RATE_MAX_FAILURES_PER_INTERVAL.of(configuration),
        RESTART_FAILURE_RATE_INTERVAL.of(configuration),
        RESTART_FAILURE_RATE_DELAY.of(configuration),
    )


def _exponential_delay(configuration: Mapping[str, str]) -> RestartStrategy:
    initial_backoff_s = RESTART_EXPONENTIAL_DELAY_INITIAL_BACKOFF.of(configuration)
    max_backoff_s = RESTART_EXPONENTIAL_DELAY_MAX_BACKOFF.of(configuration)
    if initial_backoff_s > max_backoff_s:
        raise InvalidOptionError(
            f"option {RESTART_EXPONENTIAL_DELAY_INITIAL_BACKOFF.key!r}: {initial_backoff_s:g} s is more than "
            f"{max_backoff_s:g} s, which {RESTART_EXPONENTIAL_DELAY_MAX_BACKOFF.key!r} allows"
        )
    return ExponentialDelayRestartStrategy(
        initial_backoff_s=initial_backoff_s,
        max_backoff_s=max_backoff_s,
        multiplier=RESTART_EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER.of(configuration),
        reset_threshold_s=RESTART_EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD.of(configuration),
        jitter=RESTART_EXPONENTIAL_DELAY_JITTER_FACTOR.of(configuration),
        attempts=RESTART_EXPONENTIAL_DELAY_ATTEMPTS_BEFORE_RESET_BACKOFF.of(configuration),
    )


_STRATEGIES: dict[str, Callable[[Mapping[str, str]], RestartStrategy]] = {
    "none": _none,
    "off": _none,
    "disable": _none,
    "fixed-delay": _fixed_delay,
    "fixeddelay": _fixed_delay,
    "failure-rate": _failure_rate,
    "failurerate": _failure_rate,
    "exponential-delay": _exponential_delay,
    "exponentialdelay": _exponential_delay,
}


def restart_strategy(configuration: Mapping[str, str]) -> RestartStrategy:
    """Return the strategy of a configuration (`restart-strategy.type`).

    By default, a job without checkpoints is not restarted, and one with checkpoints is restarted after a growing delay.

    Raises:
        InvalidOptionError: there is no such strategy, or one of its options can't be read.
    """
    return _STRATEGIES[RESTART_TYPE.of(configuration) or _default(configuration)](configuration)


def describe_restart_strategy(configuration: Mapping[str, str]) -> str:
    """Return the strategy of a job's own configuration in the words of Flink's REST API.

    Example:
        >>> describe_restart_strategy({"restart-strategy.type": "fixed-delay",
        ...     "restart-strategy.fixed-delay.attempts": "1000", "restart-strategy.fixed-delay.delay": "3 s"})
        'Restart with fixed delay (PT3S). #1000 restart attempts.'

    Raises:
        InvalidOptionError: there is no such strategy, or one of its options can't be read.
    """
    if RESTART_TYPE.of(configuration) is None:
        return "Cluster level default restart strategy"
    return restart_strategy(configuration).description


def _default(configuration: Mapping[str, str]) -> str:
    # Without checkpoints a restarted job would begin anew, and write its output a second time.
    has_checkpoints = CHECKPOINTING_INTERVAL.of(configuration) > 0
    return "exponential-delay" if has_checkpoints else "none"


def _iso(seconds: float) -> str:
    """Return a duration in Java's ISO 8601 format."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{amount:g}{unit}" for amount, unit in ((hours, "H"), (minutes, "M"), (rest, "S")) if amount]
    return "PT" + ("".join(parts) or "0S")
