"""Changes of a job's parallelism while it runs.

A change holds the job after a checkpoint, at the end of a batch; then all its tasks are cancelled, and another
execution graph starts from that checkpoint. The slots that are missing are obtained before.

Why: `docs/decisions/0050-rescaling-at-a-batch-boundary.md`.
"""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Mapping

from firesteel.common.options.rescale_options import RESCALE_HISTORY_SIZE
from firesteel.graph.job_graph import JobGraph, JobVertexID, ParallelismBounds
from firesteel.graph.resource_requirements import ResourceRequirementsError, checked_requirements
from firesteel.runtime.clock import sleep
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.rescales import RescaleEnd, RescalesSummary, RescaleTracker, TriggerCause
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.rescale_steps import RescaleSteps
from firesteel.runtime.logs import about
from firesteel.runtime.scheduler.rescaling import Parallelism, Rescaling, RescalingOptions

__all__ = ["Rescaler"]

logger = logging.getLogger(__name__)

_RETRY_S = 1.0


class Rescaler:
    """Lets a job run with the parallelism that was asked for, or that its slots allow.

    Args:
        session: The job and its leader session.
        parts: The job's graph and slots.
        steps: Stop the job and start it anew.
        configuration: The merged configuration of the cluster and the job.
    """

    def __init__(
        self, session: JobSession, parts: JobParts, steps: RescaleSteps, configuration: Mapping[str, str]
    ) -> None:
        self._session = session
        self._endpoint = session.endpoint
        self._parts = parts
        self._steps = steps
        job_graph = parts.graph.job_graph
        self._is_batch = job_graph.job_type == "BATCH"
        self._rescaling = Rescaling(job_graph, RescalingOptions.of(configuration))
        self._tracker = RescaleTracker(job_graph, self._endpoint.clock.now_ms, RESCALE_HISTORY_SIZE.of(configuration))
        self._requirements_id: str | None = None
        self._cause = TriggerCause.INITIAL_SCHEDULE
        self._numbers = itertools.count()
        self._awaited: set[str] = set()  # requests for slots that the tasks have not yet
        self._reserved: set[str] = set()  # those that are served
        self._is_at_work = False
        self._is_stopped = False
        self._next_check_s = float("inf")

    @property
    def requirements(self) -> Mapping[JobVertexID, ParallelismBounds]:
        """The bounds of each vertex."""
        return self._rescaling.requirements

    def summary(self) -> RescalesSummary:
        """Return the changes so far."""
        return self._tracker.summary()

    def checked(self, requirements: Mapping[JobVertexID, ParallelismBounds]) -> dict[JobVertexID, ParallelismBounds]:
        """Return bounds with their defaults filled in.

        Raises:
            ResourceRequirementsError: the job can't have them.
        """
        if self._is_batch:
            raise ResourceRequirementsError("the parallelism of a BATCH job can't be changed while it runs")
        return checked_requirements(self._parts.graph.job_graph, requirements)

    def require(self, requirements: Mapping[JobVertexID, ParallelismBounds]) -> None:
        """Set the bounds of each vertex, which `checked` has returned."""
        self._rescaling.require(requirements)
        self._requirements_id = uuid.uuid4().hex
        self._cause = TriggerCause.UPDATE_REQUIREMENT
        self.check()

    def slot_came(self, request_id: str) -> None:
        """Process that a request for a slot is served."""
        if request_id in self._awaited:
            self._awaited.remove(request_id)
            self._reserved.add(request_id)
        if self._is_up and self._cause is not TriggerCause.UPDATE_REQUIREMENT:
            self._cause = TriggerCause.NEW_RESOURCE_AVAILABLE
        self.check()

    def status_changed(self, status: JobStatus) -> None:
        """Process a change of the job's status."""
        if status.is_terminal or status in {JobStatus.FAILING, JobStatus.CANCELLING}:
            self._is_stopped = True
            self._tracker.ended(_ENDS.get(status, RescaleEnd.JOB_FINISHED))
        elif status is JobStatus.RESTARTING and not self._is_at_work:
            self._cause = TriggerCause.RECOVERABLE_FAILOVER
            self._tracker.ended(RescaleEnd.JOB_FAILOVER_RESTARTING)
        if status in {JobStatus.RUNNING, JobStatus.RESTARTING} and self._rescaling.may_change(self._current):
            # Later, as the status changes in the middle of a decision of the Scheduler.
            self._endpoint.run_async(self.check)

    def query_started(self) -> None:
        """Process that the tasks of a region run; a change has succeeded when those of all regions do."""
        if self._is_up:
            self._tracker.enter("Executing")
            self._tracker.ended(RescaleEnd.SUCCEEDED)
            self.check()

    def reserved(self, request_id: str) -> bool:
        """Return whether a slot was requested for a change that has not begun."""
        return request_id in self._awaited or request_id in self._reserved

    def reserve_failed(self, request_id: str) -> None:
        """Process that such a slot could not be obtained, or is lost."""
        self._awaited.discard(request_id)
        self._reserved.discard(request_id)
        # A cluster that has no slots now is not asked for them each second.
        self._check_at(self._now_s + 10 * _RETRY_S)

    def check(self) -> None:
        """Begin a change if it is due; else look again when it may be."""
        if self._is_stopped or self._is_at_work or self._is_batch:
            return
        current, slots = self._current, self._parts.pool.size
        own = max(self._rescaling.slots_of(current), slots - len(self._reserved))
        self._reserve(self._rescaling.slots_of(self._rescaling.desired) - own)
        target = self._rescaling.target(self._now_s, current, slots, self._is_up)
        if target is None:
            return
        if target.from_s <= self._now_s:
            self._is_at_work = True
            self._endpoint.spawn(self._rescale(current, target.parallelism), "rescaling the job")
        else:
            self._check_at(target.from_s)

    def _check_at(self, when_s: float) -> None:
        if self._now_s < self._next_check_s <= when_s:
            return
        self._next_check_s = when_s
        self._endpoint.schedule_run_async(max(when_s - self._now_s, 0.0), self._due)

    def _due(self) -> None:
        self._next_check_s = float("inf")
        self.check()

    @property
    def _now_s(self) -> float:
        return self._endpoint.clock.monotonic_s()

    @property
    def _current(self) -> Parallelism:
        return {vertex.id: vertex.parallelism for vertex in self._parts.graph.job_graph.vertices}

    @property
    def _is_up(self) -> bool:
        graph = self._parts.graph
        return graph.status is JobStatus.RUNNING and graph.is_up

    def _reserve(self, slots: int) -> None:
        """Request slots from the ResourceManager, or give up requests, until that many are reserved."""
        while len(self._awaited) + len(self._reserved) < slots:
            request_id = f"rescale-{next(self._numbers)}"
            self._awaited.add(request_id)
            self._session.perform(self._parts.pool.request_new_slot(request_id))
        self._give_up_all_but(max(slots, 0))

    def _give_up_all_but(self, slots: int) -> None:
        """Give up requests and reserved slots until that many are left, first those that are not served."""
        while len(self._awaited) + len(self._reserved) > slots:
            request_id = (self._awaited or self._reserved).pop()
            actions = self._parts.pool.release_slot(request_id, self._now_s, "the job needs the slot no more")
            self._session.perform(actions)

    async def _rescale(self, before: Parallelism, after: Parallelism) -> None:
        """Continue with another parallelism; if that fails, with the former one."""
        desired, sufficient = self._rescaling.desired, self._rescaling.sufficient
        try:
            if self._is_up and not await self._hold():
                return
            self._requirements_id = self._requirements_id or uuid.uuid4().hex
            self._tracker.begin(self._cause, desired, sufficient, before, after, self._requirements_id)
            self._log("continues with the parallelism %s", after)
            self._tracker.enter("Restarting")
            if not await self._steps.stop():
                return
            self._tracker.enter("CreatingExecutionGraph")
            self._give_up_all_but(0)  # The requests of the tasks get these slots first.
            await self._run(before, after)
        finally:
            self._is_at_work = False
            self._check_at(self._now_s + _RETRY_S)

    async def _hold(self) -> bool:
        """Hold the job after a checkpoint; return False if that failed while it goes on."""
        try:
            await self._steps.hold()
        except Exception as error:
            if self._is_up:
                self._log("could not be held to change its parallelism, which is tried again: %s", error)
                return False
        return True

    async def _run(self, before: Parallelism, after: Parallelism) -> None:
        job_graph = self._parts.graph.job_graph
        try:
            await self._steps.run(_with_parallelism(job_graph, after))
        except Exception as error:
            logger.exception("job %s could not be rescaled", self._session.job_id, extra=about(self._session.job_id))
            # Otherwise the next check would try the same again, with a restart each time.
            self._rescaling.refused(after)
            self._tracker.ended(RescaleEnd.EXCEPTION_OCCURRED, f"{type(error).__name__}: {error}")
            await self._go_back(_with_parallelism(job_graph, before))
        else:
            self._rescaling.rescaled(self._now_s)
            self._cause = TriggerCause.NEW_RESOURCE_AVAILABLE

    async def _go_back(self, job_graph: JobGraph) -> None:
        """Continue with the former parallelism, as soon as that is possible: the job has no tasks any more."""
        told = ""
        while self._parts.graph.status is JobStatus.RESTARTING:
            try:
                return await self._steps.run(job_graph)
            except Exception as error:  # Whatever it is: nobody else would start the job again.
                self._log("can't continue, which is tried again: %s", error)
                failure = TaskFailure.of(error)
                if failure.message != told:
                    told = failure.message
                    self._parts.graph.note_failure(failure)
                await sleep(self._endpoint.clock, _RETRY_S)

    def _log(self, text: str, detail: object) -> None:
        logger.info("job %s " + text, self._session.job_id, detail, extra=about(self._session.job_id))


_ENDS = {
    JobStatus.FAILED: RescaleEnd.JOB_FAILED,
    JobStatus.FAILING: RescaleEnd.JOB_FAILED,
    JobStatus.CANCELED: RescaleEnd.JOB_CANCELED,
    JobStatus.CANCELLING: RescaleEnd.JOB_CANCELED,
}


def _with_parallelism(job_graph: JobGraph, parallelism: Parallelism) -> JobGraph:
    copied = job_graph.copy()
    for vertex in copied.vertices:
        vertex.parallelism = parallelism[vertex.id]
    # Restoring a graph gives its vertices the upper bounds that it has, and these would be those of an earlier request.
    copied.resource_requirements = {vertex: ParallelismBounds(1, number) for vertex, number in parallelism.items()}
    return copied
