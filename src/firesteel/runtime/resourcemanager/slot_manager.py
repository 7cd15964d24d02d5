"""A slot manager for individual slot requests: all slots, free slots, and waiting requests."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.errors import FiresteelError
from firesteel.runtime.resourcemanager.pending_slots import PendingSlots
from firesteel.runtime.resourcemanager.registered_slots import RegisteredSlot, RegisteredSlots, RegisteredTaskManager
from firesteel.runtime.resourcemanager.slot_manager_actions import (
    AllocateWorkers,
    AskIfReleasable,
    AssignSlot,
    NotifyAllocationFailure,
    ReleaseWorker,
    SlotManagerAction,
)
from firesteel.runtime.resourcemanager.slot_manager_options import SlotManagerOptions
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest, SlotStatus
from firesteel.runtime.slotpool.slot import UnfulfillableSlotRequestError

__all__ = ["SlotManager", "SlotManagerNotStartedError"]

Actions = list[SlotManagerAction]


class SlotManagerNotStartedError(FiresteelError, RuntimeError):
    """The SlotManager is not started, as its ResourceManager does not lead."""


class SlotManager:
    """All slots of the cluster. Pure. Flink: `resourcemanager.slotmanager.SlotManagerImpl` (1.12, request driven).

    A request is in exactly one state: promised a pending slot, waiting, being assigned by a TaskExecutor, or fulfilled.
    Times are seconds of the caller's clock.

    Args:
        options: Options of the slot assignment.

    Attributes:
        fails_unfulfillable: Whether a request that no slot can ever serve fails at once instead of waiting.
    """

    def __init__(self, options: SlotManagerOptions | None = None) -> None:
        self.options = options or SlotManagerOptions()
        self.fails_unfulfillable = True
        self._is_started = False
        self._reset()

    def _reset(self) -> None:
        self._slots = RegisteredSlots()
        self._pending = PendingSlots()
        self._waiting: dict[str, SlotRequest] = {}  # allocation id -> request without a slot, oldest first
        self._since_s: dict[str, float] = {}  # allocation id -> time of the request, until it is fulfilled
        self._asked: dict[str, RegisteredSlot] = {}  # allocation id -> the slot that is being assigned
        self._known: set[str] = set()  # allocation ids waiting, being assigned or fulfilled

    # --- life and figures --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start to serve requests."""
        self._is_started = True

    def suspend(self) -> None:
        """Discard requests and TaskExecutors after the loss of leadership."""
        self._is_started = False
        self._reset()

    @property
    def slots_total(self) -> int:
        """The number of registered slots."""
        return self._slots.total

    @property
    def slots_free(self) -> int:
        """The number of slots that are neither assigned nor being assigned."""
        return self._slots.free

    def jobs_of_slots(self, instance_id: str) -> tuple[str | None, ...]:
        """Return the job of each slot of a TaskExecutor, None for free slots."""
        task_manager = self._slots.task_managers.get(instance_id)
        return () if task_manager is None else tuple(slot.job_id for slot in task_manager.slots.values())

    @property
    def slots_pending(self) -> int:
        """The number of pending slots of requested workers."""
        return len(self._pending)

    @property
    def slots_wanted(self) -> int:
        """The number of requests that wait for a slot."""
        return len(self._waiting)

    # --- requests ----------------------------------------------------------------------------------------------------

    def register_slot_request(self, request: SlotRequest, now_s: float) -> tuple[bool, Actions]:
        """Register a job's request for a slot; return False if the allocation is already known.

        Raises:
            SlotManagerNotStartedError: the SlotManager is not started.
            UnfulfillableSlotRequestError: no slot can ever serve it.
        """
        self._check_started()
        if request.allocation_id in self._known:
            return False, []
        self._known.add(request.allocation_id)
        self._since_s[request.allocation_id] = now_s
        actions = self._serve(request, now_s)
        if self._is_unfulfillable(request):
            self._forget(request.allocation_id)
            raise UnfulfillableSlotRequestError(self._unfulfillable_text(request))
        return True, actions

    def unregister_slot_request(self, allocation_id: str) -> bool:
        """Cancel a request; return False if it is unknown or already fulfilled."""
        self._check_started()
        if allocation_id not in self._since_s:
            return False
        # A slot that is being assigned stays PENDING until its TaskExecutor answers.
        self._forget(allocation_id)
        return True

    def fail_unfulfillable(self, fails: bool) -> Actions:
        """Set whether unfulfillable requests fail; waiting ones fail at once.

        Flink: `setFailUnfulfillableRequest`; off while a standalone cluster starts up.
        """
        self.fails_unfulfillable = fails
        hopeless = [request for request in self._waiting.values() if self._is_unfulfillable(request)]
        return [self._give_up(request, self._unfulfillable_text(request)) for request in hopeless]

    def check_request_timeouts(self, now_s: float) -> Actions:
        """Fail requests that have timed out."""
        actions: Actions = []
        timeout_s = self.options.request_timeout_s
        for allocation_id, since_s in list(self._since_s.items()):  # oldest first
            if now_s - since_s < timeout_s:
                break
            cause = f"no slot was found for the request within {timeout_s:g} s (slot.request.timeout)"
            actions.append(self._give_up(self._request(allocation_id), cause))
        return actions

    # --- TaskExecutors -----------------------------------------------------------------------------------------------

    def register_task_manager(
        self, instance_id: str, report: SlotReport, now_s: float, resource_id: str = ""
    ) -> tuple[bool, Actions]:
        """Register a TaskExecutor; return False if it is known, or if there are too many slots.

        Args:
            instance_id: The id of this registration.
            report: Its slots.
            now_s: The time.
            resource_id: The id of the TaskExecutor; an earlier instance with this id is removed.
        """
        self._check_started()
        if instance_id in self._slots.task_managers:
            return False, self.report_slot_status(instance_id, report, now_s)[1]
        actions: Actions = []
        former = [one for one in self._slots.task_managers.values() if resource_id and one.resource_id == resource_id]
        for one in former:
            actions += self.unregister_task_manager(one.instance_id, "its TaskExecutor registered anew", now_s)[1]
        if self._exceeds_maximum(report):
            cause = f"its slots would exceed slotmanager.number-of-slots.max, which is {self.options.max_slots:g}"
            return False, [*actions, ReleaseWorker(instance_id, cause)]
        task_manager = self._slots.add(instance_id, resource_id or instance_id, report, now_s)
        for status in report.slots:
            actions += self._came(task_manager.slots[status.slot_index], status, now_s)
        return True, actions

    def unregister_task_manager(self, instance_id: str, cause: str, now_s: float) -> tuple[bool, Actions]:
        """Remove a lost TaskExecutor: reassign its pending requests, and fail its allocations."""
        self._check_started()
        task_manager = self._slots.remove(instance_id)
        if task_manager is None:
            return False, []
        actions: Actions = []
        for slot in task_manager.slots.values():
            if slot.request is not None and self._asked.pop(slot.request.allocation_id, None) is not None:
                actions += self._serve_or_fail(slot.request, now_s)
            elif slot.allocation_id is not None and slot.job_id is not None:
                self._known.discard(slot.allocation_id)
                actions.append(NotifyAllocationFailure(slot.job_id, slot.allocation_id, cause))
        return True, actions

    def report_slot_status(self, instance_id: str, report: SlotReport, now_s: float) -> tuple[bool, Actions]:
        """Process a TaskExecutor's report of its slots; return False if it is unknown."""
        task_manager = self._slots.task_managers.get(instance_id)
        if task_manager is None:
            return False, []
        actions: Actions = []
        for status in report.slots:
            slot = task_manager.slots.get(status.slot_index)
            if slot is not None:
                actions += self._reported(slot, status, now_s)
        return True, actions

    def free_slot(self, instance_id: str, slot_index: int, allocation_id: str, now_s: float) -> Actions:
        """Free a slot that a TaskExecutor has back, if it was allocated under this id."""
        slot = self._slots.find(instance_id, slot_index)
        if slot is None or slot.allocation_id != allocation_id:
            return []
        return self._free(slot, now_s)

    def workers_lost(self, workers: int, now_s: float) -> Actions:
        """Note that `workers` requested workers will not arrive, and serve their requests again."""
        promised = self._pending.forget(workers * self.options.slots_per_worker)
        return [action for one in promised for action in self._serve_or_fail(self._waiting.pop(one), now_s)]

    # --- answers to AssignSlot ---------------------------------------------------------------------------------------

    def slot_assigned(self, assignment: AssignSlot, now_s: float) -> None:
        """Process that the TaskExecutor assigned the slot, even if the request was cancelled meanwhile."""
        slot = self._slots.find(assignment.instance_id, assignment.slot_index)
        if slot is not None and slot.request == assignment.request:
            self._occupy(slot, assignment.request.job_id, assignment.request.allocation_id, now_s)

    def slot_assignment_failed(
        self, assignment: AssignSlot, now_s: float, occupied_by: SlotStatus | None = None
    ) -> Actions:
        """Process a failed assignment: another slot serves the request, unless it was cancelled.

        The slot is then free, but it is not assigned again before the TaskExecutor's next report.

        Args:
            assignment: The failed assignment.
            now_s: The time.
            occupied_by: The occupant of the slot, if that is the reason.
        """
        slot = self._slots.find(assignment.instance_id, assignment.slot_index)
        if slot is None or slot.request != assignment.request:
            return []
        is_wanted = self._asked.pop(assignment.request.allocation_id, None) is not None
        if occupied_by is not None and occupied_by.allocation_id is not None:
            self._occupy(slot, occupied_by.job_id, occupied_by.allocation_id, now_s)
            return self._serve_or_fail(assignment.request, now_s) if is_wanted else []
        # The answer may be lost and the slot taken: only the TaskExecutor's report tells.
        self._slots.change(slot, now_s, withhold=True)
        return self._serve_or_fail(assignment.request, now_s) if is_wanted else []

    # --- idle workers ------------------------------------------------------------------------------------------------

    def check_idle(self, now_s: float) -> Actions:
        """Release workers that were idle for too long, except redundant ones while something runs."""
        timed_out = [
            one
            for one in self._slots.task_managers.values()
            if one.idle_since_s is not None and now_s - one.idle_since_s >= self.options.idle_timeout_s
        ]
        # Nothing runs, so the redundant workers are released as well, as in Flink.
        if self._slots.free == self._slots.total:
            return self._release(timed_out)
        per_worker = self.options.slots_per_worker
        spare = self._slots.free - self.options.redundant_workers * per_worker
        if spare >= 0:
            return self._release(timed_out[: spare // per_worker])
        return self._obtain(-((spare + self._pending.unassigned) // per_worker))

    def releasable(self, instance_id: str, is_releasable: bool, now_s: float) -> Actions:
        """Process a TaskExecutor's answer to `AskIfReleasable`; it may have been assigned a slot meanwhile."""
        task_manager = self._slots.task_managers.get(instance_id)
        if task_manager is None or task_manager.idle_since_s is None or not is_releasable:
            return []
        if now_s - task_manager.idle_since_s < self.options.idle_timeout_s:
            return []
        return [ReleaseWorker(instance_id, self._idle_cause())]

    def _release(self, task_managers: Sequence[RegisteredTaskManager]) -> Actions:
        if self.options.worker_slot is None:
            return []  # Workers are released by the framework that started them.
        if self.options.waits_for_results:
            return [AskIfReleasable(one.instance_id) for one in task_managers]
        return [ReleaseWorker(one.instance_id, self._idle_cause()) for one in task_managers]

    def _idle_cause(self) -> str:
        return f"it was idle for {self.options.idle_timeout_s:g} s (resourcemanager.taskmanager-timeout)"

    # --- assignment of slots to requests -----------------------------------------------------------------------------

    def _serve(self, request: SlotRequest, now_s: float) -> Actions:
        """Serve a request with a free slot, else a pending one, else one of a new worker; else let it wait."""
        slot = self._slots.matching(request.resource_profile, self.options.spreads_out)
        if slot is not None:
            return [self._ask_for(slot, request, now_s)]
        self._waiting[request.allocation_id] = request
        if self._pending.assign(request.allocation_id, request.resource_profile):
            return []
        worker_slot = self.options.worker_slot
        if worker_slot is None or not worker_slot.is_matching(request.resource_profile):
            return []
        actions = self._obtain(1)
        self._pending.assign(request.allocation_id, request.resource_profile)
        return actions

    def _serve_or_fail(self, request: SlotRequest, now_s: float) -> Actions:
        actions = self._serve(request, now_s)
        if self._is_unfulfillable(request):
            actions.append(self._give_up(request, self._unfulfillable_text(request)))
        return actions

    def _give_up(self, request: SlotRequest, cause: str) -> NotifyAllocationFailure:
        self._forget(request.allocation_id)
        return NotifyAllocationFailure(request.job_id, request.allocation_id, cause)

    def _obtain(self, workers: int) -> Actions:
        """Request workers, up to the maximum number of slots."""
        worker_slot, per_worker = self.options.worker_slot, self.options.slots_per_worker
        room = (self.options.max_slots - self._slots.total - len(self._pending)) // per_worker
        allowed = int(min(workers, max(room, 0)))
        if worker_slot is None or allowed <= 0:
            return []
        self._pending.announce(worker_slot, allowed * per_worker)
        return [AllocateWorkers(allowed)]

    def _is_unfulfillable(self, request: SlotRequest) -> bool:
        """Return whether a waiting request can never be served."""
        wanted = request.resource_profile
        if not self.fails_unfulfillable or request.allocation_id not in self._waiting:
            return False
        worker_slot = self.options.worker_slot
        could_come = worker_slot is not None and worker_slot.is_matching(wanted)
        could_come = could_come and self.options.max_slots >= self.options.slots_per_worker
        return not could_come and not self._slots.could_match(wanted)

    def _unfulfillable_text(self, request: SlotRequest) -> str:
        task_managers = self._slots.task_managers.values()
        profiles = sorted({str(slot.profile) for one in task_managers for slot in one.slots.values()})
        return (
            f"no slot can ever serve the request of job {request.job_id} for {request.resource_profile}: "
            f"registered slots offer {', '.join(profiles) or 'nothing, as there are none'}"
        )

    def _ask_for(self, slot: RegisteredSlot, request: SlotRequest, now_s: float) -> AssignSlot:
        self._slots.change(slot, now_s, request=request)
        self._asked[request.allocation_id] = slot
        return AssignSlot(slot.task_manager.instance_id, slot.slot_index, request)

    def _free(self, slot: RegisteredSlot, now_s: float) -> Actions:
        """Free a slot: it serves the oldest waiting request that it matches."""
        if slot.allocation_id is not None:
            self._known.discard(slot.allocation_id)
        self._slots.change(slot, now_s)
        matching = (request for request in self._waiting.values() if slot.profile.is_matching(request.resource_profile))
        request = next(matching, None)
        if request is None:
            return []
        del self._waiting[request.allocation_id]
        self._pending.unassign(request.allocation_id)
        return [self._ask_for(slot, request, now_s)]

    def _occupy(self, slot: RegisteredSlot, job_id: str | None, allocation_id: str, now_s: float) -> None:
        if slot.allocation_id is not None and slot.allocation_id != allocation_id:
            self._known.discard(slot.allocation_id)
        self._slots.change(slot, now_s, owner=(job_id, allocation_id))
        self._known.add(allocation_id)
        self._fulfilled(allocation_id)

    def _fulfilled(self, allocation_id: str) -> None:
        self._waiting.pop(allocation_id, None)
        self._pending.unassign(allocation_id)
        self._asked.pop(allocation_id, None)
        self._since_s.pop(allocation_id, None)

    def _forget(self, allocation_id: str) -> None:
        self._fulfilled(allocation_id)
        self._known.discard(allocation_id)

    def _request(self, allocation_id: str) -> SlotRequest:
        waiting = self._waiting.get(allocation_id)
        if waiting is not None:
            return waiting
        asked = self._asked[allocation_id].request
        assert asked is not None, "a slot that is asked for has the request"
        return asked

    # --- reports of TaskExecutors ------------------------------------------------------------------------------------

    def _came(self, slot: RegisteredSlot, status: SlotStatus, now_s: float) -> Actions:
        """Add a slot of a new TaskExecutor; a pending one serves the request that it was promised to."""
        if status.allocation_id is not None:
            self._occupy(slot, status.job_id, status.allocation_id, now_s)
            return []
        promised_to = self._pending.come(slot.profile)
        if promised_to is None:
            return self._free(slot, now_s)
        return [self._ask_for(slot, self._waiting.pop(promised_to), now_s)]

    def _reported(self, slot: RegisteredSlot, status: SlotStatus, now_s: float) -> Actions:
        if status.allocation_id is None:
            if slot.request is not None:
                return []  # The slot was requested after the TaskExecutor wrote the report.
            return self._free(slot, now_s)
        request = slot.request
        if request is None or request.allocation_id == status.allocation_id:
            self._occupy(slot, status.job_id, status.allocation_id, now_s)
            return []
        is_wanted = self._asked.pop(request.allocation_id, None) is not None
        self._occupy(slot, status.job_id, status.allocation_id, now_s)
        return self._serve_or_fail(request, now_s) if is_wanted else []

    def _exceeds_maximum(self, report: SlotReport) -> bool:
        """Return whether a report exceeds the maximum number of slots; pending slots do not count twice."""
        # A new worker's free slots are those that were announced for it; slots that are in use come from an earlier
        # leader.
        announced = min(len(self._pending), sum(status.allocation_id is None for status in report.slots))
        expected = self._slots.total + len(self._pending) + len(report.slots) - announced
        return expected > self.options.max_slots

    def _check_started(self) -> None:
        if not self._is_started:
            raise SlotManagerNotStartedError("the SlotManager was not started: its ResourceManager is not the leader")
