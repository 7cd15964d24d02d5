"""Which slots there are, and how many each job declares to need."""

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
    """Call `check` after this delay; until then nothing is handed out."""

    delay_s: float = CHECK_DELAY_S


@dataclass(frozen=True, slots=True)
class NotifyNotEnoughResources:
    """Tell a job that no more slots are to be expected for now than those it has, by profile.

    What it declared still holds: slots that come later are its.
    """

    job_id: str
    acquired: tuple[tuple[ResourceProfile, int], ...]


Actions = list[AssignSlot | AllocateWorkers | CheckRequirements | NotifyNotEnoughResources]


@dataclass(frozen=True, slots=True)
class _Declared:
    job_master_address: str
    requirements: dict[ResourceProfile, int]


class DeclarativeSlotManager:
    """All slots of the cluster, for jobs that declare what they need in all. Pure.

    The counterpart of `DeclarativeSlotPool`. Jobs don't ask for slots one by one and don't name them: whatever changes
    is followed by a check, delayed so that several changes have one, which hands out slots until each job has what it
    declared. Flink: `resourcemanager.slotmanager.DeclarativeSlotManager` (1.13 to 1.18), since then
    `FineGrainedSlotManager`. Differs in that idle workers are not given back.

    Args:
        name: Makes allocation ids unique; another one in each leader session.
        options: How slots are handed out.
    """

    def __init__(self, name: str, options: SlotManagerOptions | None = None) -> None:
        self._name = name
        self._options = options or SlotManagerOptions()
        self._numbers = itertools.count()
        self._slots = RegisteredSlots()
        self._declared: dict[str, _Declared] = {}
        self._acquired: dict[str, dict[str, ResourceProfile]] = {}  # job -> allocation id -> what the slot offers
        self._announced = 0
        self._is_check_due = False
        self._notifies = True

    @property
    def slots_free(self) -> int:
        """How many slots nobody has or is about to have."""
        return self._slots.free

    @property
    def slots_pending(self) -> int:
        """How many slots of workers are expected."""
        return self._announced

    def missing(self, job_id: str) -> dict[ResourceProfile, int]:
        """How many slots of each profile a job declared and has not got."""
        declared = self._declared.get(job_id)
        acquired = Counter(self._acquired.get(job_id, {}).values())
        return {} if declared is None else missing_slots(declared.requirements, acquired)

    # What jobs say

    def declare_requirements(self, job_id: str, job_master_address: str, requirements: Requirements) -> Actions:
        """How many slots of each profile a job needs in all, in place of what it declared before; none: it is over."""
        wanted = {profile: count for profile, count in requirements.items() if count}
        if wanted:
            self._declared[job_id] = _Declared(job_master_address, wanted)
        else:
            self._declared.pop(job_id, None)
        return self._check_soon()

    def notify_not_enough(self, notifies: bool) -> Actions:
        """Switch whether jobs are told of slots that can't be had; off while a cluster starts up.

        Flink: `setFailUnfulfillableRequest`.
        """
        self._notifies = notifies
        return self._check_soon() if notifies else []

    def check(self, now_s: float) -> Actions:
        """Hand out what is free, oldest job first; then count on workers that were announced, then ask for more."""
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

    # What TaskExecutors say

    def register_task_manager(self, instance_id: str, report: SlotReport, now_s: float) -> Actions:
        """A TaskExecutor came; one that is known has only sent a report."""
        if instance_id not in self._slots.task_managers:
            task_manager = self._slots.add(instance_id, instance_id, report, now_s)
            offered = sum(slot.profile == self._options.worker_slot for slot in task_manager.slots.values())
            self._announced = max(0, self._announced - offered)
        return self.report_slot_status(instance_id, report, now_s)

    def unregister_task_manager(self, instance_id: str) -> Actions:
        """A TaskExecutor is gone; jobs get other slots for those that they had there."""
        task_manager = self._slots.remove(instance_id)
        if task_manager is None:
            return []
        for slot in task_manager.slots.values():
            self._lose(slot)
        return self._check_soon()

    def report_slot_status(self, instance_id: str, report: SlotReport, now_s: float) -> Actions:
        """A TaskExecutor says how its slots are; a slot that it was asked for stays so until it answers."""
        for status in report.slots:
            slot = self._slots.find(instance_id, status.slot_index)
            if slot is not None and (status.allocation_id is not None or slot.request is None):
                self._set_owner(slot, status, now_s)
        return self._check_soon()

    def free_slot(self, instance_id: str, slot_index: int, allocation_id: str, now_s: float) -> Actions:
        """A TaskExecutor has the slot back; ignored unless it was allocated under that id."""
        slot = self._slots.find(instance_id, slot_index)
        if slot is None or slot.allocation_id != allocation_id:
            return []
        self._set_owner(slot, SlotStatus(slot_index), now_s)
        return self._check_soon()

    def workers_lost(self, workers: int) -> Actions:
        """So many workers that were asked for will not come."""
        self._announced = max(0, self._announced - workers * self._options.slots_per_worker)
        return self._check_soon()

    # Answers to AssignSlot

    def slot_assigned(self, assignment: AssignSlot, now_s: float) -> None:
        """The TaskExecutor gave the slot."""
        slot = self._slots.find(assignment.instance_id, assignment.slot_index)
        if slot is not None and slot.request == assignment.request:
            request = assignment.request
            self._set_owner(slot, SlotStatus(slot.slot_index, request.job_id, request.allocation_id), now_s)

    def slot_assignment_failed(
        self, assignment: AssignSlot, now_s: float, occupied_by: SlotStatus | None = None
    ) -> Actions:
        """The TaskExecutor did not give the slot, because somebody has it or without saying who.

        Nobody gets the slot before the TaskExecutor has reported; the job gets another one.
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

    # How it is done

    def _check_soon(self) -> Actions:
        if self._is_check_due:
            return []
        self._is_check_due = True
        return [CheckRequirements()]

    def _assign(
        self, job_id: str, job_master_address: str, profile: ResourceProfile, count: int, now_s: float
    ) -> list[AssignSlot]:
        """As many free slots as there are, up to `count`."""
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
        """Count on `expected` slots of workers, and on more workers: whether some stay short, and what is left."""
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
        """Whether the maximum of slots allows one more worker."""
        return self._slots.total + self._announced + self._options.slots_per_worker <= self._options.max_slots

    def _set_owner(self, slot: RegisteredSlot, status: SlotStatus, now_s: float) -> None:
        self._lose(slot)
        if status.job_id is None or status.allocation_id is None:
            self._slots.change(slot, now_s)
            return
        self._slots.change(slot, now_s, owner=(status.job_id, status.allocation_id))
        self._acquired.setdefault(status.job_id, {})[status.allocation_id] = slot.profile

    def _lose(self, slot: RegisteredSlot) -> None:
        """Whoever has the slot, or was to get it, has it no longer."""
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
    """How many slots of each required profile are not among the acquired ones.

    A slot serves the requirement that is most particular: those for UNKNOWN take what the others leave, and slots that
    serve everything are taken last.

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
