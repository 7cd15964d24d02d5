"""How timestamps and watermarks come about (module as `pyflink.common.watermark_strategy`).

A `WatermarkStrategy` is plain data: its attributes say what to do, the operators of a task do it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.java_objects import WithoutJava
from firesteel.common.time import Duration


class TimestampAssigner(ABC):
    """Gives a record its event time."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Event time of `value` in milliseconds; `record_timestamp` is what it had before (-2^63: none)."""


@dataclass(frozen=True, slots=True)
class _FunctionAssigner(TimestampAssigner):
    """A function as a `TimestampAssigner`."""

    function: Callable[[Any, int], int]

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Event time of `value` in milliseconds."""
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


class WatermarkOutput(ABC):
    """Where a `WatermarkGenerator` emits to."""

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """No record with an event time up to `timestamp` (milliseconds) is expected any more."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Nobody should wait for watermarks of this output until the next one."""


class WatermarkGenerator(ABC):
    """Watermarks from the records seen (Flink: `api.common.eventtime.WatermarkGenerator`)."""

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for each record; may emit."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called each `pipeline.auto-watermark-interval`; may emit."""


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """Sources of one group wait for each other so that none runs ahead by more than the drift."""

    watermark_group: str
    max_allowed_watermark_drift: Duration
    update_interval: Duration


@dataclass(frozen=True)
class WatermarkStrategy(WithoutJava):
    """Where timestamps come from and when watermarks are emitted. Immutable: each `with_...` gives a new strategy.

    Attributes:
        generator_kind: `none`, `monotonous`, `bounded_out_of_orderness` or `custom`.
        max_out_of_orderness: Zero unless `generator_kind` is `bounded_out_of_orderness`.
        generator_supplier: Makes the generator of one subtask where `generator_kind` is `custom`.
        timestamp_assigner: None keeps the timestamps of the source.
        idle_timeout: After so long without records the subtask counts as idle; None never.
        alignment: None lets the source run.

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
        """Watermarks right behind the largest timestamp: for sources whose timestamps ascend."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Watermarks behind the largest timestamp by a fixed bound."""
        return WatermarkStrategy("bounded_out_of_orderness", max_out_of_orderness)

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks of your own: `generator_supplier` makes one generator per subtask."""
        return WatermarkStrategy("custom", generator_supplier=generator_supplier)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks: for jobs without event time."""
        return WatermarkStrategy()

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Return the same strategy, with event times from `timestamp_assigner`.

        Args:
            timestamp_assigner: An object with `extract_timestamp(value, record_timestamp)`, or a function of the same
                arguments; gives milliseconds.

        Raises:
            TypeError: it is neither, or a class.

        Example:
            >>> WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, timestamp: value[1])
        """
        return replace(self, timestamp_assigner=_assigner(timestamp_assigner))

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """The same strategy; a subtask without records for so long holds nobody back."""
        if idle_timeout.to_nanos() <= 0:
            raise ValueError(f"idle_timeout must be greater than zero, found {idle_timeout}")
        return replace(self, idle_timeout=idle_timeout)

    def with_watermark_alignment(
        self, watermark_group: str, max_allowed_watermark_drift: Duration, update_interval: Duration | None = None
    ) -> WatermarkStrategy:
        """The same strategy; sources of one group wait when they are further ahead of the slowest than the drift.

        Each batch reads as much as is likely to keep the drift, so it may be passed by what one batch reads. The update
        interval (1 s) has no effect: all is decided anew for each batch. Batch jobs do not align.
        """
        interval = Duration.of_seconds(1) if update_interval is None else update_interval
        return replace(self, alignment=WatermarkAlignment(watermark_group, max_allowed_watermark_drift, interval))


class AssignerWithPeriodicWatermarksWrapper:
    """A Java object in PyFlink, for Java connectors only."""

    def __init__(self, j_assigner_with_periodic_watermarks: Any) -> None:
        raise NotImplementedError("AssignerWithPeriodicWatermarksWrapper wraps a Java object; use WatermarkStrategy")
