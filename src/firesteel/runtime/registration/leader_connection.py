"""A connection that follows the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from firesteel.errors import FiresteelError
from firesteel.runtime.clock import Timer
from firesteel.runtime.highavailability.high_availability import LeaderRetrieval
from firesteel.runtime.registration.retrying_registration import RegistrationOptions, Rejected, register_with_retry
from firesteel.runtime.rpc import RpcEndpoint

__all__ = ["LeaderConnection", "RegistrationTimeoutError"]

S = TypeVar("S")


class RegistrationTimeoutError(FiresteelError, TimeoutError):
    """No leader took a registration for too long. Flink: `taskexecutor.exceptions.RegistrationTimeoutException`."""

    def __str__(self) -> str:
        address, timeout_s = self.args
        return f"{address} could not register at any ResourceManager within {timeout_s:g} s"


class LeaderConnection(Generic[S]):
    """Keeps an endpoint registered at whoever leads. Flink: `runtime.registration.RegisteredRpcConnection`.

    A registration that another leader or a reconnect supersedes has no effect.

    Args:
        endpoint: Who connects; callbacks run in its main thread.
        retrieval: Tells who leads.
        gateway_type: The Protocol of the leader's gateway.
        register: Registers through the gateway.
        success_type: What a successful registration answers.
        on_connected: Called with the gateway and the answer.
        on_disconnected: Called with the gateway and the cause when the connection is given up.
        options: How patiently to register.
        timeout_s: How long to be without a leader that one is registered at; counted anew whenever the leader changes.
        on_timeout: Called when that takes longer.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        retrieval: LeaderRetrieval,
        gateway_type: type,
        register: Callable[[Any], Awaitable[object]],
        success_type: type[S],
        on_connected: Callable[[Any, S], object],
        on_disconnected: Callable[[Any, str], object],
        options: RegistrationOptions,
        timeout_s: float | None = None,
        on_timeout: Callable[[], object] = lambda: None,
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
        self._timeout: Timer | None = None
        self._leader: tuple[str, str | None] | None = None
        self._registration: asyncio.Future[Any] | None = None
        self._gateway: Any = None

    @property
    def gateway(self) -> Any:
        """The leader's gateway while registered there, else None."""
        return self._gateway

    @property
    def session_id(self) -> str | None:
        """The session id of the present leader."""
        return None if self._leader is None else self._leader[1]

    def start(self) -> None:
        """Follow the leader from now on."""
        self._arm_timeout()
        self._retrieval.start(self)

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Turn to another leader; a leader that it is connected to already changes nothing."""
        if self._gateway is not None and self._leader == (address, session_id):
            return
        self._leader = None if address is None else (address, session_id)
        self.reconnect("the leader changed")

    def reconnect(self, cause: str) -> None:
        """Give the connection up and register again at the present leader."""
        self._disconnect(cause)
        self._arm_timeout()
        if self._leader is not None:
            self._registration = self._endpoint.spawn(self._connect(*self._leader), "registration")

    def close(self, cause: str) -> None:
        """Give the connection up for good."""
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
        if not isinstance(answer, Rejected):
            self._gateway = gateway
            self._disarm_timeout()
            self._on_connected(gateway, answer)
