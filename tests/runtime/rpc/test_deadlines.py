"""Timeouts of calls."""

from __future__ import annotations

import asyncio

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.rpc.deadlines import Deadlines
from tests.runtime.helpers import settle


class Caller:
    """Waits ten seconds for answers; notes when it gave which one up."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.expired: list[tuple[float, str]] = []
        self.deadlines = Deadlines(clock, 10, lambda _, about: self.expired.append((clock.monotonic_s(), about)))

    def call(self, about: str) -> asyncio.Future[None]:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.deadlines.watch(answer, about)
        return answer


@pytest.fixture
async def caller(clock: ManualClock) -> Caller:
    return Caller(clock)


async def test_each_call_has_its_whole_time(caller: Caller, clock: ManualClock) -> None:
    for at_s, about in ((0, "a"), (0, "b"), (4, "c"), (3, "d")):
        clock.advance(at_s)
        caller.call(about)
    clock.advance(100)
    assert caller.expired == [(10, "a"), (10, "b"), (14, "c"), (17, "d")]


async def test_an_answered_call_neither_expires_nor_delays_others(caller: Caller, clock: ManualClock) -> None:
    first = caller.call("first")
    clock.advance(1)
    caller.call("second")
    first.set_result(None)
    await settle()
    clock.advance(9.5)
    assert caller.expired == []
    clock.advance(0.5)
    assert caller.expired == [(11, "second")]


async def test_answered_calls_leave_no_deadline(caller: Caller, clock: ManualClock) -> None:
    answers = [caller.call("a"), caller.call("b")]
    for answer in answers:
        answer.cancel()
    await settle()
    later = caller.call("c")
    clock.advance(9)
    later.set_result(None)
    await settle()
    caller.call("d")
    clock.advance(9.9)
    assert caller.expired == []
    clock.advance(0.1)
    assert caller.expired == [(19, "d")]
