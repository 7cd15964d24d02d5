"""Waiting for a leader."""

from __future__ import annotations

import asyncio
from typing import Any

from firesteel.runtime.highavailability.high_availability import LeaderRetrieval
from firesteel.runtime.rpc import RpcService


class _FirstLeader:
    def __init__(self) -> None:
        self.leader: asyncio.Future[tuple[str, str | None]] = asyncio.get_running_loop().create_future()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        if address is not None and not self.leader.done():
            self.leader.set_result((address, session_id))


async def leader_gateway(rpc_service: RpcService, retrieval: LeaderRetrieval, gateway_type: type) -> Any:
    """The gateway of the present leader, or of the next one if there is none. Flink: `RpcGatewayRetriever`.

    Raises:
        RpcConnectionError: the leader is gone already.
    """
    first = _FirstLeader()
    retrieval.start(first)
    try:
        address, session_id = await first.leader
    finally:
        retrieval.stop()
    return await rpc_service.connect(address, gateway_type, session_id)
