"""A gateway to whoever leads."""

from __future__ import annotations

import asyncio
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.runtime.clock import with_timeout
from firesteel.runtime.highavailability.high_availability import LeaderRetrieval
from firesteel.runtime.rpc import RpcService

__all__ = ["LeaderGateway", "NoLeaderError"]

_WAIT_S = 10.0
"""Who asks waits so long for the next leader."""


class NoLeaderError(FiresteelError):
    """Nobody leads at present."""

    def __str__(self) -> str:
        gateway_type, timeout_s = self.args
        return f"there is no leader to ask as {gateway_type}, and none came within {timeout_s:g} s; ask again later"


class LeaderGateway:
    """Follows who leads and keeps the gateway to it. Flink: `webmonitor.retriever.impl.RpcGatewayRetriever`.

    Args:
        rpc_service: Connects to the leader.
        retrieval: Tells who that is.
        gateway_type: The Protocol of its gateway.
    """

    def __init__(self, rpc_service: RpcService, retrieval: LeaderRetrieval, gateway_type: type) -> None:
        self._rpc_service = rpc_service
        self._retrieval = retrieval
        self._gateway_type = gateway_type
        self._leader: asyncio.Future[tuple[str, str | None]] = asyncio.get_running_loop().create_future()
        self._gateway: Any = None

    def start(self) -> None:
        """Follow the leader from now on."""
        self._retrieval.start(self)

    def stop(self) -> None:
        """Follow nobody any more."""
        self._retrieval.stop()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Another one leads now, or nobody does."""
        self._gateway = None
        if self._leader.done():
            self._leader = asyncio.get_running_loop().create_future()
        if address is not None:
            self._leader.set_result((address, session_id))

    async def get(self) -> Any:
        """The gateway of the present leader, or of the next one if it comes soon.

        Raises:
            NoLeaderError: nobody leads.
            RpcConnectionError: the leader is gone already.
        """
        if self._gateway is not None:
            return self._gateway
        try:
            found = await with_timeout(self._rpc_service.clock, _WAIT_S, asyncio.shield(self._leader))
        except TimeoutError:
            raise NoLeaderError(self._gateway_type.__name__, _WAIT_S) from None
        gateway = await self._rpc_service.connect(found[0], self._gateway_type, found[1])
        if self._leader.done() and self._leader.result() == found:  # and not another one meanwhile
            self._gateway = gateway
        return gateway
