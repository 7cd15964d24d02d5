"""Slot sharing groups (module as `pyflink.datastream.slot_sharing_group`)."""

from __future__ import annotations

import math
from functools import total_ordering

from firesteel.common.checks import require

__all__ = ["MemorySize", "SlotSharingGroup"]

_MEBI = 1 << 20


@total_ordering
class MemorySize:
    """An amount of memory.

    Args:
        bytes_size: Number of bytes, 0 or more.

    Raises:
        ValueError: the number is negative.

    Example:
        >>> MemorySize.of_mebi_bytes(512).get_bytes()
        536870912
        >>> print(MemorySize.of_mebi_bytes(512))
        512 mb
    """

    def __init__(self, bytes_size: int) -> None:
        if bytes_size < 0:
            raise ValueError(f"bytes must be 0 or greater, found {bytes_size}")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return an amount given in MiB.

        Args:
            mebi_bytes: MiB (1,048,576 bytes), 0 or more.

        Raises:
            ValueError: the amount is negative.
        """
        return MemorySize(mebi_bytes * _MEBI)

    def get_bytes(self) -> int:
        """Return the size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the size in KiB, rounded down."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the size in MiB, rounded down."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the size in GiB, rounded down."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the size in TiB, rounded down."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        for shift, unit in ((40, "tb"), (30, "gb"), (20, "mb"), (10, "kb")):
            if self._bytes and self._bytes % (1 << shift) == 0:
                return f"{self._bytes >> shift} {unit}"
        return f"{self._bytes} bytes"

    __repr__ = __str__


def _checked_cores(cpu_cores: float) -> float:
    if not 0 < cpu_cores < math.inf:
        raise ValueError(f"cpu_cores must be greater than 0, found {cpu_cores}")
    return float(cpu_cores)


def _check_resources(name: str, cpu_cores: float | None, heap: MemorySize | None, has_others: bool) -> None:
    if cpu_cores is None and heap is None and not has_others:
        return
    if cpu_cores is None or heap is None:
        raise ValueError(f"Slot sharing group {name!r}: CPU cores and task heap memory must be set if any resource is")
    _checked_cores(cpu_cores)
    if not heap.get_bytes():
        raise ValueError(f"Slot sharing group {name!r}: the task heap memory must be greater than 0 bytes")


class SlotSharingGroup:
    """A named group of operators that share slots, optionally with declared resources per slot.

    Args:
        name: Name of the group.
        cpu_cores: Number of CPU cores of a slot; None leaves all resources unspecified.
        task_heap_memory: Heap memory of a slot; must be greater than 0 if `cpu_cores` is given.
        task_off_heap_memory: Off-heap memory of a slot, or None.
        managed_memory: Managed memory of a slot, or None.
        external_resources: Amounts of external resources, such as `gpu`, by name.

    Raises:
        ValueError: resources are declared without CPU cores or heap memory, or either of them is not greater than 0.

    Example:
        >>> group = SlotSharingGroup.builder("heavy").set_cpu_cores(2).set_task_heap_memory_mb(512).build()
    """

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        others = task_off_heap_memory, managed_memory, external_resources or None
        _check_resources(name, cpu_cores, task_heap_memory, any(part is not None for part in others))
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder of a group without declared resources.

        Args:
            name: Name of the group; operators name it in `slot_sharing_group`.
        """
        require(name, str, "SlotSharingGroup.builder()")
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the name of the group."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """Return the CPU cores per slot, or None if they are not declared."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory per slot, or None if it is not declared."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the off-heap memory per slot, or None if it is not declared."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory per slot, or None if it is not declared."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return the external resources per slot."""
        return dict(self._external_resources)

    def resources(self) -> tuple[object, ...]:
        """Return all resources of the group for comparison, without its name."""
        memory = self._task_heap_memory, self._task_off_heap_memory, self._managed_memory
        return self._cpu_cores, *memory, tuple(sorted(self._external_resources.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """A builder of `SlotSharingGroup`.

        If any resource is declared, CPU cores and heap memory have to be declared, too.
        """

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the CPU cores per slot.

            Args:
                cpu_cores: Number of cores greater than 0, such as 0.5.

            Raises:
                ValueError: the number is not greater than 0, or not finite.
            """
            self._cpu_cores = _checked_cores(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap memory per slot.

            Args:
                task_heap_memory: Greater than 0; `build` raises an error otherwise.
            """
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory per slot.

            Args:
                task_heap_memory_mb: MiB, greater than 0; `build` rejects 0.

            Raises:
                ValueError: the amount is negative.
            """
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the off-heap memory per slot.

            Args:
                task_off_heap_memory: 0 or more; it needs CPU cores and heap memory, too.
            """
            self._task_off_heap_memory = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the off-heap memory per slot.

            Args:
                task_off_heap_memory_mb: MiB, 0 or more.

            Raises:
                ValueError: the amount is negative.
            """
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory per slot.

            Args:
                managed_memory: 0 or more; it needs CPU cores and heap memory, too.
            """
            self._managed_memory = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory per slot.

            Args:
                managed_memory_mb: MiB, 0 or more.

            Raises:
                ValueError: the amount is negative.
            """
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set the amount of an external resource per slot.

            Args:
                name: Name of the resource, such as `gpu`.
                value: Amount greater than 0; it replaces a former one.

            Raises:
                ValueError: the amount is not greater than 0.
            """
            if not 0 < value < math.inf:
                raise ValueError(f"external resource {name!r} must be greater than 0, found {value}")
            self._external_resources[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group.

            Raises:
                ValueError: resources are declared without CPU cores or heap memory, or either of them is zero.
            """
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._task_heap_memory,
                self._task_off_heap_memory,
                self._managed_memory,
                self._external_resources,
            )
