"""What happens after a failure (module as `pyflink.common.restart_strategy`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


def _milliseconds(interval: timedelta | None) -> str:
    return f"{0 if interval is None else interval // timedelta(milliseconds=1)} ms"


class RestartStrategyConfiguration(ABC):
    """One restart strategy with its settings."""

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in words."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """The strategy as options of a `Configuration`."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.get_description())

    def __repr__(self) -> str:
        return self.get_description()


class RestartStrategies:
    """The restart strategies there are.

    Example:
        >>> RestartStrategies.fixed_delay_restart(3, 1000).to_options()["restart-strategy.fixed-delay.attempts"]
        '3'
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job fails with the first failure."""

        def get_description(self) -> str:
            """The strategy in words."""
            return "Restart deactivated."

        def to_options(self) -> dict[str, str]:
            """The strategy as options of a `Configuration`."""
            return {"restart-strategy.type": "disable"}

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The cluster decides."""

        def get_description(self) -> str:
            """The strategy in words."""
            return "Cluster level default restart strategy"

        def to_options(self) -> dict[str, str]:
            """The strategy as options of a `Configuration`."""
            return {}

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of attempts with a fixed delay in between."""

        def __init__(
            self, restart_attempts: int | None = None, delay_between_attempts_interval: timedelta | None = None
        ) -> None:
            if restart_attempts is None or restart_attempts < 0:
                raise ValueError(f"restart_attempts must be 0 or greater, found {restart_attempts!r}")
            self._restart_attempts = restart_attempts
            self._delay = delay_between_attempts_interval or timedelta()

        def get_restart_attempts(self) -> int:
            """Attempts before the job fails."""
            return self._restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Time between a failure and the restart."""
            return self._delay

        def get_description(self) -> str:
            """The strategy in words."""
            delay = _milliseconds(self._delay)
            return f"Restart with fixed delay ({delay}). #{self._restart_attempts} restart attempts."

        def to_options(self) -> dict[str, str]:
            """The strategy as options of a `Configuration`."""
            return {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": str(self._restart_attempts),
                "restart-strategy.fixed-delay.delay": _milliseconds(self._delay),
            }

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts until there are too many failures within an interval."""

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
            """Failures within the interval before the job fails."""
            return self._max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """The interval in which failures count."""
            return self._failure_interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Time between a failure and the restart."""
            return self._delay

        def get_description(self) -> str:
            """The strategy in words."""
            interval, delay = _milliseconds(self._failure_interval), _milliseconds(self._delay)
            return (
                f"Failure rate restart with maximum of {self._max_failure_rate} failures within interval {interval} "
                f"and fixed delay {delay}."
            )

        def to_options(self) -> dict[str, str]:
            """The strategy as options of a `Configuration`."""
            return {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": str(self._max_failure_rate),
                "restart-strategy.failure-rate.failure-rate-interval": _milliseconds(self._failure_interval),
                "restart-strategy.failure-rate.delay": _milliseconds(self._delay),
            }

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The job fails with the first failure."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """The cluster decides."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> FixedDelayRestartStrategyConfiguration:
        """So many attempts, milliseconds apart."""
        delay = timedelta(milliseconds=delay_between_attempts)
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> FailureRateRestartStrategyConfiguration:
        """At most so many failures per interval; interval and delay in milliseconds."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, timedelta(milliseconds=failure_interval), timedelta(milliseconds=delay_interval)
        )
