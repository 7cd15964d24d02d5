"""Metrics registered by user functions, kept as plain numbers in the subtask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from firesteel.metrics import Counter, Distribution, Meter, MetricGroup
from firesteel.operators.chain.clock import now_ms

_WITHOUT_SEPARATORS = str.maketrans(" .:,", "____")
"""Replaces separators in the parts of a name, so the operator precedes the first dot (as in `MetricQueryService`)."""


M = TypeVar("M")


def metric_scope(name: str) -> str:
    """Return the name of an operator or a group as it stands in the names of metrics.

    Example:
        >>> metric_scope("Source: orders.eu")
        'Source__orders_eu'
    """
    return name.translate(_WITHOUT_SEPARATORS)


class TaskMetricGroup(MetricGroup):
    """A group of metrics; `registry` maps dotted names to the metrics of the whole subtask."""

    def __init__(self, registry: dict[str, Any], path: tuple[str, ...]) -> None:
        self._registry = registry
        self._path = path

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the subgroup `name`, or the key-value subgroup `name` and `extra`."""
        return TaskMetricGroup(self._registry, (*self._path, name) if extra is None else (*self._path, name, extra))

    def counter(self, name: str) -> Counter:
        """Register a counter and return it."""
        return self._register(name, TaskCounter())

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a function that returns the current value."""
        self._register(name, obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Register a meter over a time span and return it."""
        return self._register(name, TaskMeter())

    def distribution(self, name: str) -> Distribution:
        """Register a distribution and return it."""
        return self._register(name, TaskDistribution())

    def _register(self, name: str, metric: M) -> M:
        parts = (metric_scope(part) for part in (*self._path, name))
        registered: M = self._registry.setdefault(".".join(parts), metric)
        return registered


class TaskCounter(Counter):
    """A counter that can be incremented and decremented."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Subtract `n`."""
        self._count -= n

    def get_count(self) -> int:
        """Return the current count."""
        return self._count


class TaskMeter(Meter):
    """A meter: the number of events and the time of its creation."""

    def __init__(self) -> None:
        self._count = 0
        self._since_ms = now_ms()

    def mark_event(self, value: int = 1) -> None:
        """Count `value` events."""
        self._count += value

    def get_count(self) -> int:
        """Return the number of events so far."""
        return self._count


class TaskDistribution(Distribution):
    """The sum, count, minimum and maximum of the reported values."""

    def __init__(self) -> None:
        self.values = {"sum": 0, "count": 0, "min": 0, "max": 0}

    def update(self, value: int) -> None:
        """Report a value."""
        found = self.values
        found["min"] = min(found["min"], value) if found["count"] else value
        found["max"] = max(found["max"], value) if found["count"] else value
        found["sum"] += value
        found["count"] += 1


def measured(registry: dict[str, Any]) -> dict[str, float]:
    """Return the current values of all metrics, several per distribution; gauges that fail are left out.

    Example:
        >>> counter = TaskCounter()
        >>> counter.inc(2)
        >>> measured({"Map.seen": counter, "Map.size": lambda: 7})
        {'Map.seen': 2, 'Map.size': 7}
    """
    values: dict[str, float] = {}
    for name, metric in registry.items():
        if isinstance(metric, (TaskCounter, TaskMeter)):
            values[name] = metric.get_count()
        elif isinstance(metric, TaskDistribution):
            values |= {f"{name}_{part}": value for part, value in metric.values.items()}
        else:
            # A gauge is code of the user, which must not fail a batch that is done.
            with contextlib.suppress(Exception):
                values[name] = metric()
    return values
