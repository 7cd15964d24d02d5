"""The slots of one job."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    FreeSlot,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotPoolAction,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.slot import AllocatedSlot, SlotOffer

__all__ = ["SlotPool"]

Actions = list[SlotPoolAction]


class SlotPool:
    """The slots of one job: requested, offered, in use, free. Flink: `runtime.jobmaster.slotpool.SlotPoolImpl` (1.10).

    A request is in one place: stashed (no ResourceManager yet), pending (sent, under an allocation id) or served.
    A slot is in one place: allocated to a request or available.

    Args:
        job_id: Makes allocation ids unique.
    """

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self._numbers = itertools.count()
        self._is_connected = False
        self._task_managers: set[str] = set()
        self._stashed: dict[str, None] = {}
        self._pending: dict[str, str] = {}  # allocation id -> request id, in the order sent
        self._allocated: dict[str, tuple[AllocatedSlot, str]] = {}  # allocation id -> slot, request id
        self._available: dict[str, tuple[AllocatedSlot, float]] = {}  # allocation id -> slot, since when

    @property
    def task_managers(self) -> frozenset[str]:
        """The TaskExecutors whose offers are taken."""
        return frozenset(self._task_managers)

    def connect_to_resource_manager(self) -> Actions:
        """A ResourceManager is there: what was stashed is sent, in order."""
        self._is_connected = True
        stashed, self._stashed = list(self._stashed), {}
        return [self._send(request_id) for request_id in stashed]

    def disconnect_resource_manager(self) -> None:
        """The ResourceManager is gone: what was sent stays pending, what comes is stashed."""
        self._is_connected = False

    def request_slot(self, request_id: str) -> Actions:
        """A slot is wanted."""
        if self._available:
            slot, _ = self._available.pop(next(iter(self._available)))
            return [self._allocate(slot, request_id)]
        if self._is_connected:
            return [self._send(request_id)]
        self._stashed[request_id] = None
        return []

    def request_timed_out(self, request_id: str, cause: str) -> Actions:
        """A request waited too long: it fails and the ResourceManager is told. No effect once it is served."""
        return self._abandon(request_id, [SlotRequestFailed(request_id, cause)])

    def resource_manager_failed(self, allocation_id: str, cause: str) -> Actions:
        """The ResourceManager answered a request with an error."""
        request_id = self._pending.pop(allocation_id, None)
        if request_id is None:
            return []
        return [SlotRequestFailed(request_id, f"no resource available: {cause}")]

    def register_task_manager(self, task_manager_id: str) -> bool:
        """Take offers of a TaskExecutor from now on; False if they were taken already."""
        if task_manager_id in self._task_managers:
            return False
        self._task_managers.add(task_manager_id)
        return True

    def offer_slots(
        self, task_manager_id: str, offers: Sequence[SlotOffer], now_s: float
    ) -> tuple[list[SlotOffer], Actions]:
        """A TaskExecutor offers slots: those accepted, and what follows."""
        accepted: list[SlotOffer] = []
        actions: Actions = []
        for offer in offers:
            follows = self._offer(task_manager_id, offer, now_s)
            if follows is not None:
                accepted.append(offer)
                actions += follows
        return accepted, actions

    def release_slot(self, request_id: str, now_s: float, cause: str) -> Actions:
        """A request is no longer wanted: its slot serves the next one; unknown requests are ignored."""
        for slot, user in self._allocated.values():
            if user == request_id:
                del self._allocated[slot.allocation_id]
                return self._offer_around(slot, now_s)
        return self._abandon(request_id, [SlotRequestFailed(request_id, cause)])

    def fail_allocation(self, allocation_id: str, cause: str) -> tuple[str | None, Actions]:
        """An allocation failed: the TaskExecutor it emptied by that, if any, and what follows."""
        request_id = self._pending.pop(allocation_id, None)
        if request_id is not None:
            return None, [SlotRequestFailed(request_id, cause)]
        slot, actions = self._drop(allocation_id, cause)
        if slot is None:
            return None, []
        actions.append(FreeSlot(slot.task_manager_id, allocation_id, cause))
        is_empty = not any(other.task_manager_id == slot.task_manager_id for other in self._slots())
        return (slot.task_manager_id if is_empty else None), actions

    def release_task_manager(self, task_manager_id: str, cause: str) -> tuple[bool, Actions]:
        """A TaskExecutor is gone: whether it was known, and what follows."""
        if task_manager_id not in self._task_managers:
            return False, []
        self._task_managers.discard(task_manager_id)
        actions: Actions = []
        for slot in [slot for slot in self._slots() if slot.task_manager_id == task_manager_id]:
            actions += self._drop(slot.allocation_id, cause)[1]
            actions.append(FreeSlot(task_manager_id, slot.allocation_id, cause))
        return True, actions

    def release_idle(self, now_s: float, idle_timeout_s: float) -> Actions:
        """Give back what nobody used for `idle_timeout_s`; forgotten here before the TaskExecutor is asked."""
        idle = [slot for slot, since_s in self._available.values() if now_s - since_s >= idle_timeout_s]
        for slot in idle:
            del self._available[slot.allocation_id]
        return [FreeSlot(slot.task_manager_id, slot.allocation_id, "the slot was idle") for slot in idle]

    def suspend(self) -> Actions:
        """Forget everything without freeing slots: their TaskExecutors offer them to the next leader."""
        actions: Actions = [CancelSlotRequest(allocation_id) for allocation_id in self._pending]
        self._is_connected = False
        for known in (self._stashed, self._pending, self._allocated, self._available, self._task_managers):
            known.clear()
        return actions

    def close(self, cause: str) -> Actions:
        """Give all slots back and take back all requests."""
        slots = list(self._slots())
        return [*self.suspend(), *(FreeSlot(slot.task_manager_id, slot.allocation_id, cause) for slot in slots)]

    def allocated_slot_report(self, task_manager_id: str) -> tuple[SlotOffer, ...]:
        """What the job believes to have at a TaskExecutor."""
        return tuple(
            SlotOffer(slot.allocation_id, slot.slot_index, slot.address)
            for slot in self._slots()
            if slot.task_manager_id == task_manager_id
        )

    def _slots(self) -> list[AllocatedSlot]:
        return [slot for slot, _ in (*self._allocated.values(), *self._available.values())]

    def _send(self, request_id: str) -> SendSlotRequest:
        allocation_id = f"{self._job_id}-{next(self._numbers)}"
        self._pending[allocation_id] = request_id
        return SendSlotRequest(allocation_id)

    def _allocate(self, slot: AllocatedSlot, request_id: str) -> SlotAllocated:
        self._allocated[slot.allocation_id] = (slot, request_id)
        return SlotAllocated(request_id, slot)

    def _offer(self, task_manager_id: str, offer: SlotOffer, now_s: float) -> Actions | None:
        """What follows from accepting the offer; None if it is rejected."""
        if task_manager_id not in self._task_managers:
            return None
        known = self._known(offer.allocation_id)
        if known is not None:
            is_same = (known.task_manager_id, known.slot_index) == (task_manager_id, offer.slot_index)
            return [] if is_same else None
        slot = AllocatedSlot(offer.allocation_id, task_manager_id, offer.slot_index, offer.address)
        request_id = self._pending.pop(offer.allocation_id, None)
        if request_id is not None:
            return [self._allocate(slot, request_id)]
        return self._offer_around(slot, now_s)

    def _known(self, allocation_id: str) -> AllocatedSlot | None:
        found = self._allocated.get(allocation_id) or self._available.get(allocation_id)
        return None if found is None else found[0]

    def _offer_around(self, slot: AllocatedSlot, now_s: float) -> Actions:
        """Let a slot serve the request that waits longest, sent ones before stashed ones."""
        if self._pending:
            allocation_id = next(iter(self._pending))
            return [self._allocate(slot, self._pending.pop(allocation_id)), CancelSlotRequest(allocation_id)]
        if self._stashed:
            request_id = next(iter(self._stashed))
            del self._stashed[request_id]
            return [self._allocate(slot, request_id)]
        self._available[slot.allocation_id] = (slot, now_s)
        return []

    def _abandon(self, request_id: str, actions: Actions) -> Actions:
        if request_id in self._stashed:
            del self._stashed[request_id]
            return actions
        for allocation_id, waiting in self._pending.items():
            if waiting == request_id:
                del self._pending[allocation_id]
                return [*actions, CancelSlotRequest(allocation_id)]
        return []

    def _drop(self, allocation_id: str, cause: str) -> tuple[AllocatedSlot | None, Actions]:
        allocated = self._allocated.pop(allocation_id, None)
        if allocated is not None:
            slot, request_id = allocated
            return slot, [SlotLost(request_id, cause)]
        available = self._available.pop(allocation_id, None)
        return (None, []) if available is None else (available[0], [])
