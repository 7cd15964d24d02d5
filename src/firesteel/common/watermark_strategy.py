"""Watermark strategies (module as `pyflink.common.watermark_strategy`).

A `WatermarkStrategy` is plain data, which the operators of a task interpret.
"""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.checks import require
from firesteel.common.java_objects import WithoutJava
from firesteel.common.time import Duration

_logger = logging.getLogger(__name__)


class TimestampAssigner(ABC):
    """Assigns timestamps to records.

    Example:
        >>> class TimeOfPair(TimestampAssigner):
        ...     def extract_timestamp(self, value, record_timestamp):
        ...         return value[1]
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfPair())
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp of a record in ms since the epoch.

        Args:
            value: The record.
            record_timestamp: Its former timestamp in ms since the epoch; -2^63 if it has none.
        """


@dataclass(frozen=True, slots=True)
class _FunctionAssigner(TimestampAssigner):
    """A `TimestampAssigner` that calls a function."""

    function: Callable[[Any, int], int]

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp of a record in ms since the epoch."""
        return self.function(value, record_timestamp)


def _assigner(given: Any) -> TimestampAssigner:
    if not isinstance(given, type) and hasattr(given, "extract_timestamp"):
        assigner: TimestampAssigner = given
        return assigner
    if not isinstance(given, type) and callable(given):
        return _FunctionAssigner(given)
    raise TypeError(
        "with_timestamp_assigner takes a TimestampAssigner or a function of value and record timestamp, "
        f"found {given!r}"
    )


def callable_in_source(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Return the strategy without an assigner that can't be called with two arguments.

    PyFlink calls no assigner in `from_source()`, so that programs have such assigners there and work.
    """
    assigner = strategy.timestamp_assigner
    called = (
        assigner.function if isinstance(assigner, _FunctionAssigner) else getattr(assigner, "extract_timestamp", None)
    )
    if called is None or _takes_two(called):
        return strategy
    _logger.warning(
        "from_source(): the timestamp assigner %r does not take a value and its former timestamp, so it is not called; "
        "PyFlink calls no assigner there",
        assigner,
    )
    return replace(strategy, timestamp_assigner=None)


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None, 0)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


class WatermarkOutput(ABC):
    """The output of a `WatermarkGenerator`.

    Example:
        >>> class EveryElement(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         output.emit_watermark(event_timestamp - 1)
        ...     def on_periodic_emit(self, output):
        ...         pass
    """

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """Declare that no more records up to a time are expected.

        Args:
            timestamp: Milliseconds since the epoch; a time before the last watermark has no effect.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Mark this output as idle, so that downstream operators do not wait for it, until the next watermark."""


