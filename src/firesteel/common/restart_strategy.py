"""Restart strategies (module as `pyflink.common.restart_strategy`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

from firesteel.common.options.restart_options import (
    RESTART_FAILURE_RATE_DELAY,
    RESTART_FAILURE_RATE_INTERVAL,
    RESTART_FAILURE_RATE_MAX_FAILURES_PER_INTERVAL,
    RESTART_FIXED_DELAY_ATTEMPTS,
    RESTART_FIXED_DELAY_DELAY,
    RESTART_TYPE,
)

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


def _milliseconds(interval: timedelta | None) -> str:
    return f"{0 if interval is None else interval // timedelta(milliseconds=1)} ms"


class RestartStrategyConfiguration(ABC):
    """A restart strategy with its settings.

    Example:
        >>> strategy = RestartStrategies.fixed_delay_restart(3, 10_000)
        >>> isinstance(strategy, RestartStrategyConfiguration)
        True
        >>> strategy.get_description()
        'Restart with fixed delay (10000 ms). #3 restart attempts.'
    """

    @abstractmethod
    def get_description(self) -> str:
        """Return a description of the strategy."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """Return the strategy as options of a `Configuration`."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.get_description())

    def __repr__(self) -> str:
        return self.get_description()


class RestartStrategies:
    """Factory of restart strategies.

    Example:
        >>> RestartStrategies.fixed_delay_restart(3, 1000).to_options()["restart-strategy.fixed-delay.attempts"]
        '3'
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A strategy in which the first failure fails the job."""

        def get_description(self) -> str:
            """Return a description of the strategy."""
            return "Restart deactivated."

        def to_options(self) -> dict[str, str]:
            """Return the strategy as options of a `Configuration`."""
            return {RESTART_TYPE.key: "disable"}

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The strategy of the cluster."""

        def get_description(self) -> str:
            """Return a description of the strategy."""
            return "Cluster level default restart strategy"

        def to_options(self) -> dict[str, str]:
            """Return the strategy as options of a `Configuration`."""
            return {}

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A strategy with a number of restarts and a fixed delay.

        Args:
            restart_attempts: Number of restarts before the job fails, 0 or more; required in spite of the default.
            delay_between_attempts_interval: Delay between a failure and the restart; None restarts immediately.

        Raises:
            ValueError: `restart_attempts` is None or negative.
        """

        def __init__(
            self, restart_attempts: int | None = None, delay_between_attempts_interval: timedelta | None = None
        ) -> None:
            if restart_attempts is None or restart_attempts < 0:
                raise ValueError(f"restart_attempts must be 0 or greater, found {restart_attempts!r}")
            self._restart_attempts = restart_attempts
            self._delay = delay_between_attempts_interval or timedelta()

        def get_restart_attempts(self) -> int:
            """Return the number of restarts before the job fails."""
            return self._restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the delay between a failure and the restart."""
            return self._delay

        def get_description(self) -> str:
            """Return a description of the strategy."""
            delay = _milliseconds(self._delay)
            return f"Restart with fixed delay ({delay}). #{self._restart_attempts} restart attempts."

        def to_options(self) -> dict[str, str]:
            """Return the strategy as options of a `Configuration`."""
            return {
                RESTART_TYPE.key: "fixed-delay",
                RESTART_FIXED_DELAY_ATTEMPTS.key: str(self._restart_attempts),
                RESTART_FIXED_DELAY_DELAY.key: _milliseconds(self._delay),
            }

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A strategy that restarts unless there are too many failures within an interval.

        Args:
            max_failure_rate: Maximum number of failures within the interval, at least 1; required in spite of the
                default.
            failure_interval: Interval in which failures are counted; None means 0.
            delay_between_attempts_interval: Delay between a failure and the restart; None restarts immediately.

        Raises:
            ValueError: `max_failure_rate` is None or less than 1.
        """

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: timedelta | None = None,
            delay_between_attempts_interval: timedelta | None = None,
        ) -> None:
            if max_failure_rate is None or max_failure_rate <= 0:
                raise ValueError(f"max_failure_rate must be greater than 0, found {max_failure_rate!r}")
            self._max_failure_rate = max_failure_rate
            self._failure_interval = failure_interval or timedelta()
            self._delay = delay_between_attempts_interval or timedelta()

        def get_max_failure_rate(self) -> int:
            """Return the maximum number of failures within the interval."""
            return self._max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """Return the interval in which failures are counted."""
            return self._failure_interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the delay between a failure and the restart."""
            return self._delay

        def get_description(self) -> str:
            """Return a description of the strategy."""
            interval, delay = _milliseconds(self._failure_interval), _milliseconds(self._delay)
            return (
                f"Failure rate restart with maximum of {self._max_failure_rate} failures within interval {interval} "
                f"and fixed delay {delay}."
            )

        def to_options(self) -> dict[str, str]:
            """Return the strategy as options of a `Configuration`."""
            return {
                RESTART_TYPE.key: "failure-rate",
                RESTART_FAILURE_RATE_MAX_FAILURES_PER_INTERVAL.key: str(self._max_failure_rate),
                RESTART_FAILURE_RATE_INTERVAL.key: _milliseconds(self._failure_interval),
                RESTART_FAILURE_RATE_DELAY.key: _milliseconds(self._delay),
            }

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """Return a strategy in which the first failure fails the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Return the strategy of the cluster."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> FixedDelayRestartStrategyConfiguration:
        """Return a strategy with a fixed delay.

        Args:
            restart_attempts: Number of restarts before the job fails, 0 or more.
            delay_between_attempts: Delay between a failure and the restart in milliseconds.
        """
        delay = timedelta(milliseconds=delay_between_attempts)
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> FailureRateRestartStrategyConfiguration:
        """Return a strategy that limits the rate of failures.

        Args:
            failure_rate: Maximum number of failures within the interval, greater than 0.
            failure_interval: Interval in milliseconds.
            delay_interval: Delay between a failure and the restart in milliseconds.
        """
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, timedelta(milliseconds=failure_interval), timedelta(milliseconds=delay_interval)
        )
