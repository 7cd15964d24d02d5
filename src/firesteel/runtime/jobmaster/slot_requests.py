"""Slot requests of a JobMaster: it requests slots, waits for them and returns them."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.rescale_options import SUBMISSION_WAIT
from firesteel.common.options.slot_options import SLOT_IDLE_TIMEOUT, SLOT_REQUEST_TIMEOUT
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.rescaler import Rescaler
from firesteel.runtime.resourcemanager.resource_manager_connection import ResourceManagerConnection
from firesteel.runtime.resourcemanager.resource_manager_gateway import JobMasterRegistrationSuccess
from firesteel.runtime.resourcemanager.slot_report import SlotRequest
from firesteel.runtime.scheduler.actions import ReleaseSlots, RequestSlots
from firesteel.runtime.scheduler.rescaling import RescalingOptions
from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    LogicalSlotsAllocated,
    LogicalSlotsFailed,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.slot import UnfulfillableSlotRequestError

__all__ = ["SlotRequests"]

_TIMEOUT_TEXT = "Slot request bulk is not fulfillable! Could not allocate the required slot within slot request timeout"


class SlotRequests:
    """The execution of slot requests decided by Scheduler and SlotPool.

    Args:
        session: The job and its leader session.
        parts: The job's slots, and the Scheduler, which gets them.
        rescaler: Has requests of its own, for tasks that the job does not have yet.
        resource_manager: The connection to the ResourceManager.
        configuration: Has `slot.request.timeout` and `slot.idle.timeout`.

    Raises:
        InvalidOptionError: an option can't be read.
    """

    def __init__(
        self,
        session: JobSession,
        parts: JobParts,
        rescaler: Rescaler,
        resource_manager: ResourceManagerConnection[JobMasterRegistrationSuccess],
        configuration: Mapping[str, str],
    ) -> None:
        self._endpoint = session.endpoint
        self._job_id = session.job_id
        self._session_id = session.session_id
        # Tasks of BATCH jobs may wait for slots of other tasks.
        self._is_batch = parts.graph.job_graph.job_type == "BATCH"
        self._parts = parts
        self._pool, self._slots = parts.pool, parts.slots
        self._rescaler = rescaler
        self._resource_manager = resource_manager
        self._perform = session.perform
        is_adaptive = RescalingOptions.of(configuration).is_adaptive
        self._timeout_s = (SUBMISSION_WAIT if is_adaptive else SLOT_REQUEST_TIMEOUT).of(configuration)
        self._idle_timeout_s = SLOT_IDLE_TIMEOUT.of(configuration)

    def start(self) -> None:
        """Start to return idle slots periodically."""
        self._endpoint.schedule_run_async(self._idle_timeout_s, self._release_idle)

    def request(self, action: RequestSlots) -> None:
        """Request the slots of a bulk."""
        now_s = self._endpoint.clock.monotonic_s()
        for request in action.requests:
            self._perform(self._slots.request_slot(request, now_s))
        self._check_later(tuple(request.request_id for request in action.requests))

    def _check_later(self, request_ids: tuple[str, ...]) -> None:
        """Fail a bulk that does not get its slots in time; BATCH tasks may wait for slots of others."""

        def check() -> None:
            if self._is_batch and self._slots.is_fulfillable(request_ids):
                if self._slots.is_waiting(request_ids):
                    self._check_later(request_ids)
            else:
                self._perform(self._slots.request_timed_out(request_ids, _TIMEOUT_TEXT))

        self._endpoint.schedule_run_async(self._timeout_s, check)

    def release(self, action: ReleaseSlots) -> None:
        """Release slots that no task needs."""
        now_s = self._endpoint.clock.monotonic_s()
        for request_id in action.request_ids:
            self._perform(self._slots.release_slot(request_id, now_s, action.cause))

    def _release_idle(self) -> None:
        self.start()  # Schedule the next check first, so that an error in this one does not prevent it.
        now_s = self._endpoint.clock.monotonic_s()
        self._perform(self._pool.release_idle(now_s, self._idle_timeout_s))
        self._perform(self._pool.check_batch_requests(now_s, self._timeout_s))

    def allocated(self, action: SlotAllocated) -> None:
        """Give a slot to the tasks that wait for it, or reserve it for a change of the parallelism."""
        if not self._rescaler.reserved(action.request_id):
            self._perform(self._slots.slot_allocated(action, self._endpoint.clock.monotonic_s()))
        self._rescaler.slot_came(action.request_id)

    def failed(self, action: SlotRequestFailed | SlotLost) -> None:
        """Process that a slot could not be obtained, or is lost."""
        if self._rescaler.reserved(action.request_id):
            self._rescaler.reserve_failed(action.request_id)
        else:
            self._perform(self._slots.slot_failed(action))

    def logical_slots_allocated(self, action: LogicalSlotsAllocated) -> None:
        """Let the Scheduler deploy tasks into their slots."""
        self._perform(self._parts.scheduler.slots_allocated(action.slots))

    def logical_slots_failed(self, action: LogicalSlotsFailed) -> None:
        """Let the Scheduler fail the tasks that do not get slots, or lost them."""
        kind = "" if action.was_allocated else "NoResourceAvailableException: "
        failure = TaskFailure(f"{kind}{action.cause}")
        self._perform(self._parts.scheduler.slots_failed(action.request_ids, failure))

    def send(self, action: SendSlotRequest) -> None:
        """Send a slot request to the ResourceManager."""
        gateway = self._resource_manager.gateway
        if gateway is not None:
            request = SlotRequest(self._job_id, action.allocation_id, self._endpoint.address, action.resource_profile)
            asked = gateway.request_slot(self._session_id, request)
            self._endpoint.when_failed(asked, lambda error: self._rejected(action.allocation_id, error))

    def _rejected(self, allocation_id: str, error: Exception) -> None:
        is_unfulfillable = isinstance(error, UnfulfillableSlotRequestError)
        self._perform(self._pool.resource_manager_failed(allocation_id, str(error), is_unfulfillable))

    def cancel(self, action: CancelSlotRequest) -> None:
        """Cancel a slot request at the ResourceManager."""
        gateway = self._resource_manager.gateway
        if gateway is not None:
            self._endpoint.spawn(gateway.cancel_slot_request(action.allocation_id), "cancelling a slot request")
