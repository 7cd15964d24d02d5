"""What a SlotManager asks its ResourceManager to do."""

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
    """Obtain so many more workers."""

    workers: int


@dataclass(frozen=True, slots=True)
class NotifyAllocationFailure:
    """Tell a job that a slot it had, or was to have, is gone."""

    job_id: str
    allocation_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class AskIfReleasable:
    """Ask an idle TaskExecutor whether all its results are consumed."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class ReleaseWorker:
    """Give a worker back."""

    instance_id: str
    cause: str


SlotManagerAction = AssignSlot | AllocateWorkers | NotifyAllocationFailure | AskIfReleasable | ReleaseWorker
