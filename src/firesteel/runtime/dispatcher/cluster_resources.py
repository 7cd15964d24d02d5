"""What the cluster has, asked of its ResourceManager."""

from __future__ import annotations

import logging

from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER, HighAvailabilityServices
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway, ResourceOverview
from firesteel.runtime.rpc import RpcService

__all__ = ["ClusterResources"]

logger = logging.getLogger(__name__)


class ClusterResources:
    """Asks whoever is ResourceManager what the cluster has. Flink: `GatewayRetriever<ResourceManagerGateway>`.

    Args:
        rpc_service: Connects to the ResourceManager.
        ha: Tells who that is.
    """

    def __init__(self, rpc_service: RpcService, ha: HighAvailabilityServices) -> None:
        self._rpc_service = rpc_service
        self._retrieval = ha.leader_retrieval(RESOURCE_MANAGER)
        self._leader: tuple[str, str | None] | None = None

    def start(self) -> None:
        """Follow the leader from now on."""
        self._retrieval.start(self)

    def stop(self) -> None:
        """Follow nobody any more."""
        self._retrieval.stop()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Remember who is ResourceManager."""
        self._leader = None if address is None else (address, session_id)

    async def overview(self) -> ResourceOverview:
        """What the cluster has; nothing, if no ResourceManager answers."""
        if self._leader is None:
            return ResourceOverview(0, 0, 0)
        address, session_id = self._leader
        try:
            gateway: ResourceManagerGateway = await self._rpc_service.connect(
                address, ResourceManagerGateway, session_id
            )
            return await gateway.request_resource_overview()
        except Exception as error:
            logger.info("the ResourceManager does not answer: %s", error)
            return ResourceOverview(0, 0, 0)
