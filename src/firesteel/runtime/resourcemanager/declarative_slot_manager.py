"""A slot manager for jobs that declare how many slots they need."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from firesteel.runtime.resourcemanager.registered_slots import RegisteredSlot, RegisteredSlots
from firesteel.runtime.resourcemanager.slot_manager_actions import AllocateWorkers, AssignSlot
from firesteel.runtime.resourcemanager.slot_manager_options import SlotManagerOptions
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest, SlotStatus
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["CheckRequirements", "DeclarativeSlotManager", "NotifyNotEnoughResources", "missing_slots"]

Requirements = Mapping[ResourceProfile, int]

CHECK_DELAY_S = 0.05
"""Flink: `slotmanager.requirement-check.delay`."""


@dataclass(frozen=True, slots=True)
class CheckRequirements:
    """An action: call `check` after this delay; no slots are assigned until then."""

    delay_s: float = CHECK_DELAY_S


@dataclass(frozen=True, slots=True)
class NotifyNotEnoughResources:
    """An action: notify a job that no more slots than its current ones, by profile, are available for now.

    Its declaration stays valid: it gets slots that become available later.
    """

    job_id: str
    acquired: tuple[tuple[ResourceProfile, int], ...]


Actions = list[AssignSlot | AllocateWorkers | CheckRequirements | NotifyNotEnoughResources]


@dataclass(frozen=True, slots=True)
class _Declared:
    job_master_address: str
    requirements: dict[ResourceProfile, int]


class DeclarativeSlotManager:
    """The slots of the cluster, for jobs that declare their total requirements. Pure.

    The counterpart of `DeclarativeSlotPool`. Jobs do not request or name individual slots: each change is followed by a
    check, delayed so that several changes share one, which assigns slots until each job has as many as it declared.
    Flink: `resourcemanager.slotmanager.DeclarativeSlotManager` (1.13 to 1.18), since then
    `FineGrainedSlotManager`. Unlike in Flink, idle workers are not released.

    Args:
        name: Makes allocation ids unique; different in each leader session.
        options: Options of the slot assignment.
    """

    def __init__(self, name: str, options: SlotManagerOptions | None = None) -> None:
        self._name = name
        self._options = options or SlotManagerOptions()
        self._numbers = itertools.count()
        self._slots = RegisteredSlots()
        self._declared: dict[str, _Declared] = {}
        self._acquired: dict[str, dict[str, ResourceProfile]] = {}  # job -> allocation id -> profile of the slot
        self._announced = 0
        self._is_check_due = False
        self._notifies = True

    @property
    def slots_free(self) -> int:
        """The number of slots that are neither assigned nor being assigned."""
        return self._slots.free

    @property
    def slots_pending(self) -> int:
        """The number of expected slots of requested workers."""
        return self._announced

    def missing(self, job_id: str) -> dict[ResourceProfile, int]:
        """Return the number of slots of each profile that a job declared but does not have."""
        declared = self._declared.get(job_id)
        acquired = Counter(self._acquired.get(job_id, {}).values())
        return {} if declared is None else missing_slots(declared.requirements, acquired)

    # Calls of jobs

    def declare_requirements(self, job_id: str, job_master_address: str, requirements: Requirements) -> Actions:
        """Set how many slots of each profile a job needs in total; none if it has ended."""
        wanted = {profile: count for profile, count in requirements.items() if count}
        if wanted:
            self._declared[job_id] = _Declared(job_master_address, wanted)
        else:
            self._declared.pop(job_id, None)
        return self._check_soon()

    def notify_not_enough(self, notifies: bool) -> Actions:
        """Enable or disable notifications about unavailable slots; disabled while a cluster starts up.

        Flink: `setFailUnfulfillableRequest`.
        """
        self._notifies = notifies
        return self._check_soon() if notifies else []

    def check(self, now_s: float) -> Actions:
        """Assign free slots, oldest job first; then count on requested workers, then request more."""
        self._is_check_due = False
        actions: Actions = []
        expected, before = self._announced, self._announced
        for job_id, declared in self._declared.items():
            missing = self.missing(job_id)
            for profile, count in missing.items():
                assigned = self._assign(job_id, declared.job_master_address, profile, count, now_s)
                actions += assigned
                missing[profile] = count - len(assigned)
            short, expected = self._expect(missing, expected)
            if short and self._notifies:
                acquired = Counter(self._acquired.get(job_id, {}).values())
                actions.append(NotifyNotEnoughResources(job_id, tuple(acquired.items())))
        workers = (self._announced - before) // self._options.slots_per_worker
        return [AllocateWorkers(workers), *actions] if workers else actions

    # Reports of TaskExecutors

    def register_task_manager(self, instance_id: str, report: SlotReport, now_s: float) -> Actions:
        """Register a TaskExecutor; for a known one, only process its report."""
        if instance_id not in self._slots.task_managers:
            task_manager = self._slots.add(instance_id, instance_id, report, now_s)
            offered = sum(slot.profile == self._options.worker_slot for slot in task_manager.slots.values())
            self._announced = max(0, self._announced - offered)
        return self.report_slot_status(instance_id, report, now_s)

    def unregister_task_manager(self, instance_id: str) -> Actions:
        """Remove a lost TaskExecutor; its jobs get other slots."""
        task_manager = self._slots.remove(instance_id)
        if task_manager is None:
            return []
        for slot in task_manager.slots.values():
            self._lose(slot)
        return self._check_soon()

    def report_slot_status(self, instance_id: str, report: SlotReport, now_s: float) -> Actions:
        """Process a TaskExecutor's report; slots being assigned stay so until it answers."""
        for status in report.slots:
            slot = self._slots.find(instance_id, status.slot_index)
            if slot is not None and (status.allocation_id is not None or slot.request is None):
                self._set_owner(slot, status, now_s)
        return self._check_soon()

    def free_slot(self, instance_id: str, slot_index: int, allocation_id: str, now_s: float) -> Actions:
        """Free a slot that a TaskExecutor has back, if it was allocated under this id."""
        slot = self._slots.find(instance_id, slot_index)
        if slot is None or slot.allocation_id != allocation_id:
            return []
        self._set_owner(slot, SlotStatus(slot_index), now_s)
        return self._check_soon()

    def workers_lost(self, workers: int) -> Actions:
        """Note that `workers` requested workers will not arrive."""
        self._announced = max(0, self._announced - workers * self._options.slots_per_worker)
        return self._check_soon()

    # Answers to AssignSlot

    def slot_assigned(self, assignment: AssignSlot, now_s: float) -> None:
        """Process that the TaskExecutor assigned the slot."""
        slot = self._slots.find(assignment.instance_id, assignment.slot_index)
        if slot is not None and slot.request == assignment.request:
            request = assignment.request
            self._set_owner(slot, SlotStatus(slot.slot_index, request.job_id, request.allocation_id), now_s)

    def slot_assignment_failed(
        self, assignment: AssignSlot, now_s: float, occupied_by: SlotStatus | None = None
    ) -> Actions:
        """Process that the TaskExecutor did not assign the slot, with its occupant if known.

        The slot is not assigned again before the TaskExecutor's next report; the job gets another one.
        """
        slot = self._slots.find(assignment.instance_id, assignment.slot_index)
        if slot is None or slot.request != assignment.request:
            return []
        if occupied_by is not None:
            self._set_owner(slot, occupied_by, now_s)
        else:
            self._lose(slot)
            self._slots.change(slot, now_s, withhold=True)
        return self._check_soon()

    # Implementation

    def _check_soon(self) -> Actions:
        if self._is_check_due:
            return []
        self._is_check_due = True
        return [CheckRequirements()]

    def _assign(
        self, job_id: str, job_master_address: str, profile: ResourceProfile, count: int, now_s: float
    ) -> list[AssignSlot]:
        """Return assignments of up to `count` free slots."""
        assigned: list[AssignSlot] = []
        while len(assigned) < count:
            slot = self._slots.matching(profile, self._options.spreads_out)
            if slot is None:
                break
            request = SlotRequest(job_id, f"{self._name}-{next(self._numbers)}", job_master_address, profile)
            self._slots.change(slot, now_s, request=request)
            self._acquired.setdefault(job_id, {})[request.allocation_id] = slot.profile
            assigned.append(AssignSlot(slot.task_manager.instance_id, slot.slot_index, request))
        return assigned

    def _expect(self, missing: Requirements, expected: int) -> tuple[bool, int]:
        """Count on `expected` slots of workers and request more; return whether some are short, and what is left."""
        worker_slot, per_worker = self._options.worker_slot, self._options.slots_per_worker
        is_short = False
        for profile, count in missing.items():
            if worker_slot is None or not worker_slot.is_matching(profile):
                is_short = is_short or count > 0
                continue
            while expected < count and self._has_room():
                self._announced += per_worker
                expected += per_worker
            is_short = is_short or expected < count
            expected = max(0, expected - count)
        return is_short, expected

    def _has_room(self) -> bool:
        """Return whether the maximum number of slots allows another worker."""
        return self._slots.total + self._announced + self._options.slots_per_worker <= self._options.max_slots

    def _set_owner(self, slot: RegisteredSlot, status: SlotStatus, now_s: float) -> None:
        self._lose(slot)
        if status.job_id is None or status.allocation_id is None:
            self._slots.change(slot, now_s)
            return
        self._slots.change(slot, now_s, owner=(status.job_id, status.allocation_id))
        self._acquired.setdefault(status.job_id, {})[status.allocation_id] = slot.profile

    def _lose(self, slot: RegisteredSlot) -> None:
        """Remove a slot from the job that has it or was to get it."""
        request = slot.request
        job_id, allocation_id = (
            (slot.job_id, slot.allocation_id) if request is None else (request.job_id, request.allocation_id)
        )
        if job_id is not None and allocation_id is not None:
            of_job = self._acquired.get(job_id, {})
            of_job.pop(allocation_id, None)
            if not of_job:
                self._acquired.pop(job_id, None)


def missing_slots(required: Requirements, acquired: Requirements) -> dict[ResourceProfile, int]:
    """Return how many slots of each required profile are not among the acquired ones.

    A slot serves the most specific requirement: UNKNOWN requirements take what others leave, and ANY slots are used
    last.

    Example:
        >>> from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN
        >>> small = ResourceProfile(cpu_cores=1)
        >>> missing_slots({UNKNOWN: 2, small: 1}, {small: 1, ANY: 1}) == {UNKNOWN: 1}
        True
    """
    left, missing = dict(acquired), {}
    for wanted in sorted(required, key=lambda profile: profile.is_unknown):
        count = required[wanted]
        for offered in sorted(left, key=lambda profile: profile.is_any):
            if offered.is_matching(wanted):
                taken = min(count, left[offered])
                left[offered] -= taken
                count -= taken
        if count:
            missing[wanted] = count
    return missing
