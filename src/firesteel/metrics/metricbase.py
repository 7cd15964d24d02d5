"""Interfaces of metrics (module as `pyflink.metrics.metricbase`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Metric(ABC):  # noqa: B024 - a marker, as in Flink
    """A metric that can be registered in a `MetricGroup`.

    Example:
        >>> issubclass(Counter, Metric), issubclass(Meter, Metric), issubclass(Distribution, Metric)
        (True, True, True)
    """


class Counter(Metric, ABC):
    """A metric that counts up and down.

    Example:
        >>> class Counted(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.elements = runtime_context.get_metrics_group().counter("elements")
        ...     def map(self, value):
        ...         self.elements.inc()
        ...         return value
        >>> numbers = env.from_collection([1, 2], Types.INT()).map(Counted(), Types.INT())
    """

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Increase the count.

        Args:
            n: Number to add; not checked.
        """

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Decrease the count, which may become negative.

        Args:
            n: Number to subtract; not checked.
        """

    @abstractmethod
    def get_count(self) -> int:
        """Return the current count."""


class Distribution(Metric, ABC):
    """A metric of the sum, count, minimum, maximum and mean of the reported values.

    Example:
        >>> class Measured(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.lengths = runtime_context.get_metrics_group().distribution("lengths")
        ...     def map(self, value):
        ...         self.lengths.update(len(value))
        ...         return value
        >>> words = env.from_collection(["to", "be"], Types.STRING()).map(Measured(), Types.STRING())
    """

    @abstractmethod
    def update(self, value: int) -> None:
        """Report a value.

        Args:
            value: Added to sum and count, and compared with minimum and maximum.
        """


class Meter(Metric, ABC):
    """A metric of the rate of events per second.

    Example:
        >>> class Rated(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.rate = runtime_context.get_metrics_group().meter("rate", time_span_in_seconds=30)
        ...     def map(self, value):
        ...         self.rate.mark_event()
        ...         return value
        >>> numbers = env.from_collection([1, 2], Types.INT()).map(Rated(), Types.INT())
    """

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Report events.

        Args:
            value: Number of events that happened since the last call.
        """

    @abstractmethod
    def get_count(self) -> int:
        """Return the number of events so far."""


class MetricGroup(ABC):
    """A group of metrics and subgroups of an operator's subtask.

    Example:
        >>> class Watched(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.largest = 0
        ...         group = runtime_context.get_metrics_group().add_group("orders")
        ...         group.gauge("largest", lambda: self.largest)
        ...     def map(self, value):
        ...         self.largest = max(self.largest, value)
        ...         return value
        >>> amounts = env.from_collection([30, 20], Types.INT()).map(Watched(), Types.INT())
    """

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the subgroup `name`, or the key-value group of `name` and `extra`.

        Args:
            name: Name of the group, or its key if `extra` is given.
            extra: Value of a key-value group; None makes a group with a name only.
        """

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Register and return a counter.

        Args:
            name: Name of the metric within the group.
        """

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a gauge: a function that returns the current value.

        Args:
            name: Name of the gauge.
            obj: Returns the current value.
        """

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Register and return a meter that averages over a time span in seconds.

        Args:
            name: Name of the meter.
            time_span_in_seconds: Length of the time span over which the rate is averaged.
        """

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Register and return a distribution.

        Args:
            name: Name of the metric within the group; `_sum`, `_count`, `_min` and `_max` are appended to it.
        """