class WatermarkGenerator(ABC):
    """Generates watermarks from the records seen (Flink: `api.common.eventtime.WatermarkGenerator`).

    Example:
        >>> class AfterMarks(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         if event == "mark":
        ...             output.emit_watermark(event_timestamp)
        ...     def on_periodic_emit(self, output):
        ...         pass
        >>> strategy = WatermarkStrategy.for_generator(AfterMarks)
    """

    @abstractmethod
    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        """Handle a record; may emit a watermark.

        Args:
            event: The record.
            event_timestamp: Its timestamp in ms since the epoch.
            output: Emits watermarks, and marks the stream as idle or active.
        """

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark if appropriate; called every `pipeline.auto-watermark-interval`.

        Args:
            output: Emits watermarks, and marks the stream as idle or active.
        """


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """Alignment of the sources of a group: none of them gets ahead by more than the drift."""

    watermark_group: str
    max_allowed_watermark_drift: Duration
    update_interval: Duration


@dataclass(frozen=True)
class WatermarkStrategy(WithoutJava):
    """Assigns timestamps and generates watermarks. It is immutable: each `with_...` method returns a new strategy.

    Attributes:
        generator_kind: `none`, `monotonous`, `bounded_out_of_orderness` or `custom`.
        max_out_of_orderness: Zero unless `generator_kind` is `bounded_out_of_orderness`.
        generator_supplier: Creates the generator of a subtask if `generator_kind` is `custom`.
        timestamp_assigner: None keeps the timestamps of the source.
        idle_timeout: Time without records after which a subtask is idle; None means never.
        alignment: None disables alignment.

    Example:
        >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        >>> strategy = strategy.with_idleness(Duration.of_minutes(1))
        >>> strategy.generator_kind, strategy.idle_timeout
        ('bounded_out_of_orderness', 1 min)
    """

    generator_kind: str = "none"
    max_out_of_orderness: Duration = Duration(0)  # noqa: RUF009 - immutable
    generator_supplier: Callable[[], WatermarkGenerator] | None = None
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout: Duration | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Return a strategy for ascending timestamps: watermarks directly follow the largest timestamp."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Return a strategy whose watermarks lag behind the largest timestamp by a fixed duration.

        Args:
            max_out_of_orderness: How much later than the latest record a record may come without being late.

        Example:
            >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        """
        require(max_out_of_orderness, Duration, "for_bounded_out_of_orderness()")
        return WatermarkStrategy("bounded_out_of_orderness", max_out_of_orderness)

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Return a strategy with custom generators.

        Args:
            generator_supplier: Creates one generator per subtask.
        """
        return WatermarkStrategy("custom", generator_supplier=generator_supplier)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return a strategy without watermarks, for jobs without event time."""
        return WatermarkStrategy()

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Return the strategy with a timestamp assigner.

        Args:
            timestamp_assigner: An object with `extract_timestamp(value, record_timestamp)`, or a function of the same
                arguments; it returns ms since the epoch.

        Raises:
            TypeError: the argument is neither, or is a class.

        Example:
            >>> class TimeOfPair(TimestampAssigner):
            ...     def extract_timestamp(self, value, record_timestamp):
            ...         return value[1]
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfPair())
        """
        return replace(self, timestamp_assigner=_assigner(timestamp_assigner))

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Return the strategy with an idle timeout.

        A subtask without records for that time does not hold back watermarks.

        Args:
            idle_timeout: The time without records after which a source or partition no longer holds back the watermark.

        Raises:
            ValueError: the timeout is not greater than zero.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_minutes(1))
        """
        require(idle_timeout, Duration, "with_idleness()")
        if idle_timeout.to_nanos() <= 0:
            raise ValueError(f"idle_timeout must be greater than zero, found {idle_timeout}")
        return replace(self, idle_timeout=idle_timeout)

    def with_watermark_alignment(
        self, watermark_group: str, max_allowed_watermark_drift: Duration, update_interval: Duration | None = None
    ) -> WatermarkStrategy:
        """Return the strategy with alignment.

        A source pauses when it is ahead of the slowest source of its group by more than the drift. Each batch reads as
        much as is likely to keep the drift, so the drift may be exceeded by the records of one batch. Batch jobs do not
        align.

        Args:
            watermark_group: Name of the group.
            max_allowed_watermark_drift: Maximum drift.
            update_interval: Ignored: alignment is updated with each batch.
        """
        call = "with_watermark_alignment()"
        require(watermark_group, str, call)
        require(max_allowed_watermark_drift, Duration, call)
        require(update_interval, (Duration, type(None)), call)
        interval = Duration.of_seconds(1) if update_interval is None else update_interval
        return replace(self, alignment=WatermarkAlignment(watermark_group, max_allowed_watermark_drift, interval))


class AssignerWithPeriodicWatermarksWrapper:
    """A wrapper of a Java object in PyFlink, for Java connectors only.

    Args:
        j_assigner_with_periodic_watermarks: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> AssignerWithPeriodicWatermarksWrapper(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: AssignerWithPeriodicWatermarksWrapper wraps a Java object; use WatermarkStrategy
    """

    def __init__(self, j_assigner_with_periodic_watermarks: object) -> None:
        raise NotImplementedError("AssignerWithPeriodicWatermarksWrapper wraps a Java object; use WatermarkStrategy")
