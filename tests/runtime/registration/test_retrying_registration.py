"""Registering at a leader (scenarios F)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.registration.retrying_registration import (
    Declined,
    RegistrationOptions,
    Rejected,
    register_with_retry,
)
from tests.runtime.helpers import settle

OPTIONS = RegistrationOptions(initial_timeout_s=1, max_timeout_s=4, error_delay_s=10, refused_delay_s=30)


class Leader:
    """Answers registrations with the listed answers; None means no answer."""

    def __init__(self, clock: ManualClock, *answers: Any) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.asked_at_s: list[float] = []

    async def register(self, gateway: str) -> Any:
        self.asked_at_s.append(self.clock.monotonic_s())
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def connect(self) -> str:
        return "gateway"

    def start(self) -> asyncio.Task[Any]:
        return asyncio.ensure_future(
            register_with_retry(self.clock, self.connect, self.register, str, OPTIONS)  # a success is a text
        )


async def run(clock: ManualClock, seconds: int) -> None:
    await settle(20)
    for _ in range(seconds):
        clock.advance(1)
        await settle(20)


async def test_each_timeout_doubles_up_to_the_maximum(clock: ManualClock) -> None:  # F01
    leader = Leader(clock, None, None, None, None, "ok")
    task = leader.start()
    await run(clock, 11)
    assert leader.asked_at_s == [0, 1, 3, 7, 11]
    assert await task == ("gateway", "ok")


async def test_registration_restarts_with_the_initial_timeout_after_a_refusal(clock: ManualClock) -> None:  # F02 F06
    leader = Leader(clock, None, Declined("not yet"), None, 42, "ok")
    task = leader.start()
    await run(clock, 62)
    assert leader.asked_at_s == [0, 1, 31, 32, 62]
    assert (await task)[1] == "ok"


async def test_registration_is_retried_after_an_error_without_limit(clock: ManualClock) -> None:  # F03
    leader = Leader(clock, OSError("no"), OSError("no"), "ok")
    task = leader.start()
    await run(clock, 20)
    assert leader.asked_at_s == [0, 10, 20]
    assert (await task)[1] == "ok"


async def test_a_cancelled_registration_is_not_retried(clock: ManualClock) -> None:  # F05
    leader = Leader(clock, None, None)
    task = leader.start()
    await run(clock, 0)
    task.cancel()
    await run(clock, 10)
    assert leader.asked_at_s == [0]


def test_timeouts_are_positive_and_delays_not_negative() -> None:  # F07
    with pytest.raises(ValueError, match="timeouts must be greater than 0"):
        RegistrationOptions(initial_timeout_s=0)
    with pytest.raises(ValueError, match="delays at least 0"):
        RegistrationOptions(error_delay_s=-1)


def test_the_defaults_are_flinks() -> None:  # F08
    assert RegistrationOptions.of({}) == RegistrationOptions(0.1, 30, 10, 30)


async def test_a_rejection_ends_the_registration(clock: ManualClock) -> None:  # F09
    leader = Leader(clock, Rejected("never"))
    assert await leader.start() == ("gateway", Rejected("never"))
