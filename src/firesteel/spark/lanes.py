"""Lanes: the groups of slots that one Spark task serves.

A Spark task costs some milliseconds, and the blocks of an exchange grow with the square of the number of tasks. So
there is one task per core instead of one per slot, and it serves all slots of a *lane*. The slots of a lane are in one
TaskExecutor, whose cores its lanes share.

Why: `docs/decisions/0021-lanes.md`.
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
        hosts: The host of each lane's slots; empty if the lane has no preference.

    Example:
        >>> Lanes.of({0: "slot:///tmp/0", 1: "slot:///tmp/1", 2: "slot:///tmp/2"}, cores=2).slots
        ((0, 2), (1,))
    """

    slots: tuple[tuple[int, ...], ...]
    hosts: tuple[str, ...]

    @classmethod
    def of(cls, addresses: Mapping[int, str], cores: int) -> Lanes:
        """Divide slots into as many lanes per TaskExecutor as it has cores.

        Args:
            addresses: Slot -> its address, see `SlotAddress`.
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
        """Return lanes of one slot each, without preferred hosts."""
        return cls(tuple((slot,) for slot in range(slots)), ("",) * slots)

    @cached_property
    def of_slot(self) -> dict[int, int]:
        """The lane of each slot."""
        return {slot: lane for lane, slots in enumerate(self.slots) for slot in slots}
