"""Slots from a job's view, and requests for them."""

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
    """No slot of the cluster, free or occupied, can ever serve the request.

    Flink: `resourcemanager.exceptions.UnfulfillableSlotRequestException`.
    """


class Locality(Enum):
    """The distance of a slot from the preferred location. Flink: `runtime.jobmanager.scheduler.Locality`."""

    UNCONSTRAINED = "UNCONSTRAINED"
    LOCAL = "LOCAL"
    HOST_LOCAL = "HOST_LOCAL"
    NON_LOCAL = "NON_LOCAL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class TaskManagerLocation:
    """The location of a TaskExecutor. Flink: `runtime.taskmanager.TaskManagerLocation`.

    Attributes:
        task_manager_id: The TaskExecutor.
        host: Its host; empty if unknown.
    """

    task_manager_id: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class SlotOffer:
    """A slot that a TaskExecutor offers to a job. Flink: `runtime.taskexecutor.slot.SlotOffer`.

    Attributes:
        allocation_id: The allocation to the job.
        slot_index: Index of the slot in the TaskExecutor.
        address: The slot's data address, opaque.
        resource_profile: Its resources.
    """

    allocation_id: str
    slot_index: int
    address: str = ""
    resource_profile: ResourceProfile = ANY


@dataclass(frozen=True, slots=True)
class AllocatedSlot:
    """A slot of the job. Flink: `runtime.jobmaster.slotpool.AllocatedSlot`.

    Attributes:
        allocation_id: The allocation to the job.
        task_manager_id: The TaskExecutor of the slot.
        slot_index: Index of
        the slot in the TaskExecutor.
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
        """The location of the slot."""
        return TaskManagerLocation(self.task_manager_id, self.host)


@dataclass(frozen=True, slots=True)
class SlotProfile:
    """The resources and locations wanted for a slot. Flink: `clusterframework.types.SlotProfile`.

    Attributes:
        resource_profile: The required resources.
        preferred_locations: The preferred locations; duplicates count.
        preferred_allocations: Previous slots, preferred over all others.
        reserved_allocations: Previous slots of others; never taken unless preferred.
    """

    resource_profile: ResourceProfile = UNKNOWN
    preferred_locations: tuple[TaskManagerLocation, ...] = ()
    preferred_allocations: frozenset[str] = frozenset()
    reserved_allocations: frozenset[str] = frozenset()


ANYWHERE = SlotProfile()
