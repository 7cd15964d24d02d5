"""A slot as a job sees it, and what a job asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from firesteel.errors import FiresteelError
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile

__all__ = [
    "ANYWHERE",
    "AllocatedSlot",
    "Locality",
    "SlotOffer",
    "SlotProfile",
    "TaskManagerLocation",
    "UnfulfillableSlotRequestError",
]


class UnfulfillableSlotRequestError(FiresteelError):
    """No slot of the cluster could ever serve the request, not even one that is occupied now.

    Flink: `resourcemanager.exceptions.UnfulfillableSlotRequestException`.
    """


class Locality(Enum):
    """How near a slot is to where a task wanted to run. Flink: `runtime.jobmanager.scheduler.Locality`."""

    UNCONSTRAINED = "UNCONSTRAINED"
    LOCAL = "LOCAL"
    HOST_LOCAL = "HOST_LOCAL"
    NON_LOCAL = "NON_LOCAL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class TaskManagerLocation:
    """Where a TaskExecutor is. Flink: `runtime.taskmanager.TaskManagerLocation`.

    Attributes:
        task_manager_id: The TaskExecutor.
        host: Its host; empty if that is not known.
    """

    task_manager_id: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class SlotOffer:
    """A slot that a TaskExecutor offers to a job. Flink: `runtime.taskexecutor.slot.SlotOffer`.

    Attributes:
        allocation_id: The allocation it was given to the job under.
        slot_index: Which of the TaskExecutor's slots.
        address: The slot's data address, opaque.
        resource_profile: What it offers.
    """

    allocation_id: str
    slot_index: int
    address: str = ""
    resource_profile: ResourceProfile = ANY


@dataclass(frozen=True, slots=True)
class AllocatedSlot:
    """A slot that the job has. Flink: `runtime.jobmaster.slotpool.AllocatedSlot`.

    Attributes:
        allocation_id: The allocation it was given to the job under.
        task_manager_id: Whose slot it is.
        slot_index: Which of that TaskExecutor's slots.
        address: Its data address, opaque.
        resource_profile: What it offers.
        host: Where the TaskExecutor is; empty if that is not known.
    """

    allocation_id: str
    task_manager_id: str
    slot_index: int
    address: str
    resource_profile: ResourceProfile = ANY
    host: str = ""

    @property
    def location(self) -> TaskManagerLocation:
        """Where it is."""
        return TaskManagerLocation(self.task_manager_id, self.host)


@dataclass(frozen=True, slots=True)
class SlotProfile:
    """What slot is wanted, and where. Flink: `clusterframework.types.SlotProfile`.

    Attributes:
        resource_profile: What it has to offer.
        preferred_locations: Where it should be; a place that is named twice counts twice.
        preferred_allocations: Slots to be had again, before all others.
        reserved_allocations: Slots that others are to have again; never taken unless preferred.
    """

    resource_profile: ResourceProfile = UNKNOWN
    preferred_locations: tuple[TaskManagerLocation, ...] = ()
    preferred_allocations: frozenset[str] = frozenset()
    reserved_allocations: frozenset[str] = frozenset()


ANYWHERE = SlotProfile()
