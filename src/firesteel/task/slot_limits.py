"""What the processes of one slot may use, as the cluster's configuration says.

Why: `docs/decisions/0055-limits-of-slots.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firesteel.common.options.slot_options import SLOT_DESCRIPTORS, SLOT_MEMORY, SLOT_PROCESSES
from firesteel.common.process_limits import limit_descriptors, limit_memory

__all__ = ["UNLIMITED", "SlotLimits"]


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The limits of one slot; None where there is none.

    Attributes:
        memory: Bytes of memory, of the slot process beyond what it has at its start, and of it with all its children.
        processes: Number of processes that user code may have running.
        descriptors: Number of files and sockets that a process of the slot may have open, beyond its own.
    """

    memory: int | None = None
    processes: int | None = None
    descriptors: int | None = None

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> SlotLimits:
        """Return the limits of a cluster; a job can't change them."""
        return cls(SLOT_MEMORY.of(configuration), SLOT_PROCESSES.of(configuration), SLOT_DESCRIPTORS.of(configuration))

    def apply(self) -> None:
        """Limit this process and those that it starts from now on, as far as the operating system does that."""
        if self.memory is not None:
            limit_memory(self.memory, self.memory_text)
        if self.descriptors is not None:
            limit_descriptors(self.descriptors, f"the slot has {SLOT_DESCRIPTORS} of {self.descriptors}")

    @property
    def memory_text(self) -> str:
        """The limit of memory as errors name it."""
        return f"the slot has {SLOT_MEMORY} of {_size(self.memory or 0)}"

    def problem(self, used_bytes: int, children: int) -> str | None:
        """Return what is wrong with what the processes of a slot use together, or None.

        Args:
            used_bytes: Resident memory of the slot process and of all its children.
            children: Number of the children.

        Example:
            >>> SlotLimits(memory=1 << 20).problem(3 << 20, 0)
            'the processes of the slot use 3 MiB of memory: the slot has taskmanager.slot.memory-limit of 1 MiB'
            >>> SlotLimits(processes=1).problem(3 << 20, 1) is None
            True
        """
        if self.memory is not None and used_bytes > self.memory:
            return f"the processes of the slot use {_size(used_bytes)} of memory: {self.memory_text}"
        if self.processes is not None and children > self.processes:
            return f"user code has started {children} processes: the slot has {SLOT_PROCESSES} of {self.processes}"
        return None


def _size(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB"


UNLIMITED = SlotLimits()
