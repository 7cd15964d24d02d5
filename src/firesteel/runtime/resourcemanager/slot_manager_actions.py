"""Actions of a SlotManager for its ResourceManager."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.resourcemanager.slot_report import SlotRequest

__all__ = [
    "AllocateWorkers",
    "AskIfReleasable",
    "AssignSlot",
    "NotifyAllocationFailure",
    "ReleaseWorker",
    "SlotManagerAction",
]


@dataclass(frozen=True, slots=True)
class AssignSlot:
    """Ask a TaskExecutor to give one of its slots to a job."""

    instance_id: str
    slot_index: int
    request: SlotRequest


@dataclass(frozen=True, slots=True)
class AllocateWorkers:
    """Obtain more workers."""

    workers: int


@dataclass(frozen=True, slots=True)
class NotifyAllocationFailure:
    """Notify a job that a slot it had, or was to get, is lost."""

    job_id: str
    allocation_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class AskIfReleasable:
    """Ask an idle TaskExecutor whether all its results are consumed."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class ReleaseWorker:
    """Release a worker."""

    instance_id: str
    cause: str


SlotManagerAction = AssignSlot | AllocateWorkers | NotifyAllocationFailure | AskIfReleasable | ReleaseWorker
