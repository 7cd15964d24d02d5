"""The interface to the framework that provides workers.

Why: `docs/decisions/0010-containers-and-drivers.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from firesteel.runtime.resourcemanager.workers import FrameworkAction
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["ResourceManagerDriver", "StandaloneDriver", "WorkerListener"]


class WorkerListener(Protocol):
    """A listener to containers, called on the ResourceManager's loop. Flink: `active.ResourceEventHandler`."""

    def containers_granted(self, container_ids: Sequence[str], pending_at_framework: int | None = None) -> None:
        """Handle granted containers; `pending_at_framework` is the framework's number of open requests, if known."""

    def container_completed(self, container_id: str, diagnostics: str) -> None:
        """Handle the end of a container and its worker."""


class ResourceManagerDriver(Protocol):
    """A driver that obtains workers from a cluster's framework.

    Flink: `runtime.resourcemanager.active.ResourceManagerDriver`.

    A worker's resource id is the id of its container.
    """

    @property
    def worker_slot(self) -> ResourceProfile | None:
        """The profile of each slot of a worker; None if the driver can't obtain workers."""
        ...

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Connect to the framework; return the containers whose workers a former leader left running."""
        ...

    async def perform(self, action: FrameworkAction) -> None:
        """Send an action to the framework. Only the failure of a `StartProcess` has consequences."""

    async def close(self) -> None:
        """Disconnect; workers keep running."""


class StandaloneDriver:
    """A driver that starts no workers. Flink: `runtime.resourcemanager.StandaloneResourceManager`."""

    worker_slot = None

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Return no containers, as workers are unknown before they register."""
        return ()

    async def perform(self, action: FrameworkAction) -> None:
        """Raise NotImplementedError; never called, as there is no worker slot."""
        raise NotImplementedError(
            f"a standalone cluster has no framework that could perform {action}; start TaskExecutors"
        )

    async def close(self) -> None:
        """Do nothing, as there are no resources."""
