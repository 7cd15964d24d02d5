"""What the graphs know of the resources that a slot sharing group declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Memory(Protocol):
    """An amount of memory; see `MemorySize`."""

    def get_bytes(self) -> int:
        """Return it in bytes."""


class SlotResources(Protocol):
    """The declared resources of each slot of a group; see `SlotSharingGroup` of the API."""

    def get_cpu_cores(self) -> float | None:
        """Return the CPU cores, or None if nothing is declared."""

    def get_task_heap_memory(self) -> Memory | None:
        """Return the heap memory, if it is declared."""

    def get_task_off_heap_memory(self) -> Memory | None:
        """Return the off-heap memory, if it is declared."""

    def get_managed_memory(self) -> Memory | None:
        """Return the managed memory, if it is declared."""

    def get_external_resources(self) -> Mapping[str, float]:
        """Return amounts of other resources by name."""
