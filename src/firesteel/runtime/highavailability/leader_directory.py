"""Leader retrieval from the only JobManager process, without high availability."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Protocol

from firesteel.runtime.clock import sleep, with_timeout
from firesteel.runtime.highavailability.high_availability import (
    ClientHighAvailabilityServices,
    LeaderListener,
    LeaderRetrieval,
)
from firesteel.runtime.highavailability.shared_election import Published
from firesteel.runtime.rpc import RpcEndpoint, RpcService, no_rpc_timeout

__all__ = ["LEADER_DIRECTORY", "LeaderDirectory", "StandaloneClientHaServices"]

logger = logging.getLogger(__name__)

LEADER_DIRECTORY = "leaders"
RETRY_DELAY_S = 0.5
LONGEST_WAIT_S = 60.0
"""Time after which a query is answered in any case, as clients may have left and components change with each job."""


class LeaderDirectoryGateway(Protocol):
    """The interface of a LeaderDirectory."""

    @no_rpc_timeout
    async def next_leader(self, component: str, known: Published) -> Published:
        """Return the leader of a component once it differs from `known`, or after a timeout."""
        ...


class _Component:
    """The leader of one component, and the waiters for the next change."""

    def __init__(self, retrieval: LeaderRetrieval) -> None:
        self.retrieval = retrieval
        self.askers = 0
        self.leader: Published = (None, None)
        self.changed = asyncio.Event()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        self.leader = (address, session_id)
        self.changed.set()
        self.changed = asyncio.Event()

    async def other_leader(self, known: Published) -> None:
        # Each change replaces the event, so a waiter looks again; a leader may have come and gone in between.
        while self.leader == known:
            await self.changed.wait()


class LeaderDirectory(RpcEndpoint):
    """An endpoint that reports this process's leaders to other processes, under a well-known name.

    Flink's standalone cluster uses fixed addresses instead (`StandaloneHaServices`); here addresses contain session
    ids.

    Args:
        rpc_service: The RPC service of the endpoint.
        ha: Finds the leaders.
    """

    def __init__(self, rpc_service: RpcService, ha: ClientHighAvailabilityServices) -> None:
        super().__init__(rpc_service, LEADER_DIRECTORY)
        self._ha = ha
        self._components: dict[str, _Component] = {}

    async def next_leader(self, component: str, known: Published) -> Published:
        """Return the leader of a component once it differs from `known`, or after a timeout."""
        if component not in self._components:
            self._components[component] = asked = _Component(self._ha.leader_retrieval(component))
            asked.retrieval.start(asked)
        found = self._components[component]
        found.askers += 1
        try:
            with contextlib.suppress(TimeoutError):
                await with_timeout(self.clock, LONGEST_WAIT_S, found.other_leader(known))
            return found.leader
        finally:
            found.askers -= 1
            if not found.askers and found.leader == (None, None):
                found.retrieval.stop()
                del self._components[component]


class StandaloneClientHaServices:
    """Client services that query the LeaderDirectory. Flink: `runtime.highavailability.nonha.standalone`.

    Args:
        rpc_service: Connects to it.
        job_manager: The address of the JobManager: `tcp://host:port`.
    """

    def __init__(self, rpc_service: RpcService, job_manager: str) -> None:
        self._rpc_service = rpc_service
        self._directory = f"{job_manager}/{LEADER_DIRECTORY}"

    def leader_retrieval(self, component: str) -> AskingLeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return AskingLeaderRetrieval(self._rpc_service, self._directory, component)

    async def close(self) -> None:
        """Do nothing, as no resource is open."""


class AskingLeaderRetrieval:
    """A leader retrieval that queries the LeaderDirectory; there is no leader while the JobManager is unreachable."""

    def __init__(self, rpc_service: RpcService, directory: str, component: str) -> None:
        self._rpc_service = rpc_service
        self._directory = directory
        self._component = component
        self._task: asyncio.Future[None] | None = None

    def start(self, listener: LeaderListener) -> None:
        """Notify the listener of the current leader, asynchronously, and of every later one."""
        self._task = asyncio.ensure_future(self._ask(listener))

    def stop(self) -> None:
        """Stop notifying the listener."""
        if self._task is not None:
            self._task.cancel()

    async def _ask(self, listener: LeaderListener) -> None:
        known: Published = (None, None)
        while True:
            try:
                gateway: Any = await self._rpc_service.connect(self._directory, LeaderDirectoryGateway)
                while True:
                    leader: Published = await gateway.next_leader(self._component, known)
                    if leader != known:
                        known = leader
                        listener.notify_leader(*known)
            except Exception as error:
                logger.info("the leader of %s could not be determined: %s", self._component, error)
            if known != (None, None):
                known = (None, None)
                try:
                    listener.notify_leader(None, None)
                except Exception:
                    logger.exception("a listener for the leader of %s failed", self._component)
            await sleep(self._rpc_service.clock, RETRY_DELAY_S)
