"""The timer service (module as `pyflink.datastream.timerservice`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Timers of the current key and the current time; all times are in ms since the epoch.

    Example:
        >>> class Timeout(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
        ...         return []
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), timestamp
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1000], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> _ = numbers.key_by(lambda n: "all", Types.STRING()).process(Timeout()).collect_async()
        >>> run_local(env).elements
        [('all', 61000)]
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the current processing time (the machine's clock)."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the current watermark of this operator, or -2^63 before the first one."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Register a timer that calls `on_timer` for the current key.

        Registering the same timer again has no effect.

        Args:
            timestamp: Processing time in ms since the epoch; a time in the past fires as soon as possible.
        """

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Register a timer that calls `on_timer` for the current key.

        Registering the same timer again has no effect.

        Args:
            timestamp: The watermark that fires the timer, in ms since the epoch; one in the past fires with the next
                watermark.
        """

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer of the current key; does nothing if there is none.

        Args:
            timestamp: The time of the timer, in ms since the epoch.
        """

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer of the current key; does nothing if there is none.

        Args:
            timestamp: The time of the timer, in ms since the epoch.
        """
