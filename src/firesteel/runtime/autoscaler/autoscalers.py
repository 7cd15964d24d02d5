"""The autoscalers of all jobs of a Dispatcher that have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.autoscaler.autoscaler import Autoscaler, ScaledJobs
from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings
from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.jobmaster.job_activity import tell_of_scaling
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.rpc import RpcEndpoint

__all__ = ["Autoscalers"]


class Autoscalers:
    """Runs an autoscaler for each STREAMING job whose options ask for one.

    Args:
        endpoint: The Dispatcher, in whose main thread they run.
        jobs: The Dispatcher again, which tells of jobs.
        configuration: The cluster's configuration.
        listeners: Told of decisions.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        jobs: ScaledJobs,
        configuration: Mapping[str, str],
        listeners: Sequence[JobStatusListener] = (),
    ) -> None:
        self._endpoint = endpoint
        self._jobs = jobs
        self._configuration = configuration
        self._listeners = listeners
        self._of_jobs: dict[str, Autoscaler] = {}

    def begin(self, job_graph: JobGraph) -> None:
        """Begin to look at a job that has just been started, if it has an autoscaler."""
        settings = AutoscalerSettings.of({**self._configuration, **job_graph.configuration})
        if settings is None or job_graph.job_type == "BATCH":
            return
        job_id = job_graph.job_id
        tell = partial(tell_of_scaling, self._listeners, job_id)
        autoscaler = Autoscaler(job_graph, settings, self._jobs, self._endpoint.clock, tell)
        self._of_jobs[job_id] = autoscaler
        self._endpoint.spawn(autoscaler.run(), f"scaling job {job_id}")

    def decisions(self, job_id: str) -> tuple[ScalingDecision, ...] | None:
        """Return the last decisions about a job, newest first; None if it has no autoscaler."""
        autoscaler = self._of_jobs.get(job_id)
        return None if autoscaler is None else autoscaler.decisions()

    def ended(self, job_id: str) -> None:
        """Forget a job that does not run here any more."""
        autoscaler = self._of_jobs.pop(job_id, None)
        if autoscaler is not None:
            autoscaler.stop()
