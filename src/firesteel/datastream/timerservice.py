"""The timer service (module as `pyflink.datastream.timerservice`)."""

from __future__ import annotations

from firesteel.functions.timerservice import TimerService

__all__ = ["TimerService"]
