"""Interfaces of metrics (module as `pyflink.metrics.metricbase`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Metric(ABC):  # noqa: B024 - a marker, as in Flink
    """A metric that can be registered in a `MetricGroup`."""


class Counter(Metric, ABC):
    """A metric that counts up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add `n`."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Subtract `n`."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the current count."""


class Distribution(Metric, ABC):
    """A metric of the sum, count, minimum, maximum and mean of the reported values."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Report a value."""


class Meter(Metric, ABC):
    """A metric of the rate of events per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Report `value` events."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the number of events so far."""


class MetricGroup(ABC):
    """A group of metrics and subgroups of an operator's subtask."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the subgroup `name`, or the key-value group of `name` and `extra`."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Register and return a counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a gauge: a function that returns the current value."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Register and return a meter that averages over a time span in seconds."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Register and return a distribution."""
