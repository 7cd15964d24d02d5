"""Interfaces of metrics (module as `pyflink.metrics.metricbase`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Metric(ABC):  # noqa: B024 - a marker, as in Flink
    """Anything that can be registered in a `MetricGroup`."""


class Counter(Metric, ABC):
    """Counts up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Adds `n`."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Takes `n` away."""

    @abstractmethod
    def get_count(self) -> int:
        """The current count."""


class Distribution(Metric, ABC):
    """Sum, count, minimum, maximum and mean of what was reported."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Reports a value."""


class Meter(Metric, ABC):
    """Events per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Reports so many events."""

    @abstractmethod
    def get_count(self) -> int:
        """Events so far."""


class MetricGroup(ABC):
    """Names metrics and groups of metrics of one operator's subtask."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The subgroup of that name; with `extra` a pair of key and value."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Registers a counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Registers a function that gives a number when asked."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Registers a meter over that time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Registers a distribution."""
