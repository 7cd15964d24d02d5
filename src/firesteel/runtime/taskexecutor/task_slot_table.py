"""The slots of a TaskExecutor and their tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotStatus
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotAllocationError,
    SlotNotActiveError,
    SlotNotFoundError,
    SlotOccupiedError,
)

__all__ = ["TaskSlot", "TaskSlotState", "TaskSlotTable"]


class TaskSlotState(Enum):
    """The state of a slot. Flink: `runtime.taskexecutor.slot.TaskSlotState`. Free slots are not in the table."""

    ALLOCATED = "ALLOCATED"
    ACTIVE = "ACTIVE"
    RELEASING = "RELEASING"


@dataclass(slots=True, eq=False)
class TaskSlot:
    """A slot allocated to a job.

    Attributes:
        index: Index of the slot.
        job_id: The job.
        allocation_id: The id of the allocation.
        resource_profile: Its share of the TaskExecutor's resources.
        state: ALLOCATED until the JobMaster accepts it, then ACTIVE; RELEASING while its tasks end.
        address: Data address; None until the slot is open.
        open_error: The error of opening it, reported to the JobMaster once connected.
        tasks: Attempt ids of the tasks in it.
        ticket: Incremented with each change of state, so that outdated timeouts are recognised.
    """

    index: int
    job_id: str
    allocation_id: str
    resource_profile: ResourceProfile = ANY
    state: TaskSlotState = TaskSlotState.ALLOCATED
    address: str | None = None
    open_error: str | None = None
    tasks: set[str] = field(default_factory=set)
    ticket: int = 0

    @property
    def offer(self) -> SlotOffer:
        """The offer of the slot."""
        return SlotOffer(self.allocation_id, self.index, self.address or "", self.resource_profile)


MOST_ENDED_TASKS = 20_000
"""Maximum number of ended attempts that a TaskExecutor remembers."""


class TaskSlotTable:
    """The slots of a TaskExecutor. Pure. Flink: `runtime.taskexecutor.slot.TaskSlotTableImpl`.

    Args:
        slots: Number of slots.
        resources: Their total resources; a slot for an UNKNOWN request gets an equal part.
    """

    def __init__(self, slots: int, resources: ResourceProfile = ANY) -> None:
        self._count = slots
        self._resources = self._left = resources
        self._default = resources.split(slots)
        self._slots: dict[int, TaskSlot] = {}
        self._by_allocation: dict[str, TaskSlot] = {}
        self._by_job: dict[str, dict[int, TaskSlot]] = {}
        self._by_task: dict[str, TaskSlot] = {}
        self._ended: dict[str, None] = {}  # Attempts that must not run again, oldest first.

    def allocate(self, index: int, job_id: str, allocation_id: str, wanted: ResourceProfile = UNKNOWN) -> bool:
        """Allocate a slot to a job; return False if the job already has it under this allocation.

        Raises:
            SlotAllocationError: the slot does not exist, the allocation has another one, or resources are insufficient.
            SlotOccupiedError: the slot is allocated to another job.
        """
        if not 0 <= index < self._count:
            raise SlotAllocationError(f"slot {index} does not exist; there are {self._count}, numbered from 0")
        slot = self._slots.get(index)
        if slot is not None:
            if (slot.job_id, slot.allocation_id) == (job_id, allocation_id):
                return False
            raise SlotOccupiedError(SlotStatus(index, slot.job_id, slot.allocation_id, slot.resource_profile))
        if allocation_id in self._by_allocation:
            raise SlotAllocationError(
                f"allocation {allocation_id} already has slot {self._by_allocation[allocation_id].index}"
            )
        profile = self._default if wanted.is_unknown else wanted
        if not self._left.all_fields_no_less_than(profile):
            raise SlotAllocationError(
                f"slot {index} can't have {profile}: {self._left} is left of the {self._resources} of all slots"
            )
        self._left = self._left.subtract(profile)
        slot = TaskSlot(index, job_id, allocation_id, profile)
        self._slots[index] = self._by_allocation[allocation_id] = slot
        self._by_job.setdefault(job_id, {})[index] = slot
        return True

    def get(self, allocation_id: str) -> TaskSlot | None:
        """Return the slot of an allocation."""
        return self._by_allocation.get(allocation_id)

    def mark_slot_active(self, allocation_id: str) -> TaskSlot:
        """Mark a slot as used by its job, which cancels its timeout.

        Raises:
            SlotNotFoundError: no slot has that allocation.
            SlotNotActiveError: it is being released.
        """
        slot = self._existing(allocation_id)
        if slot.state is TaskSlotState.RELEASING:
            raise SlotNotActiveError(allocation_id, slot.state.name)
        if slot.state is not TaskSlotState.ACTIVE:
            self.set_state(slot, TaskSlotState.ACTIVE)
        return slot

    def mark_slot_inactive(self, allocation_id: str) -> TaskSlot:
        """Mark a slot as unused by its job, which starts a new timeout.

        Raises:
            SlotNotFoundError: no slot has that allocation.
        """
        slot = self._existing(allocation_id)
        self.set_state(slot, TaskSlotState.ALLOCATED)
        return slot

    def set_state(self, slot: TaskSlot, state: TaskSlotState) -> None:
        """Change a slot's state, which invalidates earlier timeouts."""
        slot.state = state
        slot.ticket += 1

    def has_timed_out(self, slot: TaskSlot, ticket: int) -> bool:
        """Return whether a timeout with this ticket is still valid."""
        # Timeouts are not cancelled; one of an earlier state, or of an earlier slot, has another ticket.
        return self.get(slot.allocation_id) is slot and slot.ticket == ticket

    def free(self, slot: TaskSlot) -> None:
        """Free a slot and remove its tasks."""
        # It was freed before, and may belong to another job by now.
        if self._slots.get(slot.index) is not slot:
            return
        for attempt_id in slot.tasks:
            self._by_task.pop(attempt_id, None)
        del self._slots[slot.index], self._by_allocation[slot.allocation_id]
        of_job = self._by_job[slot.job_id]
        del of_job[slot.index]
        if not of_job:
            del self._by_job[slot.job_id]
        self._left = self._left.merge(slot.resource_profile)

    def slots_of(self, job_id: str, *states: TaskSlotState) -> list[TaskSlot]:
        """Return a job's slots, in one of `states` if any are given."""
        slots = (slot for _, slot in sorted(self._by_job.get(job_id, {}).items()))
        return [slot for slot in slots if not states or slot.state in states]

    def add_task(self, allocation_id: str, attempt_id: str) -> bool:
        """Add a task to a slot; return False if it is already in a slot, or has ended.

        Raises:
            SlotNotFoundError: no slot has that allocation.
            SlotNotActiveError: the slot is not active.
        """
        slot = self._existing(allocation_id)
        if slot.state is not TaskSlotState.ACTIVE:
            raise SlotNotActiveError(allocation_id, slot.state.name)
        if attempt_id in self._by_task or attempt_id in self._ended:
            return False
        slot.tasks.add(attempt_id)
        self._by_task[attempt_id] = slot
        return True

    def slot_of_task(self, attempt_id: str) -> TaskSlot | None:
        """Return the slot that a task is in."""
        return self._by_task.get(attempt_id)

    def remove_task(self, attempt_id: str) -> None:
        """Remove a task; later submissions of the same attempt are rejected."""
        # A submission that was repeated after a timeout may come later than the end of its task.
        self._ended[attempt_id] = None
        # The oldest one is forgotten: no submission is overtaken by so many others.
        if len(self._ended) > MOST_ENDED_TASKS:
            del self._ended[next(iter(self._ended))]
        slot = self._by_task.pop(attempt_id, None)
        if slot is not None:
            slot.tasks.discard(attempt_id)

    def report(self) -> SlotReport:
        """Return the status of all slots, including free ones."""
        return SlotReport(tuple(self._status(index) for index in range(self._count)))

    def _existing(self, allocation_id: str) -> TaskSlot:
        slot = self._by_allocation.get(allocation_id)
        if slot is None:
            raise SlotNotFoundError(allocation_id, sorted(self._by_allocation))
        return slot

    def _status(self, index: int) -> SlotStatus:
        slot = self._slots.get(index)
        if slot is None:
            return SlotStatus(index, resource_profile=self._default)
        return SlotStatus(index, slot.job_id, slot.allocation_id, slot.resource_profile, len(slot.tasks))
