"""Which targets to ask, and which have been silent for too long."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from firesteel.runtime.clock import Clock, Timer

__all__ = ["HeartbeatManager", "HeartbeatMonitors"]

logger = logging.getLogger(__name__)

_TOLERANCE_S = 1e-6  # A timer may fire a rounding error before its deadline.


class HeartbeatMonitors:
    """When each target was last heard of. Pure. Flink: `runtime.heartbeat.HeartbeatMonitor`, one for all targets.

    Args:
        timeout_s: A target silent for so long is lost. Flink: `heartbeat.timeout`.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._heard_s: dict[str, float] = {}

    @property
    def targets(self) -> tuple[str, ...]:
        """The monitored targets."""
        return tuple(self._heard_s)

    def monitor(self, target: str, now_s: float) -> None:
        """Watch a target from now on."""
        self._heard_s[target] = now_s

    def unmonitor(self, target: str) -> None:
        """Watch it no longer."""
        self._heard_s.pop(target, None)

    def receive(self, target: str, now_s: float) -> None:
        """A target gave a sign of life; unknown ones are ignored."""
        if target in self._heard_s:
            self._heard_s[target] = now_s

    def silent_s(self, target: str, now_s: float) -> float:
        """How long nothing was heard of a target; 0 for those that are not watched."""
        return now_s - self._heard_s.get(target, now_s)

    def expire(self, now_s: float) -> list[str]:
        """The targets that are lost by now; they are watched no longer."""
        limit_s = now_s - self._timeout_s + _TOLERANCE_S
        lost = [target for target, heard_s in self._heard_s.items() if heard_s <= limit_s]
        for target in lost:
            del self._heard_s[target]
        return lost

    def next_deadline_s(self) -> float | None:
        """When the first target will be lost if nothing is heard."""
        return min(self._heard_s.values()) + self._timeout_s if self._heard_s else None


_RPC_FAILURE_THRESHOLD = 2


class HeartbeatManager:
    """Asks targets for heartbeats, and tells which are lost.

    Flink: `runtime.heartbeat.HeartbeatManagerImpl`, and with an interval `HeartbeatManagerSenderImpl`.

    Args:
        clock: The time it follows.
        timeout_s: A target silent for so long is lost.
        on_timeout: Called with each lost target.
        interval_s: How often targets are asked; None for the side that only answers. Flink: `heartbeat.interval`.
        request: Called with each target to ask.
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
        """How long nothing was heard of a target (seconds)."""
        return self._monitors.silent_s(target, self._clock.monotonic_s())

    def monitor_target(self, target: str) -> None:
        """Watch a target from now on."""
        self._failures.pop(target, None)
        self._monitors.monitor(target, self._clock.monotonic_s())
        self._arm_expiry()
        if self._round is None and self._interval_s is not None:
            self._round = self._clock.call_later(self._interval_s, self._ask)

    def unmonitor_target(self, target: str) -> None:
        """Watch it no longer; a timer that is late does nothing."""
        self._failures.pop(target, None)
        self._monitors.unmonitor(target)

    def receive_heartbeat(self, target: str) -> None:
        """Take a sign of life."""
        self._failures.pop(target, None)
        self._monitors.receive(target, self._clock.monotonic_s())

    def report_unreachable(self, target: str) -> None:
        """Nobody could be asked at its address; twice without a sign of life in between, and it is lost.

        Flink: `heartbeat.rpc-failure-threshold`, here its default always.
        """
        self._failures[target] += 1
        if target in self._monitors.targets and self._failures[target] >= _RPC_FAILURE_THRESHOLD:
            self.unmonitor_target(target)
            self._on_timeout(target)

    def stop(self) -> None:
        """Watch nothing any more."""
        for target in self._monitors.targets:
            self._monitors.unmonitor(target)
        for timer in (self._expiry, self._round):
            if timer is not None:
                timer.cancel()
        self._expiry = self._round = None

    def _arm_expiry(self) -> None:
        deadline_s = self._monitors.next_deadline_s()
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
                    logger.exception("%s could not be asked for a heartbeat", target)
            self._round = self._clock.call_later(self._interval_s, self._ask)
