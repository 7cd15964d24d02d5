"""Resource profiles of slots and requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firesteel.errors import FiresteelError
from firesteel.graph.slot_resources import SlotResources

__all__ = ["ANY", "UNKNOWN", "ZERO", "InsufficientResourcesError", "ResourceProfile"]

_AMOUNTS = ("cpu_cores", "task_heap_bytes", "task_off_heap_bytes", "managed_bytes", "network_bytes")


class InsufficientResourcesError(FiresteelError, ValueError):
    """More resources would be taken than are available."""

    def __str__(self) -> str:
        available, wanted = self.args
        return f"can't take {wanted} from {available}; the former must not exceed the latter"


@dataclass(frozen=True, slots=True)
class ResourceProfile:
    """Amounts of resources. Flink: `runtime.clusterframework.types.ResourceProfile`.

    `UNKNOWN` is a request without requirements, which every slot matches. `ANY` is a slot that matches every request.

    Attributes:
        cpu_cores: CPU cores; fractions are allowed.
        task_heap_bytes: Heap of the tasks.
        task_off_heap_bytes: Their memory outside the heap.
        managed_bytes: Memory managed by the TaskExecutor.
        network_bytes: Memory of network buffers.
        extended: Other resources with their amounts, sorted by name.
        is_unknown: Whether nothing is declared; the amounts are meaningless then.

    Example:
        >>> slot, wanted = ResourceProfile(cpu_cores=2), ResourceProfile(cpu_cores=0.5)
        >>> slot.is_matching(UNKNOWN), slot.is_matching(wanted), slot.subtract(wanted).cpu_cores
        (True, False, 1.5)
    """

    cpu_cores: float = 0
    task_heap_bytes: float = 0
    task_off_heap_bytes: float = 0
    managed_bytes: float = 0
    network_bytes: float = 0
    extended: tuple[tuple[str, float], ...] = ()
    is_unknown: bool = False

    @classmethod
    def of_group(cls, declared: SlotResources | None) -> ResourceProfile:
        """Return the profile of a slot sharing group, UNKNOWN if it declares nothing or is None."""
        if declared is None or (cpu_cores := declared.get_cpu_cores()) is None:
            return UNKNOWN
        memory = (
            declared.get_task_heap_memory(),
            declared.get_task_off_heap_memory(),
            declared.get_managed_memory(),
        )
        heap, off_heap, managed = (0 if size is None else size.get_bytes() for size in memory)
        extended = tuple(sorted(declared.get_external_resources().items()))
        return cls(cpu_cores, heap, off_heap, managed, extended=extended)

    @property
    def is_any(self) -> bool:
        """Whether a slot of this profile matches every request."""
        return self is ANY or self.cpu_cores == math.inf

    def is_matching(self, required: ResourceProfile) -> bool:
        """Return whether a slot of this profile matches a request: equal, UNKNOWN request, or ANY slot."""
        return required.is_unknown or self.is_any or self == required

    def all_fields_no_less_than(self, other: ResourceProfile) -> bool:
        """Return whether `other` fits into this profile; UNKNOWN always does."""
        if other.is_unknown or self.is_any:
            return True
        extended = dict(self.extended)
        return all(a >= b for a, b in zip(self._amounts(), other._amounts(), strict=True)) and all(
            extended.get(name, 0) >= amount for name, amount in other.extended
        )

    def merge(self, other: ResourceProfile) -> ResourceProfile:
        """Return the sum of both; ANY if one is ANY, else UNKNOWN if one is UNKNOWN."""
        return self._combined(other, 1)

    def subtract(self, other: ResourceProfile) -> ResourceProfile:
        """Return the difference; ANY if this is ANY, else UNKNOWN if one is UNKNOWN.

        Raises:
            InsufficientResourcesError: `other` does not fit into this profile.
        """
        if not self.all_fields_no_less_than(other):
            raise InsufficientResourcesError(self, other)
        return self if self.is_any else self._combined(other, -1)

    def split(self, parts: int) -> ResourceProfile:
        """Return one of `parts` equal parts; ANY and UNKNOWN are unchanged."""
        if self.is_any or self.is_unknown or parts < 1:
            return self
        amounts = [_part(amount, parts) for amount in self._amounts()]
        return self._of(amounts, [(name, _part(amount, parts)) for name, amount in self.extended])

    def _combined(self, other: ResourceProfile, sign: int) -> ResourceProfile:
        if self.is_any or other.is_any:
            return ANY
        if self.is_unknown or other.is_unknown:
            return UNKNOWN
        extended = dict(self.extended)
        for name, amount in other.extended:
            # Rounded, or sums of fractions such as 0.1 would not be equal to the profile that they make up.
            extended[name] = round(extended.get(name, 0) + sign * amount, 9)
        amounts = [round(a + sign * b, 9) for a, b in zip(self._amounts(), other._amounts(), strict=True)]
        return self._of(amounts, extended.items())

    def _amounts(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in _AMOUNTS)

    @classmethod
    def _of(cls, amounts: Sequence[float], extended: Iterable[tuple[str, float]]) -> ResourceProfile:
        cpu_cores, task_heap, task_off_heap, managed, network = amounts
        others = tuple(sorted((name, amount) for name, amount in extended if amount))
        return cls(cpu_cores, task_heap, task_off_heap, managed, network, others)

    def __str__(self) -> str:
        if self.is_unknown:
            return "UNKNOWN"
        if self.is_any:
            return "ANY"
        amounts = {name: getattr(self, name) for name in _AMOUNTS} | dict(self.extended)
        return "{" + ", ".join(f"{name}={amount:g}" for name, amount in amounts.items() if amount) + "}"


def _part(amount: float, parts: int) -> float:
    """Return a share, rounded down so that all shares together do not exceed the whole."""
    return math.floor(amount / parts * 1e6) / 1e6


ZERO = ResourceProfile()
UNKNOWN = ResourceProfile(is_unknown=True)
ANY = ResourceProfile(math.inf, math.inf, math.inf, math.inf, math.inf)
