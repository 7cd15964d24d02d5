"""The cluster's resources, queried from its ResourceManager."""

from __future__ import annotations

import logging

from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER, HighAvailabilityServices
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway, ResourceOverview
from firesteel.runtime.rpc import RpcService

__all__ = ["ClusterResources"]

logger = logging.getLogger(__name__)


class ClusterResources:
    """A client of the leading ResourceManager. Flink: `GatewayRetriever<ResourceManagerGateway>`.

    Args:
        rpc_service: Connects to the ResourceManager.
        ha: Finds the leading ResourceManager.
    """

    def __init__(self, rpc_service: RpcService, ha: HighAvailabilityServices) -> None:
        self._rpc_service = rpc_service
        self._retrieval = ha.leader_retrieval(RESOURCE_MANAGER)
        self._leader: tuple[str, str | None] | None = None

    def start(self) -> None:
        """Start to follow the leader."""
        self._retrieval.start(self)

    def stop(self) -> None:
        """Stop following the leader."""
        self._retrieval.stop()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Set the leading ResourceManager."""
        self._leader = None if address is None else (address, session_id)

    async def overview(self) -> ResourceOverview:
        """Return the cluster's resources, empty if no ResourceManager answers."""
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
