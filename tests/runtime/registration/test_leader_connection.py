"""Registration at the current leader (scenario F10)."""

from __future__ import annotations

import asyncio
from typing import Protocol

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.highavailability.high_availability import LeaderListener
from firesteel.runtime.registration.leader_connection import LeaderConnection
from firesteel.runtime.registration.retrying_registration import RegistrationOptions, Rejected
from firesteel.runtime.rpc import InMemoryRpcService, RpcEndpoint
from tests.runtime.helpers import settle


class LeaderGateway(Protocol):
    async def register(self) -> str | Rejected: ...


class Leader(RpcEndpoint):
    """Answers a registration when the test says so."""

    def __init__(self, rpc: InMemoryRpcService, name: str) -> None:
        super().__init__(rpc, name)
        self.may_answer = asyncio.Event()
        self.registrations = 0
        self.rejects = False

    async def register(self) -> str | Rejected:
        self.registrations += 1
        if self.rejects:
            return Rejected("unrecognized")
        await self.may_answer.wait()
        return f"registered at {self.address}"


class Retrieval:
    def start(self, listener: LeaderListener) -> None:
        self.listener = listener

    def stop(self) -> None: ...


class Member:
    """An endpoint to register, which records its notifications."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.rpc = InMemoryRpcService(clock)
        self.endpoint = RpcEndpoint(self.rpc, "member")
        self.retrieval = Retrieval()
        self.heard: list[str] = []
        self.leaders: dict[str, Leader] = {}
        self.connection = LeaderConnection(
            self.endpoint,
            self.retrieval,
            LeaderGateway,
            lambda gateway: gateway.register(),
            str,
            lambda gateway, success: self.heard.append(success),
            lambda gateway, cause: self.heard.append(f"left {gateway.address}: {cause}"),
            RegistrationOptions(initial_timeout_s=1000, max_timeout_s=1000),
            300,
            lambda: self.heard.append("too late"),
            self.heard.append,
        )

    async def start(self) -> None:
        await self.endpoint.start()
        for name in ("one", "two"):
            self.leaders[name] = Leader(self.rpc, name)
            await self.leaders[name].start()
        self.connection.start()

    async def follow(self, leader: str | None) -> None:
        self.retrieval.listener.notify_leader(leader, None)
        await settle(20)

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await settle(20)


@pytest.fixture
async def member(clock: ManualClock) -> Member:
    member = Member(clock)
    await member.start()
    return member


async def test_a_success_of_a_superseded_registration_is_dropped(member: Member) -> None:  # F10
    await member.follow("one")
    member.connection.reconnect("for the test")
    await settle(20)
    assert member.leaders["one"].registrations == 2
    await member.follow("two")
    member.leaders["one"].may_answer.set()
    await settle(20)
    assert member.heard == []
    member.leaders["two"].may_answer.set()
    await settle(20)
    assert member.heard == ["registered at two"]


@pytest.mark.parametrize("rounds", range(12))
async def test_an_outdated_success_is_dropped_or_revoked_at_each_step(member: Member, rounds: int) -> None:  # F10
    await member.follow("one")
    member.leaders["one"].may_answer.set()
    await settle(rounds)
    await member.follow("two")
    assert member.heard in ([], ["registered at one", "left one: the leader changed"])
    assert member.connection.gateway is None


async def test_a_registration_timeout_is_reported_and_restarts_with_each_leader(
    member: Member,
) -> None:  # F10
    await member.advance(299)
    await member.follow("one")
    await member.advance(299)
    await member.follow(None)
    await member.advance(299)
    assert member.heard == []
    await member.advance(1)
    assert member.heard == ["too late"]


async def test_the_registration_timeout_ends_with_the_registration(member: Member) -> None:  # F10
    member.leaders["one"].may_answer.set()
    await member.advance(299)
    await member.follow("one")
    await member.advance(1000)
    assert member.heard == ["registered at one"]
    member.connection.reconnect("its heartbeat timed out")
    member.leaders["one"].may_answer.clear()
    await settle(20)
    await member.advance(300)
    assert member.heard == ["registered at one", "left one: its heartbeat timed out", "too late"]


async def test_a_closed_connection_does_not_time_out(member: Member) -> None:
    member.connection.close("the test ends")
    await member.advance(1000)
    assert member.heard == []


async def test_a_rejection_is_told_and_holds_for_this_leader(member: Member) -> None:
    member.leaders["one"].rejects = True
    await member.follow("one")
    await member.advance(200)
    assert member.heard == ["unrecognized"]
    assert member.leaders["one"].registrations == 1
    assert member.connection.gateway is None
    member.leaders["two"].may_answer.set()
    await member.follow("two")
    assert member.heard == ["unrecognized", "registered at two"]
