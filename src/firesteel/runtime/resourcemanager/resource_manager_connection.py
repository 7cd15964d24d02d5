"""The connection of a JobMaster or TaskExecutor to the leading ResourceManager."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from firesteel.common.options.rpc_options import HEARTBEAT_TIMEOUT
from firesteel.runtime.heartbeat.heartbeat_manager import HeartbeatManager
from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER, ClientHighAvailabilityServices
from firesteel.runtime.registration.leader_connection import LeaderConnection
from firesteel.runtime.registration.retrying_registration import RegistrationOptions
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from firesteel.runtime.rpc import RpcEndpoint

__all__ = ["ResourceManagerConnection"]

S = TypeVar("S")


class ResourceManagerConnection(LeaderConnection[ResourceManagerGateway, S]):
    """A registration at the leading ResourceManager, repeated when its heartbeats stop.

    Args:
        endpoint: The endpoint that registers.
        ha: Finds the leader.
        configuration: Has the options of registrations and `heartbeat.timeout`.
        register: Registers through the gateway.
        success_type: The type of the response to a successful registration.
        on_connected: Called with the gateway and the response.
        on_disconnected: Called when the connection is closed.
        timeout_s: Maximum time in seconds without a registration.
        on_timeout: Called after the timeout.
        on_rejected: Called with the reason if the ResourceManager rejects the registration.

    Raises:
        InvalidOptionError: an option can't be read.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        ha: ClientHighAvailabilityServices,
        configuration: Mapping[str, str],
        register: Callable[[ResourceManagerGateway], Awaitable[object]],
        success_type: type[S],
        on_connected: Callable[[ResourceManagerGateway, S], object],
        on_disconnected: Callable[[], object] = lambda: None,
        timeout_s: float | None = None,
        on_timeout: Callable[[], object] = lambda: None,
        on_rejected: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._heartbeats = HeartbeatManager(
            endpoint.clock, HEARTBEAT_TIMEOUT.of(configuration), lambda _: self.reconnect("its heartbeat timed out")
        )

        def connected(gateway: ResourceManagerGateway, success: S) -> None:
            self._heartbeats.monitor_target(RESOURCE_MANAGER)
            on_connected(gateway, success)

        def disconnected(gateway: ResourceManagerGateway, cause: str) -> None:
            self._heartbeats.unmonitor_target(RESOURCE_MANAGER)
            on_disconnected()

        super().__init__(
            endpoint,
            ha.leader_retrieval(RESOURCE_MANAGER),
            ResourceManagerGateway,
            register,
            success_type,
            connected,
            disconnected,
            RegistrationOptions.of(configuration),
            timeout_s,
            on_timeout,
            on_rejected,
        )

    def receive_heartbeat(self) -> None:
        """Process a heartbeat of the ResourceManager."""
        self._heartbeats.receive_heartbeat(RESOURCE_MANAGER)

    def close(self, cause: str) -> None:
        """Close the connection permanently."""
        self._heartbeats.stop()
        super().close(cause)
