"""Heartbeats (scenarios L21, L22, L24)."""

from __future__ import annotations

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.heartbeat.heartbeat_options import check_heartbeats


def test_heartbeats_are_requested_at_every_interval(clock: ManualClock) -> None:  # L24
    asked: list[tuple[float, str]] = []
    manager = HeartbeatManager(clock, 50, print, 10, lambda target: asked.append((clock.monotonic_s(), target)))
    manager.monitor_target("tm")
    for _ in range(3):
        clock.advance(10)
        manager.receive_heartbeat("tm")
    assert asked == [(10, "tm"), (20, "tm"), (30, "tm")]


def test_a_silent_target_is_lost_once(clock: ManualClock) -> None:  # L22 L24
    lost: list[tuple[float, str]] = []
    manager = HeartbeatManager(clock, 50, lambda target: lost.append((clock.monotonic_s(), target)))
    manager.monitor_target("one")
    clock.advance(30)
    manager.monitor_target("two")
    manager.receive_heartbeat("one")
    clock.advance(200)
    assert lost == [(80, "one"), (80, "two")]


def test_an_unmonitored_target_is_never_lost(clock: ManualClock) -> None:  # L24
    lost: list[str] = []
    manager = HeartbeatManager(clock, 50, lost.append)
    manager.monitor_target("tm")
    manager.unmonitor_target("tm")
    clock.advance(200)
    assert lost == []


def test_no_callback_runs_after_the_stop(clock: ManualClock) -> None:
    heard: list[str] = []
    manager = HeartbeatManager(clock, 50, heard.append, 10, heard.append)
    manager.monitor_target("tm")
    manager.stop()
    clock.advance(200)
    assert heard == []


def test_one_failing_target_does_not_end_the_heartbeats(clock: ManualClock) -> None:
    heard: list[str] = []

    def fail_for_one(target: str) -> None:
        heard.append(target)
        if target == "one":
            raise RuntimeError("unexpected")

    manager = HeartbeatManager(clock, 15, fail_for_one, 10, fail_for_one)
    manager.monitor_target("one")
    manager.monitor_target("two")
    clock.advance(10)
    assert heard == ["one", "two"]
    clock.advance(5)
    assert heard[2:] == ["one", "two"]
    manager.monitor_target("three")
    clock.advance(15)
    assert heard[4:] == ["three", "three"]


def test_a_timeout_before_the_next_heartbeat_is_refused() -> None:
    check_heartbeats({})
    check_heartbeats({"heartbeat.interval": "5 s", "heartbeat.timeout": "5 s"})
    with pytest.raises(InvalidOptionError, match=r"'heartbeat\.timeout', 4 s, must not be less than 'heartbeat\.int"):
        check_heartbeats({"heartbeat.timeout": "4 s"})
