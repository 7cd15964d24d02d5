"""Runs a ResourceManager while this process leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER, HighAvailabilityServices
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from firesteel.runtime.resourcemanager.driver import ResourceManagerDriver
from firesteel.runtime.resourcemanager.resource_manager import ResourceManager
from firesteel.runtime.rpc import RpcService

__all__ = ["resource_manager_runner"]


def resource_manager_runner(
    rpc_service: RpcService,
    ha: HighAvailabilityServices,
    configuration: Mapping[str, str] | None = None,
    driver: ResourceManagerDriver | None = None,
    on_fatal_error: Callable[[BaseException], object] = lambda _: None,
) -> LeaderRunner:
    """Return the contender for the ResourceManager's leadership.

    Flink: `resourcemanager.ResourceManagerServiceImpl`.
    """

    async def create(session_id: str) -> ResourceManager:
        return ResourceManager(rpc_service, session_id, ha, configuration, driver, on_fatal_error)

    return LeaderRunner(ha.leader_election(RESOURCE_MANAGER), create, on_fatal_error)
