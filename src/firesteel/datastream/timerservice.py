"""Timers and the present time (module as `pyflink.datastream.timerservice`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Timers of the current key; all times are milliseconds since the epoch."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Time of the machine."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Watermark of this operator; -2^63 before the first."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Calls `on_timer` for the current key when the clock passes `timestamp`; registering twice fires once."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Calls `on_timer` for the current key when the watermark passes `timestamp`; registering twice fires once."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Takes the timer back; nothing happens if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Takes the timer back; nothing happens if there is none."""
