"""Where workers come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from firesteel.runtime.resourcemanager.workers import FrameworkAction
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["ResourceManagerDriver", "StandaloneDriver", "WorkerListener"]


class WorkerListener(Protocol):
    """Hears of containers, on the ResourceManager's loop. Flink: `active.ResourceEventHandler`."""

    def containers_granted(self, container_ids: Sequence[str], pending_at_framework: int | None = None) -> None:
        """The framework grants containers; it held so many requests, where it tells."""

    def container_completed(self, container_id: str, diagnostics: str) -> None:
        """A container ended, with its worker."""


class ResourceManagerDriver(Protocol):
    """Obtains workers from a cluster's framework. Flink: `runtime.resourcemanager.active.ResourceManagerDriver`.

    A worker's resource id is the id of its container.
    """

    @property
    def worker_slot(self) -> ResourceProfile | None:
        """What each slot of a worker offers; None if it can't obtain workers."""
        ...

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Connect to the framework; the containers whose workers a former leader left running."""
        ...

    async def perform(self, action: FrameworkAction) -> None:
        """Ask the framework for something. Only the failure of a `StartProcess` has consequences."""

    async def close(self) -> None:
        """Disconnect; workers stay."""


class StandaloneDriver:
    """Starts no workers: whoever set the cluster up did. Flink: `runtime.resourcemanager.StandaloneResourceManager`."""

    worker_slot = None

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Nobody is known before it registers."""
        return ()

    async def perform(self, action: FrameworkAction) -> None:
        """Never called: without a worker slot nothing is asked of it."""
        raise NotImplementedError(f"a standalone cluster has no framework to ask for {action}; start TaskExecutors")

    async def close(self) -> None:
        """Nothing to give back."""
