"""Where workers come from."""

from __future__ import annotations

import logging
from typing import Protocol

__all__ = ["ResourceManagerDriver", "StandaloneDriver"]

logger = logging.getLogger(__name__)


class ResourceManagerDriver(Protocol):
    """Obtains workers. Flink: `runtime.resourcemanager.active.ResourceManagerDriver`."""

    async def request_slots(self, missing_slots: int) -> None:
        """More slots are wanted than there are."""

    async def close(self) -> None:
        """Give everything back."""


class StandaloneDriver:
    """Starts no workers: whoever set the cluster up did. Flink: `runtime.resourcemanager.StandaloneResourceManager`."""

    async def request_slots(self, missing_slots: int) -> None:
        """Say that somebody has to start a TaskExecutor; requests wait for it."""
        logger.info("%d more slots are wanted than there are; start another TaskExecutor", missing_slots)

    async def close(self) -> None:
        """Nothing to give back."""
