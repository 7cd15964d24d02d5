"""Which slots there are, which are free, and who waits for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest, SlotStatus

__all__ = ["AllocateWorkers", "AssignSlot", "NotifyAllocationFailure", "SlotManager", "SlotManagerAction"]


@dataclass(frozen=True, slots=True)
class AssignSlot:
    """Ask a TaskExecutor to give one of its slots to a job."""

    instance_id: str
    slot_index: int
    request: SlotRequest


@dataclass(frozen=True, slots=True)
class AllocateWorkers:
    """More slots are wanted than exist."""

    missing_slots: int


@dataclass(frozen=True, slots=True)
class NotifyAllocationFailure:
    """Tell a job that a slot it had, or was to have, is gone."""

    job_id: str
    allocation_id: str
    cause: str


SlotManagerAction = AssignSlot | AllocateWorkers | NotifyAllocationFailure
Actions = list[SlotManagerAction]


@dataclass(slots=True)
class _Slot:
    """A registered slot: free, PENDING (`request` set, the TaskExecutor was asked) or ALLOCATED."""

    instance_id: str
    slot_index: int
    job_id: str | None = None
    allocation_id: str | None = None
    request: SlotRequest | None = None

    @property
    def is_free(self) -> bool:
        return self.allocation_id is None and self.request is None


@dataclass(slots=True)
class _TaskManager:
    instance_id: str
    slots: dict[int, _Slot] = field(default_factory=dict)


class SlotManager:
    """All slots of the cluster. Pure. Flink: `resourcemanager.slotmanager.SlotManagerImpl` (1.12, request driven).

    Slots are all alike: no resource profiles yet.
    """

    def __init__(self) -> None:
        self._task_managers: dict[str, _TaskManager] = {}
        self._waiting: dict[str, SlotRequest] = {}  # allocation id -> request no slot was found for, oldest first
        self._known: set[str] = set()  # allocation ids waiting, pending or fulfilled

    @property
    def slots_total(self) -> int:
        """How many slots are registered."""
        return sum(1 for _ in self._slots())

    @property
    def slots_free(self) -> int:
        """How many of them nobody has or is about to have."""
        return sum(slot.is_free for slot in self._slots())

    def register_slot_request(self, request: SlotRequest) -> tuple[bool, Actions]:
        """A job asks for a slot; False if that allocation is known already."""
        if request.allocation_id in self._known:
            return False, []
        self._known.add(request.allocation_id)
        return True, self._serve(request)

    def unregister_slot_request(self, allocation_id: str) -> bool:
        """A job wants the slot no longer; False if the request is unknown or already fulfilled."""
        if self._waiting.pop(allocation_id, None) is not None:
            self._known.discard(allocation_id)
            return True
        for slot in self._slots():
            if slot.request is not None and slot.request.allocation_id == allocation_id:
                # The TaskExecutor is asked already: the slot stays PENDING until it answers.
                self._known.discard(allocation_id)
                return True
        return False

    def register_task_manager(self, instance_id: str, report: SlotReport) -> tuple[bool, Actions]:
        """A TaskExecutor came; False if it is known, then its report is taken as a report only."""
        if instance_id in self._task_managers:
            return False, self.report_slot_status(instance_id, report)[1]
        self._task_managers[instance_id] = _TaskManager(
            instance_id, {status.slot_index: _Slot(instance_id, status.slot_index) for status in report.slots}
        )
        return True, self.report_slot_status(instance_id, report)[1]

    def unregister_task_manager(self, instance_id: str, cause: str) -> tuple[bool, Actions]:
        """A TaskExecutor is gone: what it was to give is sought elsewhere, what it gave has failed."""
        task_manager = self._task_managers.pop(instance_id, None)
        if task_manager is None:
            return False, []
        actions: Actions = []
        for slot in task_manager.slots.values():
            if slot.request is not None and slot.request.allocation_id in self._known:
                actions += self._serve(slot.request)
            elif slot.allocation_id is not None and slot.job_id is not None:
                self._known.discard(slot.allocation_id)
                actions.append(NotifyAllocationFailure(slot.job_id, slot.allocation_id, cause))
        return True, actions

    def report_slot_status(self, instance_id: str, report: SlotReport) -> tuple[bool, Actions]:
        """A TaskExecutor says how its slots are; False if it is unknown."""
        task_manager = self._task_managers.get(instance_id)
        if task_manager is None:
            return False, []
        actions: Actions = []
        for status in report.slots:
            slot = task_manager.slots.get(status.slot_index)
            if slot is not None:
                actions += self._reported(slot, status)
        return True, actions

    def slot_assigned(self, assignment: AssignSlot) -> None:
        """The TaskExecutor gave the slot; the job is offered it even if it withdrew the request meanwhile."""
        slot = self._slot(assignment.instance_id, assignment.slot_index)
        if slot is not None and slot.request == assignment.request:
            slot.request = None
            self._occupy(slot, assignment.request.job_id, assignment.request.allocation_id)

    def slot_assignment_failed(self, assignment: AssignSlot, occupied_by: SlotStatus | None = None) -> Actions:
        """The TaskExecutor did not give the slot: the request is served by another one, unless it was withdrawn.

        Args:
            assignment: What was asked.
            occupied_by: Who has the slot, if that is why.
        """
        slot = self._slot(assignment.instance_id, assignment.slot_index)
        if slot is None or slot.request != assignment.request:
            return []
        slot.request = None
        if occupied_by is not None and occupied_by.allocation_id is not None:
            self._occupy(slot, occupied_by.job_id, occupied_by.allocation_id)
        is_wanted = assignment.request.allocation_id in self._known
        return self._serve(assignment.request, avoid=slot) if is_wanted else []

    def free_slot(self, instance_id: str, slot_index: int, allocation_id: str) -> Actions:
        """A TaskExecutor has the slot back; ignored unless it was allocated under that id."""
        slot = self._slot(instance_id, slot_index)
        if slot is None or slot.allocation_id != allocation_id:
            return []
        return self._free(slot)

    def clear(self) -> None:
        """Forget everything: leadership is lost."""
        self._task_managers.clear()
        self._waiting.clear()
        self._known.clear()

    def _slots(self) -> Iterator[_Slot]:
        return (slot for task_manager in self._task_managers.values() for slot in task_manager.slots.values())

    def _slot(self, instance_id: str, slot_index: int) -> _Slot | None:
        task_manager = self._task_managers.get(instance_id)
        return None if task_manager is None else task_manager.slots.get(slot_index)

    def _serve(self, request: SlotRequest, avoid: _Slot | None = None) -> Actions:
        free = next((slot for slot in self._slots() if slot.is_free and slot is not avoid), None)
        if free is None:
            self._waiting[request.allocation_id] = request
            return [AllocateWorkers(1)]
        free.request = request
        return [AssignSlot(free.instance_id, free.slot_index, request)]

    def _free(self, slot: _Slot) -> Actions:
        if slot.allocation_id is not None:
            self._known.discard(slot.allocation_id)
        slot.job_id = slot.allocation_id = None
        if not self._waiting:
            return []
        request = self._waiting.pop(next(iter(self._waiting)))
        slot.request = request
        return [AssignSlot(slot.instance_id, slot.slot_index, request)]

    def _occupy(self, slot: _Slot, job_id: str | None, allocation_id: str) -> None:
        if slot.allocation_id is not None and slot.allocation_id != allocation_id:
            self._known.discard(slot.allocation_id)
        slot.job_id, slot.allocation_id = job_id, allocation_id
        self._known.add(allocation_id)
        self._waiting.pop(allocation_id, None)

    def _reported(self, slot: _Slot, status: SlotStatus) -> Actions:
        if status.allocation_id is None:
            if slot.request is not None:
                return []  # The TaskExecutor was asked after it wrote the report.
            return self._free(slot)
        pending, slot.request = slot.request, None
        self._occupy(slot, status.job_id, status.allocation_id)
        if (
            pending is not None
            and pending.allocation_id != status.allocation_id
            and pending.allocation_id in self._known
        ):
            return self._serve(pending)
        return []
