"""The slots of one job."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    FreeSlot,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotPoolAction,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.available_slots import AvailableSlots
from firesteel.runtime.slotpool.request_queue import RequestQueue
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import ANYWHERE, AllocatedSlot, Locality, SlotOffer, SlotProfile
from firesteel.runtime.slotpool.slot_selection import (
    LocationPreferenceSlotSelection,
    SlotAndLocality,
    SlotSelectionStrategy,
)

__all__ = ["SlotPool"]

Actions = list[SlotPoolAction]


@dataclass(slots=True)
class _Request:
    """A waiting request.

    Attributes:
        profile: The wanted slot.
        is_batch: Whether it may wait for slots that are in use now.
        allocation_id: The allocation requested from the ResourceManager; None before.
        unfulfillable_since_s: Time since which no slot of the pool could serve a batch request; None if one could.
    """

    profile: SlotProfile
    is_batch: bool
    allocation_id: str | None = None
    unfulfillable_since_s: float | None = None


@dataclass(slots=True)
class _TaskManager:
    """A registered TaskExecutor, with all its slots of the job."""

    host: str
    slots: dict[str, AllocatedSlot] = field(default_factory=dict)
    allocated: int = 0


class SlotPool:
    """The slots of one job: requested, offered, in use, free. Flink: `runtime.jobmaster.slotpool.SlotPoolImpl` (1.10).

    A request is in exactly one state: stashed (no ResourceManager yet), pending (sent, under an allocation id) or
    served. A slot is either allocated to a request or available. No event scans all slots or requests.

    Args:
        job_id: Makes allocation ids unique.
        selection: Selects among available slots.
    """

    def __init__(self, job_id: str, selection: SlotSelectionStrategy | None = None) -> None:
        self._job_id = job_id
        self._selection = selection or LocationPreferenceSlotSelection()
        self._numbers = itertools.count()
        self._is_connected = False
        self._task_managers: dict[str, _TaskManager] = {}
        self._requests: dict[str, _Request] = {}  # waiting ones
        self._stashed = RequestQueue()
        self._pending = RequestQueue()
        self._request_of: dict[str, str] = {}  # allocation id -> pending request
        self._allocated: dict[str, tuple[AllocatedSlot, str]] = {}  # allocation id -> slot, request id
        self._allocation_of: dict[str, str] = {}  # served request -> allocation id
        self._available = AvailableSlots(self.utilization)
        self._offered: Counter[ResourceProfile] = Counter()

    @property
    def task_managers(self) -> frozenset[str]:
        """The registered TaskExecutors."""
        return frozenset(self._task_managers)

    @property
    def size(self) -> int:
        """The number of slots of the job, in use or not."""
        return self._offered.total()

    def utilization(self, task_manager_id: str) -> float:
        """Return the fraction of the slots at a TaskExecutor that are in use, 0 to 1."""
        task_manager = self._task_managers.get(task_manager_id)
        return task_manager.allocated / len(task_manager.slots) if task_manager and task_manager.slots else 0.0

    def connect_to_resource_manager(self) -> Actions:
        """Connect to a ResourceManager and send it the stashed requests, in order."""
        self._is_connected = True
        return [self._send(request_id) for request_id in self._stashed.drain()]

    def disconnect_resource_manager(self) -> None:
        """Disconnect from the ResourceManager: sent requests stay pending, new ones are stashed."""
        self._is_connected = False

    def request_slot(self, request_id: str, profile: SlotProfile = ANYWHERE, is_batch: bool = False) -> Actions:
        """Request a slot: the best available one, else one from the ResourceManager."""
        slot, locality = self.select_available(profile) or (None, Locality.UNKNOWN)
        if slot is None:
            return self.request_new_slot(request_id, profile, is_batch)
        return self.allocate_available_slot(request_id, slot.allocation_id, locality)

    def request_new_slot(self, request_id: str, profile: SlotProfile = ANYWHERE, is_batch: bool = False) -> Actions:
        """Request a slot from the ResourceManager, without regard to available ones."""
        self._requests[request_id] = _Request(profile, is_batch)
        if self._is_connected:
            return [self._send(request_id)]
        self._stashed.push(request_id, profile.resource_profile)
        return []

    def select_available(self, profile: SlotProfile) -> SlotAndLocality | None:
        """Return the available slot that a request would get, without changes."""
        return self._selection.select(self._available, profile) if len(self._available) else None

    def allocate_available_slot(
        self, request_id: str, allocation_id: str, locality: Locality = Locality.UNKNOWN
    ) -> Actions:
        """Allocate an available slot to a request; no effect if it is unknown or in use."""
        slot = self._available.remove(allocation_id)
        return [] if slot is None else [self._allocate(slot, request_id, locality)]

    def request_timed_out(self, request_id: str, cause: str) -> Actions:
        """Fail a request that timed out and cancel it at the ResourceManager; no effect once it is served."""
        return self._abandon(request_id, cause)

    def resource_manager_failed(self, allocation_id: str, cause: str, is_unfulfillable: bool = False) -> Actions:
        """Process an error of the ResourceManager; a batch request keeps waiting unless it is unfulfillable."""
        request_id = self._request_of.get(allocation_id)
        # A batch task may run when another one has ended, so it waits for a slot in use; streaming tasks need theirs
        # together.
        if request_id is None or (self._requests[request_id].is_batch and not is_unfulfillable):
            return []
        self._forget_pending(allocation_id)
        return [SlotRequestFailed(request_id, f"no resource available: {cause}")]

    def check_batch_requests(self, now_s: float, timeout_s: float) -> Actions:
        """Fail the batch requests that no slot of the pool, in use or not, could have served for `timeout_s`."""
        actions: Actions = []
        for request_id in [*self._pending, *self._stashed]:
            request = self._requests[request_id]
            if not request.is_batch:
                continue
            wanted = request.profile.resource_profile
            # A slot in use will do: its task ends, which is what a batch request waits for.
            if any(count and offered.is_matching(wanted) for offered, count in self._offered.items()):
                request.unfulfillable_since_s = None
            elif request.unfulfillable_since_s is None:
                request.unfulfillable_since_s = now_s
            elif now_s - request.unfulfillable_since_s >= timeout_s:
                actions += self._abandon(request_id, f"no slot could have served it for {timeout_s:g} s")
        return actions

    def register_task_manager(self, task_manager_id: str, host: str = "") -> bool:
        """Register a TaskExecutor, whose offers are then considered; return False if it was registered."""
        if task_manager_id in self._task_managers:
            return False
        self._task_managers[task_manager_id] = _TaskManager(host)
        return True

    def offer_slots(
        self, task_manager_id: str, offers: Sequence[SlotOffer], now_s: float
    ) -> tuple[list[SlotOffer], Actions]:
        """Process offers of a TaskExecutor; return the accepted ones and the actions."""
        accepted: list[SlotOffer] = []
        actions: Actions = []
        for offer in offers:
            follows = self._offer(task_manager_id, offer, now_s)
            if follows is not None:
                accepted.append(offer)
                actions += follows
        return accepted, actions

    def release_slot(self, request_id: str, now_s: float, cause: str) -> Actions:
        """Release the slot of a request, which then serves the next one; unknown requests are ignored."""
        allocation_id = self._allocation_of.pop(request_id, None)
        if allocation_id is None:
            return self._abandon(request_id, cause)
        slot, _ = self._allocated.pop(allocation_id)
        self._task_managers[slot.task_manager_id].allocated -= 1
        return self._offer_around(slot, now_s)

    def fail_allocation(self, allocation_id: str, cause: str) -> tuple[str | None, Actions]:
        """Fail an allocation; return the TaskExecutor that has no slots left, if any, and the actions."""
        request_id = self._forget_pending(allocation_id)
        if request_id is not None:
            return None, [SlotRequestFailed(request_id, cause)]
        slot, actions = self._drop(allocation_id, cause)
        if slot is None:
            return None, []
        actions.append(FreeSlot(slot.task_manager_id, allocation_id, cause))
        is_empty = not self._task_managers[slot.task_manager_id].slots
        return (slot.task_manager_id if is_empty else None), actions

    def release_task_manager(self, task_manager_id: str, cause: str) -> tuple[bool, Actions]:
        """Remove a lost TaskExecutor; return whether it was known, and the actions."""
        task_manager = self._task_managers.get(task_manager_id)
        if task_manager is None:
            return False, []
        actions: Actions = []
        for allocation_id in list(task_manager.slots):
            actions += self._drop(allocation_id, cause)[1]
            actions.append(FreeSlot(task_manager_id, allocation_id, cause))
        del self._task_managers[task_manager_id]
        return True, actions

    def release_idle(self, now_s: float, idle_timeout_s: float) -> Actions:
        """Return slots unused for `idle_timeout_s`; they are removed here before the TaskExecutor is called."""
        idle = self._available.idle_since(now_s - idle_timeout_s)
        for slot in idle:
            # Before anybody is told, so that no request gets a slot that is on its way out.
            self._drop(slot.allocation_id, "")
        return [FreeSlot(slot.task_manager_id, slot.allocation_id, "the slot was idle") for slot in idle]

    def suspend(self) -> Actions:
        """Discard all state without freeing slots; their TaskExecutors offer them to the next leader."""
        # Slots that come later would be offered to a leader that is gone.
        actions: Actions = [CancelSlotRequest(allocation_id) for allocation_id in self._request_of]
        self._is_connected = False
        self._stashed.drain()
        self._pending.drain()
        for known in (self._requests, self._request_of, self._allocated, self._allocation_of, self._task_managers):
            known.clear()
        self._available.clear()
        self._offered.clear()
        return actions

    def close(self, cause: str) -> Actions:
        """Return all slots and cancel all requests."""
        slots = self.slots()
        return [*self.suspend(), *(FreeSlot(slot.task_manager_id, slot.allocation_id, cause) for slot in slots)]

    def allocated_slot_report(self, task_manager_id: str) -> tuple[SlotOffer, ...]:
        """Return the job's slots at a TaskExecutor."""
        task_manager = self._task_managers.get(task_manager_id)
        return tuple(
            SlotOffer(slot.allocation_id, slot.slot_index, slot.address, slot.resource_profile)
            for slot in (task_manager.slots.values() if task_manager else ())
        )

    def wanted_by(self, request_id: str) -> ResourceProfile | None:
        """Return the resources wanted by a waiting request, None if it does not wait."""
        request = self._requests.get(request_id)
        return None if request is None else request.profile.resource_profile

    def slots(self) -> list[AllocatedSlot]:
        """Return all slots of the job, in use or not."""
        return [slot for task_manager in self._task_managers.values() for slot in task_manager.slots.values()]

    def _send(self, request_id: str) -> SendSlotRequest:
        request, allocation_id = self._requests[request_id], f"{self._job_id}-{next(self._numbers)}"
        request.allocation_id = allocation_id
        self._request_of[allocation_id] = request_id
        self._pending.push(request_id, request.profile.resource_profile)
        return SendSlotRequest(allocation_id, request.profile.resource_profile)

    def _allocate(self, slot: AllocatedSlot, request_id: str, locality: Locality = Locality.UNKNOWN) -> SlotAllocated:
        self._allocated[slot.allocation_id] = (slot, request_id)
        self._allocation_of[request_id] = slot.allocation_id
        self._task_managers[slot.task_manager_id].allocated += 1
        return SlotAllocated(request_id, slot, locality)

    def _offer(self, task_manager_id: str, offer: SlotOffer, now_s: float) -> Actions | None:
        """Return the actions of accepting an offer, None if it is rejected."""
        task_manager = self._task_managers.get(task_manager_id)
        if task_manager is None:
            return None
        known = self._known(offer.allocation_id)
        if known is not None:
            # An offer whose answer was lost is repeated.
            is_same = (known.task_manager_id, known.slot_index) == (task_manager_id, offer.slot_index)
            return [] if is_same else None
        slot = AllocatedSlot(
            offer.allocation_id,
            task_manager_id,
            offer.slot_index,
            offer.address,
            offer.resource_profile,
            task_manager.host,
        )
        task_manager.slots[slot.allocation_id] = slot
        self._offered[slot.resource_profile] += 1
        request_id = self._forget_pending(offer.allocation_id)
        return self._offer_around(slot, now_s) if request_id is None else [self._allocate(slot, request_id)]

    def _known(self, allocation_id: str) -> AllocatedSlot | None:
        allocated = self._allocated.get(allocation_id)
        return self._available.get(allocation_id) if allocated is None else allocated[0]

    def _offer_around(self, slot: AllocatedSlot, now_s: float) -> Actions:
        """Let a slot serve the oldest waiting request, pending ones before stashed ones."""
        request_id = self._pending.first_matching(slot.resource_profile)
        if request_id is not None:
            allocation_id = self._requests[request_id].allocation_id
            assert allocation_id is not None
            self._forget_pending(allocation_id)
            # The ResourceManager still looks for a slot under the request's own id, and would send one more.
            return [self._allocate(slot, request_id), CancelSlotRequest(allocation_id)]
        request_id = self._stashed.first_matching(slot.resource_profile)
        if request_id is not None:
            self._stashed.remove(request_id)
            del self._requests[request_id]
            return [self._allocate(slot, request_id)]
        self._available.add(slot, now_s)
        return []

    def _forget_pending(self, allocation_id: str) -> str | None:
        """Remove and return the request that was sent under an allocation id."""
        request_id = self._request_of.pop(allocation_id, None)
        if request_id is not None:
            self._pending.remove(request_id)
            del self._requests[request_id]
        return request_id

    def _abandon(self, request_id: str, cause: str) -> Actions:
        request = self._requests.get(request_id)
        if request is None:
            return []
        failed = SlotRequestFailed(request_id, cause)
        if request.allocation_id is None:
            self._stashed.remove(request_id)
            del self._requests[request_id]
            return [failed]
        self._forget_pending(request.allocation_id)
        return [failed, CancelSlotRequest(request.allocation_id)]

    def _drop(self, allocation_id: str, cause: str) -> tuple[AllocatedSlot | None, Actions]:
        """Remove a slot; its request loses it."""
        slot, request_id = self._allocated.pop(allocation_id, (None, ""))
        if slot is None:
            slot = self._available.remove(allocation_id)
            if slot is None:
                return None, []
        task_manager = self._task_managers[slot.task_manager_id]
        del task_manager.slots[allocation_id]
        self._offered[slot.resource_profile] -= 1
        if not request_id:
            return slot, []
        del self._allocation_of[request_id]
        task_manager.allocated -= 1
        return slot, [SlotLost(request_id, cause)]
