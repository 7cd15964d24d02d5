"""Which slots one Spark task serves.

A Spark task costs some milliseconds, and an exchange as many blocks as it has tasks squared, so tasks are as many as
cores and not as slots: a task serves all slots of a *lane*. All are in one TaskExecutor, whose cores its lanes share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from firesteel.task.slot_address import SlotAddress


@dataclass(frozen=True)
class Lanes:
    """The lanes of a run.

    Attributes:
        slots: The slots of each lane.
        hosts: Where the slots of each lane are; empty where that is everywhere the same.

    Example:
        >>> Lanes.of({0: "slot:///tmp/0", 1: "slot:///tmp/1", 2: "slot:///tmp/2"}, cores=2).slots
        ((0, 2), (1,))
    """

    slots: tuple[tuple[int, ...], ...]
    hosts: tuple[str, ...]

    @classmethod
    def of(cls, addresses: Mapping[int, str], cores: int) -> Lanes:
        """Part slots into as many lanes per TaskExecutor as it has cores.

        Args:
            addresses: Slot -> where it takes connections, see `SlotAddress`.
            cores: Cores of a TaskExecutor.
        """
        slots_at: dict[str, list[int]] = {}
        for slot, address in sorted(addresses.items()):
            slots_at.setdefault(SlotAddress.parse(address).relay, []).append(slot)
        lanes, hosts = [], []
        for relay, slots in slots_at.items():
            count = min(cores, len(slots))
            lanes += [tuple(slots[first::count]) for first in range(count)]
            hosts += [relay.rpartition(":")[0].strip("[]")] * count
        return cls(tuple(lanes), tuple(hosts))

    @classmethod
    def one_per_slot(cls, slots: int) -> Lanes:
        """Each slot has a lane, wherever Spark runs it."""
        return cls(tuple((slot,) for slot in range(slots)), ("",) * slots)

    @cached_property
    def of_slot(self) -> dict[int, int]:
        """The lane of each slot."""
        return {slot: lane for lane, slots in enumerate(self.slots) for slot in slots}
