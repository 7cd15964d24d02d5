"""The gateway to the current leader: kept while nothing changes, replaced when another process leads."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.highavailability.leader_gateway import LeaderGateway, NoLeaderError
from firesteel.runtime.rpc import InMemoryRpcService, RpcConnectionError, RpcEndpoint
from tests.runtime.helpers import settle

pytestmark = pytest.mark.slow


class Gateway(Protocol):
    async def name(self) -> str: ...


class Leader(RpcEndpoint):
    async def name(self) -> str:
        return self.address


class Retrieval:
    """Reports the leaders that the test sets."""

    listener: Any = None

    def start(self, listener: Any) -> None:
        self.listener = listener

    def stop(self) -> None:
        self.listener = None


async def test_the_gateway_is_cached_until_the_leader_changes() -> None:
    rpc, retrieval = InMemoryRpcService(ManualClock()), Retrieval()
    leaders = [Leader(rpc, name) for name in ("first", "second")]
    for leader in leaders:
        await leader.start()
    gateway = LeaderGateway(rpc, retrieval, Gateway)
    gateway.start()
    asked = asyncio.ensure_future(gateway.get())
    await settle()
    assert not asked.done()
    retrieval.listener.notify_leader("first", None)
    found = await asked
    assert await found.name() == "first"
    assert await gateway.get() is found
    retrieval.listener.notify_leader("second", None)
    assert await (await gateway.get()).name() == "second"
    retrieval.listener.notify_leader("gone", None)
    with pytest.raises(RpcConnectionError):
        await gateway.get()
    gateway.stop()
    assert retrieval.listener is None
    for leader in leaders:
        await leader.stop()


async def test_waiting_for_a_leader_times_out() -> None:
    clock, retrieval = ManualClock(), Retrieval()
    gateway = LeaderGateway(InMemoryRpcService(clock), retrieval, Gateway)
    gateway.start()
    retrieval.listener.notify_leader("first", None)
    retrieval.listener.notify_leader(None, None)
    asked = [asyncio.ensure_future(gateway.get()) for _ in range(2)]
    await settle()
    clock.advance(10)
    for one in asked:
        with pytest.raises(NoLeaderError, match="no Gateway has a leader, and none was elected within 10 s"):
            await one
