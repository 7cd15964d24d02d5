"""Strategies that select an available slot for a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from firesteel.common.options.slot_options import EVENLY_SPREAD_OUT_SLOTS
from firesteel.common.options.state_options import RECOVERY_FROM_LOCAL
from firesteel.runtime.slotpool.available_slots import AvailableSlots
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality, SlotProfile

__all__ = [
    "EvenlySpreadOutSlotSelection",
    "LocationPreferenceSlotSelection",
    "PreviousAllocationSlotSelection",
    "SlotAndLocality",
    "SlotSelectionStrategy",
    "slot_selection_strategy",
]

SlotAndLocality = tuple[AllocatedSlot, Locality]

SAME_TASK_MANAGER, SAME_HOST = 10, 1
"""The weight that a preferred location adds to a slot."""


class SlotSelectionStrategy(Protocol):
    """A strategy that selects a slot. Pure. Flink: `runtime.jobmaster.slotpool.SlotSelectionStrategy`."""

    def select(self, available: AvailableSlots, profile: SlotProfile) -> SlotAndLocality | None:
        """Return the best slot for a request and its locality; None if none matches its resources."""
        ...


class LocationPreferenceSlotSelection:
    """A selection of the slot nearest to the preferred locations, else the one available longest.

    Flink: `runtime.jobmaster.slotpool.LocationPreferenceSlotSelectionStrategy` and its default.
    """

    def select(self, available: AvailableSlots, profile: SlotProfile) -> SlotAndLocality | None:
        """Return the best slot for a request and its locality."""
        if not profile.preferred_locations:
            slot = self._anywhere(available, profile)
            return None if slot is None else (slot, Locality.UNCONSTRAINED)
        near = self._near(available, profile)
        if near is not None:
            return near
        slot = self._anywhere(available, profile)
        return None if slot is None else (slot, Locality.NON_LOCAL)

    def _near(self, available: AvailableSlots, profile: SlotProfile) -> SlotAndLocality | None:
        """Return the slot with the highest weight, if any; only preferred locations are examined."""
        task_managers = Counter(location.task_manager_id for location in profile.preferred_locations)
        hosts = Counter(location.host for location in profile.preferred_locations if location.host)
        on_hosts = (name for host in hosts for name in available.task_managers_of_host(host))
        # Each once and in a fixed order, so that equally good slots are chosen the same way in each run.
        names = dict.fromkeys([*task_managers, *on_hosts])
        candidates = [slot for name in names for slot in _first(available.of_task_manager(name), profile)]
        if not candidates:
            return None

        def rank(slot: AllocatedSlot) -> tuple[float, float]:
            weight = SAME_TASK_MANAGER * task_managers[slot.task_manager_id] + SAME_HOST * hosts[slot.host]
            return weight, -self._cost(available, slot)

        best = max(candidates, key=rank)
        return best, Locality.LOCAL if best.task_manager_id in task_managers else Locality.HOST_LOCAL

    def _anywhere(self, available: AvailableSlots, profile: SlotProfile) -> AllocatedSlot | None:
        return next(iter(_first(available.all(), profile)), None)

    def _cost(self, available: AvailableSlots, slot: AllocatedSlot) -> float:
        return 0.0


class EvenlySpreadOutSlotSelection(LocationPreferenceSlotSelection):
    """A `LocationPreferenceSlotSelection` that prefers the least used TaskExecutor among equally near slots.

    It examines every TaskExecutor with a slot. Flink: `EvenlySpreadOutLocationPreferenceSlotSelectionStrategy`.
    """

    def _anywhere(self, available: AvailableSlots, profile: SlotProfile) -> AllocatedSlot | None:
        firsts = (
            slot
            for task_manager_id in available.task_managers
            for slot in _first(available.of_task_manager(task_manager_id), profile)
        )
        return min(firsts, key=lambda slot: self._cost(available, slot), default=None)

    def _cost(self, available: AvailableSlots, slot: AllocatedSlot) -> float:
        return available.utilization(slot.task_manager_id)


class PreviousAllocationSlotSelection:
    """A selection of the request's previous slot, else by `fallback` among slots without previous owner.

    Flink: `runtime.jobmaster.slotpool.PreviousAllocationSlotSelectionStrategy`.
    """

    def __init__(self, fallback: SlotSelectionStrategy) -> None:
        self._fallback = fallback

    def select(self, available: AvailableSlots, profile: SlotProfile) -> SlotAndLocality | None:
        """Return the best slot for a request and its locality."""
        # In a fixed order, as the preferred slots are a set.
        for allocation_id in sorted(profile.preferred_allocations):
            slot = available.get(allocation_id)
            if slot is not None and slot.resource_profile.is_matching(profile.resource_profile):
                return slot, Locality.LOCAL
        return self._fallback.select(available, profile)


def slot_selection_strategy(configuration: Mapping[str, str]) -> SlotSelectionStrategy:
    """Return the strategy of a configuration.

    `cluster.evenly-spread-out-slots` spreads over the TaskExecutors; `execution.state-recovery.from-local` lets tasks
    return to the slots that hold their state.
    """
    is_spread = EVENLY_SPREAD_OUT_SLOTS.of(configuration)
    spread = EvenlySpreadOutSlotSelection if is_spread else None
    strategy = (spread or LocationPreferenceSlotSelection)()
    return PreviousAllocationSlotSelection(strategy) if RECOVERY_FROM_LOCAL.of(configuration) else strategy


def _matching(slots: Iterable[AllocatedSlot], profile: SlotProfile) -> Iterable[AllocatedSlot]:
    wanted, reserved = profile.resource_profile, profile.reserved_allocations
    return (s for s in slots if s.allocation_id not in reserved and s.resource_profile.is_matching(wanted))


def _first(slots: Iterable[AllocatedSlot], profile: SlotProfile) -> Iterable[AllocatedSlot]:
    """Yield the first match, or nothing."""
    for slot in _matching(slots, profile):
        yield slot
        return
