"""Heartbeat targets: requests to them, and timeouts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from firesteel.runtime.clock import Clock, Timer

__all__ = ["HeartbeatManager", "HeartbeatMonitors"]

logger = logging.getLogger(__name__)

_TOLERANCE_S = 1e-6  # A timer may fire a rounding error before its deadline.


class HeartbeatMonitors:
    """The time of each target's last heartbeat. Pure. Flink: `runtime.heartbeat.HeartbeatMonitor`, for all targets.

    Args:
        timeout_s: Time without heartbeat after which a target is lost. Flink: `heartbeat.timeout`.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._heard_s: dict[str, float] = {}

    @property
    def targets(self) -> tuple[str, ...]:
        """The monitored targets."""
        return tuple(self._heard_s)

    def monitor(self, target: str, now_s: float) -> None:
        """Start to monitor a target."""
        self._heard_s[target] = now_s

    def unmonitor(self, target: str) -> None:
        """Stop monitoring a target."""
        self._heard_s.pop(target, None)

    def receive(self, target: str, now_s: float) -> None:
        """Record a heartbeat of a target; unknown targets are ignored."""
        if target in self._heard_s:
            self._heard_s[target] = now_s

    def silent_s(self, target: str, now_s: float) -> float:
        """Return the time since a target's last heartbeat in seconds, 0 if it is not monitored."""
        return now_s - self._heard_s.get(target, now_s)

    def expire(self, now_s: float) -> list[str]:
        """Return the targets that timed out, and stop monitoring them."""
        limit_s = now_s - self._timeout_s + _TOLERANCE_S
        lost = [target for target, heard_s in self._heard_s.items() if heard_s <= limit_s]
        for target in lost:
            del self._heard_s[target]
        return lost

    def next_deadline_s(self) -> float | None:
        """Return the time of the earliest timeout in seconds, or None."""
        return min(self._heard_s.values()) + self._timeout_s if self._heard_s else None


_RPC_FAILURE_THRESHOLD = 2


class HeartbeatManager:
    """A manager that requests heartbeats from targets and reports timeouts.

    Flink: `runtime.heartbeat.HeartbeatManagerImpl`, and with an interval `HeartbeatManagerSenderImpl`.

    Args:
        clock: The clock for timeouts.
        timeout_s: Time without heartbeat after which a target is lost.
        on_timeout: Called with each lost target.
        interval_s: Interval of heartbeat requests; None for the side that only responds. Flink: `heartbeat.interval`.
        request: Called with each target to request a heartbeat.
    """

    def __init__(
        self,
        clock: Clock,
        timeout_s: float,
        on_timeout: Callable[[str], object],
        interval_s: float | None = None,
        request: Callable[[str], object] | None = None,
    ) -> None:
        self._clock = clock
        self._monitors = HeartbeatMonitors(timeout_s)
        self._on_timeout = on_timeout
        self._interval_s = interval_s
        self._request = request
        self._failures: Counter[str] = Counter()
        self._expiry: Timer | None = None
        self._round: Timer | None = None

    def silent_s(self, target: str) -> float:
        """Return the time since a target's last heartbeat in seconds."""
        return self._monitors.silent_s(target, self._clock.monotonic_s())

    def monitor_target(self, target: str) -> None:
        """Start to monitor a target."""
        self._failures.pop(target, None)
        self._monitors.monitor(target, self._clock.monotonic_s())
        self._arm_expiry()
        if self._round is None and self._interval_s is not None:
            self._round = self._clock.call_later(self._interval_s, self._ask)

    def unmonitor_target(self, target: str) -> None:
        """Stop monitoring a target; late timers have no effect."""
        self._failures.pop(target, None)
        self._monitors.unmonitor(target)

    def receive_heartbeat(self, target: str) -> None:
        """Record a heartbeat of a target."""
        self._failures.pop(target, None)
        self._monitors.receive(target, self._clock.monotonic_s())

    def report_unreachable(self, target: str) -> None:
        """Note that a target's address is unreachable; the second time in a row it is lost.

        Flink: `heartbeat.rpc-failure-threshold`, here its default always.
        """
        # One failure may be a connection that is just being replaced.
        self._failures[target] += 1
        if target in self._monitors.targets and self._failures[target] >= _RPC_FAILURE_THRESHOLD:
            self.unmonitor_target(target)
            self._on_timeout(target)

    def stop(self) -> None:
        """Stop monitoring all targets."""
        for target in self._monitors.targets:
            self._monitors.unmonitor(target)
        for timer in (self._expiry, self._round):
            if timer is not None:
                timer.cancel()
        self._expiry = self._round = None

    def _arm_expiry(self) -> None:
        deadline_s = self._monitors.next_deadline_s()
        # A timer that is too early by now finds nothing and arms the next one, so that no heartbeat moves a timer.
        if self._expiry is None and deadline_s is not None:
            self._expiry = self._clock.call_later(max(0.0, deadline_s - self._clock.monotonic_s()), self._expire)

    def _expire(self) -> None:
        self._expiry = None
        for target in self._monitors.expire(self._clock.monotonic_s()):
            try:
                self._on_timeout(target)
            except Exception:
                logger.exception("the loss of %s could not be handled", target)
        self._arm_expiry()

    def _ask(self) -> None:
        self._round = None
        targets = self._monitors.targets
        if targets and self._interval_s is not None and self._request is not None:
            for target in targets:
                try:
                    self._request(target)
                except Exception:
                    logger.exception("no heartbeat could be requested from %s", target)
            self._round = self._clock.call_later(self._interval_s, self._ask)
