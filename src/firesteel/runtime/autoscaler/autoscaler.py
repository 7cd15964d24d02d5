"""The autoscalers of a Dispatcher's jobs: they look at jobs, and request other parallelisms.

Why: `docs/decisions/0053-an-autoscaler-beside-the-jobs.md`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings
from firesteel.runtime.autoscaler.job_sample import JobSample
from firesteel.runtime.autoscaler.job_scaler import JobScaler, ScalingDecision
from firesteel.runtime.clock import Clock, sleep
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails
from firesteel.runtime.executiongraph.rescales import RescaleEnd
from firesteel.runtime.logs import about

__all__ = ["Autoscaler", "ScaledJobs"]

logger = logging.getLogger(__name__)


class ScaledJobs(Protocol):
    """What an autoscaler asks of its Dispatcher, which implements it."""

    async def request_job_details(self, job_id: str) -> JobDetails:
        """Return the details of a job."""
        ...

    async def request_job(self, job_id: str) -> ArchivedExecutionGraph:
        """Return a job with its former changes of the parallelism."""
        ...

    async def request_resource_requirements(self, job_id: str) -> Mapping[str, ParallelismBounds]:
        """Return the bounds of the parallelism of each vertex."""
        ...

    async def update_resource_requirements(self, job_id: str, requirements: Mapping[str, ParallelismBounds]) -> None:
        """Set the bounds of the parallelism of each vertex."""


class Autoscaler:
    """The autoscaler of one job.

    Args:
        job_graph: The job.
        settings: Its settings.
        jobs: Tells of the job, and takes requests.
        clock: The clock.
        tell: Told of each decision.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        settings: AutoscalerSettings,
        jobs: ScaledJobs,
        clock: Clock,
        tell: Callable[[ScalingDecision], None],
    ) -> None:
        self._job_id = job_graph.job_id
        self._settings = settings
        self._jobs = jobs
        self._clock = clock
        self._tell = tell
        self._scaler = JobScaler(job_graph, settings)
        self._is_stopped = False
        self._decisions: deque[ScalingDecision] = deque(maxlen=settings.kept)

    def decisions(self) -> tuple[ScalingDecision, ...]:
        """Return the last decisions, newest first."""
        oldest_ms = self._clock.now_ms() - self._settings.kept_s * 1000
        return tuple(one for one in self._decisions if one.time_ms >= oldest_ms)

    def stop(self) -> None:
        """Stop looking at the job."""
        self._is_stopped = True

    async def run(self) -> None:
        """Look at the job until it is stopped."""
        while True:
            await sleep(self._clock, self._settings.interval_s)
            if self._is_stopped:
                return
            try:
                await self._look_at(await self._jobs.request_job_details(self._job_id))
            except (FiresteelError, OSError) as error:  # It restarts, or has just ended; the next look tells.
                logger.debug("the autoscaler could not look at job %s: %s", self._job_id, error)

    async def _look_at(self, job: JobDetails) -> None:
        if self._settings.tracks_restarts:
            self._scaler.restart_s = await self._restart_s()
        for decision in self._scaler.observe(JobSample.of(job, self._clock.now_ms())):
            await self._take(decision)

    async def _restart_s(self) -> float:
        history = (await self._jobs.request_job(self._job_id)).rescales.history
        took_ms = [one.duration_ms for one in history if one.end is RescaleEnd.SUCCEEDED]
        return min(max(took_ms) / 1000, self._settings.restart_limit_s) if took_ms else self._settings.restart_s

    async def _take(self, decision: ScalingDecision) -> None:
        """Carry out a decision, unless the job is about to get that parallelism."""
        bounds = await self._jobs.request_resource_requirements(self._job_id)
        wanted = {
            vertex: ParallelismBounds(min(one.lower, decision.after[vertex]), decision.after[vertex])
            if vertex in decision.after
            else one
            for vertex, one in bounds.items()
        }
        # It was asked for already; the job changes only when there are slots, or after its pause between changes.
        if wanted == bounds:
            return
        if decision.is_carried_out:
            try:
                await self._jobs.update_resource_requirements(self._job_id, wanted)
            except (FiresteelError, OSError) as error:
                decision = replace(decision, is_carried_out=False, error=str(error))
        if self._is_news(decision):
            self._decisions.appendleft(decision)
            self._log(decision)
            self._tell(decision)

    def _is_news(self, decision: ScalingDecision) -> bool:
        """Return whether a decision is to be told: one that was not carried out comes again with each look."""
        last = self._decisions[0] if self._decisions else None
        if decision.is_carried_out or last is None or (last.after, last.error) != (decision.after, decision.error):
            return True
        return decision.time_ms - last.time_ms >= self._settings.repeat_s * 1000

    def _log(self, decision: ScalingDecision) -> None:
        what = "gets" if decision.is_carried_out else "should get"
        text = "job %s %s another parallelism, %s instead of %s: "
        text += "%.0f %% busy, %.0f/s come in of %.0f/s possible, %d left%s"
        logger.info(
            text,
            self._job_id,
            what,
            dict(decision.after),
            dict(decision.before),
            100 * decision.busy,
            decision.arrival,
            decision.true_rate,
            decision.pending,
            f"; {decision.error}" if decision.error else "",
            extra=about(self._job_id),
        )
