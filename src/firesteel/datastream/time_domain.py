"""The time domains of timers (module as `pyflink.datastream.time_domain`)."""

from __future__ import annotations

from firesteel.functions.time_domain import TimeDomain

__all__ = ["TimeDomain"]
