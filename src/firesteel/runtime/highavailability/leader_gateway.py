"""A gateway to the current leader."""

from __future__ import annotations

import asyncio
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.runtime.clock import with_timeout
from firesteel.runtime.highavailability.high_availability import LeaderRetrieval
from firesteel.runtime.rpc import RpcService

__all__ = ["LeaderGateway", "NoLeaderError"]

_WAIT_S = 10.0
"""Time in seconds that a caller waits for the next leader."""


class NoLeaderError(FiresteelError):
    """There is currently no leader."""

    def __str__(self) -> str:
        gateway_type, timeout_s = self.args
        return f"no {gateway_type} has a leader, and none was elected within {timeout_s:g} s; try again later"


class LeaderGateway:
    """A listener that keeps the gateway to the current leader. Flink: `webmonitor.retriever.impl.RpcGatewayRetriever`.

    Args:
        rpc_service: Connects to the leader.
        retrieval: Finds the leader.
        gateway_type: The Protocol of its gateway.
    """

    def __init__(self, rpc_service: RpcService, retrieval: LeaderRetrieval, gateway_type: type) -> None:
        self._rpc_service = rpc_service
        self._retrieval = retrieval
        self._gateway_type = gateway_type
        self._leader: asyncio.Future[tuple[str, str | None]] = asyncio.get_running_loop().create_future()
        self._gateway: object = None

    def start(self) -> None:
        """Start to follow the leader."""
        self._retrieval.start(self)

    def stop(self) -> None:
        """Stop following the leader."""
        self._retrieval.stop()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Handle a new leader, or none."""
        self._gateway = None
        if self._leader.done():
            self._leader = asyncio.get_running_loop().create_future()
        if address is not None:
            self._leader.set_result((address, session_id))

    async def get(self) -> Any:
        """Return the gateway of the current leader, or of the next one if it is elected soon.

        Raises:
            NoLeaderError: there is no leader.
            RpcConnectionError: the leader is unreachable.
        """
        if self._gateway is not None:
            return self._gateway
        try:
            # Shielded, as the future belongs to all callers and a timeout would cancel it.
            found = await with_timeout(self._rpc_service.clock, _WAIT_S, asyncio.shield(self._leader))
        except TimeoutError:
            raise NoLeaderError(self._gateway_type.__name__, _WAIT_S) from None
        gateway = await self._rpc_service.connect(found[0], self._gateway_type, found[1])
        if self._leader.done() and self._leader.result() == found:  # and the leader has not changed meanwhile
            self._gateway = gateway
        return gateway
