"""The slots of a TaskExecutor, and the tasks in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotStatus
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.task_executor_gateway import SlotAllocationError, SlotOccupiedError

__all__ = ["TaskSlot", "TaskSlotState", "TaskSlotTable"]


class TaskSlotState(Enum):
    """State of a slot. Flink: `runtime.taskexecutor.slot.TaskSlotState`. A free slot is not in the table."""

    ALLOCATED = "ALLOCATED"
    ACTIVE = "ACTIVE"
    RELEASING = "RELEASING"


@dataclass(slots=True)
class TaskSlot:
    """A slot that is given to a job.

    Attributes:
        index: Which slot.
        job_id: The job.
        allocation_id: What it is known under.
        state: ALLOCATED until the JobMaster accepts it, then ACTIVE; RELEASING while its tasks end.
        address: Data address; None until the slot is open.
        open_error: Why it can't be opened; the JobMaster is told as soon as there is a connection to it.
        tasks: Attempt ids of the tasks in it.
        ticket: Grows with each change of state, so that a late timeout is known as such.
    """

    index: int
    job_id: str
    allocation_id: str
    state: TaskSlotState = TaskSlotState.ALLOCATED
    address: str | None = None
    open_error: str | None = None
    tasks: set[str] = field(default_factory=set)
    ticket: int = 0

    @property
    def offer(self) -> SlotOffer:
        """The slot as it is offered."""
        return SlotOffer(self.allocation_id, self.index, self.address or "")


class TaskSlotTable:
    """The slots of a TaskExecutor. Pure. Flink: `runtime.taskexecutor.slot.TaskSlotTableImpl`."""

    def __init__(self, slots: int) -> None:
        self._count = slots
        self._slots: dict[int, TaskSlot] = {}
        self._by_allocation: dict[str, TaskSlot] = {}
        self._by_task: dict[str, TaskSlot] = {}

    def allocate(self, index: int, job_id: str, allocation_id: str) -> bool:
        """Give a slot to a job; False if it has it already under that allocation.

        Raises:
            SlotAllocationError: there is no such slot, or the allocation has another one.
            SlotOccupiedError: the slot belongs to somebody else.
        """
        if not 0 <= index < self._count:
            raise SlotAllocationError(f"there is no slot {index}; there are {self._count}, counted from 0")
        slot = self._slots.get(index)
        if slot is not None:
            if (slot.job_id, slot.allocation_id) == (job_id, allocation_id):
                return False
            raise SlotOccupiedError(SlotStatus(index, slot.job_id, slot.allocation_id))
        if allocation_id in self._by_allocation:
            raise SlotAllocationError(f"allocation {allocation_id} has slot {self._by_allocation[allocation_id].index}")
        slot = TaskSlot(index, job_id, allocation_id)
        self._slots[index] = self._by_allocation[allocation_id] = slot
        return True

    def get(self, allocation_id: str) -> TaskSlot | None:
        """The slot of an allocation."""
        return self._by_allocation.get(allocation_id)

    def set_state(self, slot: TaskSlot, state: TaskSlotState) -> None:
        """Change a slot's state."""
        slot.state = state
        slot.ticket += 1

    def free(self, slot: TaskSlot) -> None:
        """Make a slot free; what ran in it is forgotten."""
        for attempt_id in slot.tasks:
            self._by_task.pop(attempt_id, None)
        self._slots.pop(slot.index, None)
        self._by_allocation.pop(slot.allocation_id, None)

    def slots_of(self, job_id: str, *states: TaskSlotState) -> list[TaskSlot]:
        """A job's slots, in one of `states` if any are given."""
        slots = (self._slots[index] for index in sorted(self._slots))
        return [slot for slot in slots if slot.job_id == job_id and (not states or slot.state in states)]

    def add_task(self, slot: TaskSlot, attempt_id: str) -> bool:
        """Put a task into a slot; False if it is in one already."""
        if attempt_id in self._by_task:
            return False
        slot.tasks.add(attempt_id)
        self._by_task[attempt_id] = slot
        return True

    def slot_of_task(self, attempt_id: str) -> TaskSlot | None:
        """The slot that a task is in."""
        return self._by_task.get(attempt_id)

    def remove_task(self, attempt_id: str) -> None:
        """Take a task out; unknown ones are ignored."""
        slot = self._by_task.pop(attempt_id, None)
        if slot is not None:
            slot.tasks.discard(attempt_id)

    def report(self) -> SlotReport:
        """All slots, the free ones too."""
        return SlotReport(tuple(self._status(index) for index in range(self._count)))

    def _status(self, index: int) -> SlotStatus:
        slot = self._slots.get(index)
        return SlotStatus(index) if slot is None else SlotStatus(index, slot.job_id, slot.allocation_id)
