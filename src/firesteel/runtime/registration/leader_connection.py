"""A connection that follows the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from firesteel.errors import FiresteelError
from firesteel.runtime.clock import Timer
from firesteel.runtime.highavailability.high_availability import LeaderRetrieval
from firesteel.runtime.registration.retrying_registration import RegistrationOptions, Rejected, register_with_retry
from firesteel.runtime.rpc import RpcEndpoint

__all__ = ["LeaderConnection", "RegistrationRejectedError", "RegistrationTimeoutError"]

G = TypeVar("G")
S = TypeVar("S")


class RegistrationTimeoutError(FiresteelError, TimeoutError):
    """No leader accepted a registration in time. Flink: `taskexecutor.exceptions.RegistrationTimeoutException`."""

    def __str__(self) -> str:
        address, timeout_s = self.args
        return f"{address} could not register at any ResourceManager within {timeout_s:g} s"


class RegistrationRejectedError(FiresteelError):
    """The leader has no use for who registers."""

    def __str__(self) -> str:
        address, reason = self.args
        return f"{address} was rejected by the ResourceManager: {reason}"


class LeaderConnection(Generic[G, S]):
    """A connection that keeps an endpoint registered at the leader.

    Flink: `runtime.registration.RegisteredRpcConnection`.

    A registration superseded by another leader or a reconnect has no effect.

    Args:
        endpoint: The endpoint that connects; callbacks run in its main thread.
        retrieval: Finds the leader.
        gateway_type: The Protocol of the leader's gateway.
        register: Registers through the gateway.
        success_type: The type of the response to a successful registration.
        on_connected: Called with the gateway and the response.
        on_disconnected: Called with the gateway and the cause when the connection is closed.
        options: Timeouts and delays of the registration.
        timeout_s: Maximum time in seconds without a registration; restarted when the leader changes.
        on_timeout: Called after the timeout.
        on_rejected: Called with the reason if the leader rejects the registration, which is not repeated then.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        retrieval: LeaderRetrieval,
        gateway_type: type,
        register: Callable[[G], Awaitable[object]],
        success_type: type[S],
        on_connected: Callable[[G, S], object],
        on_disconnected: Callable[[G, str], object],
        options: RegistrationOptions,
        timeout_s: float | None = None,
        on_timeout: Callable[[], object] = lambda: None,
        on_rejected: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._endpoint = endpoint
        self._retrieval = retrieval
        self._gateway_type = gateway_type
        self._register = register
        self._success_type = success_type
        self._on_connected = on_connected
        self._on_disconnected = on_disconnected
        self._options = options
        self._timeout_s = timeout_s
        self._on_timeout = on_timeout
        self._on_rejected = on_rejected
        self._timeout: Timer | None = None
        self._leader: tuple[str, str | None] | None = None
        self._registration: asyncio.Future[object] | None = None
        self._gateway: G | None = None

    @property
    def gateway(self) -> G | None:
        """The leader's gateway while registered, else None."""
        return self._gateway

    @property
    def session_id(self) -> str | None:
        """The session id of the current leader."""
        return None if self._leader is None else self._leader[1]

    def start(self) -> None:
        """Start to follow the leader."""
        self._arm_timeout()
        self._retrieval.start(self)

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Connect to a new leader; the leader of the current connection has no effect."""
        # Only while connected: a leader that comes back under the same session is to be registered at again.
        if self._gateway is not None and self._leader == (address, session_id):
            return
        self._leader = None if address is None else (address, session_id)
        self.reconnect("the leader changed")

    def reconnect(self, cause: str) -> None:
        """Close the connection and register again at the current leader."""
        self._disconnect(cause)
        self._arm_timeout()
        if self._leader is not None:
            self._registration = self._endpoint.spawn(self._connect(*self._leader), "registration")

    def close(self, cause: str) -> None:
        """Close the connection permanently."""
        self._retrieval.stop()
        self._leader = None
        self._disconnect(cause)
        self._disarm_timeout()

    def _arm_timeout(self) -> None:
        self._disarm_timeout()
        if self._timeout_s is not None:
            self._timeout = self._endpoint.schedule_run_async(self._timeout_s, self._on_timeout)

    def _disarm_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _disconnect(self, cause: str) -> None:
        if self._registration is not None:
            self._registration.cancel()
            self._registration = None
        # Cleared before the callback, which may use the connection again.
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            self._on_disconnected(gateway, cause)

    async def _connect(self, address: str, session_id: str | None) -> None:
        gateway, answer = await register_with_retry(
            self._endpoint.clock,
            lambda: self._endpoint.rpc_service.connect(address, self._gateway_type, session_id),
            self._register,
            self._success_type,
            self._options,
        )
        if isinstance(answer, Rejected):  # Only another leader may decide otherwise.
            self._on_rejected(answer.reason)
            return
        self._gateway = gateway
        self._disarm_timeout()
        self._on_connected(gateway, answer)
