"""The decision when a job continues with another parallelism, and with which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from firesteel.common.options.rescale_options import (
    RESCALE_COOLDOWN,
    RESCALE_STABILIZATION,
    SUBMISSION_STABILIZATION,
)
from firesteel.common.options.restart_options import SCHEDULER
from firesteel.graph.job_graph import JobGraph, JobVertexID, ParallelismBounds
from firesteel.graph.resource_requirements import fitting_parallelism, requirements_of, slots_of

__all__ = ["Parallelism", "Rescaling", "RescalingOptions", "Target"]

Parallelism = Mapping[JobVertexID, int]
"""The parallelism of each vertex."""


@dataclass(frozen=True, slots=True)
class RescalingOptions:
    """Options of rescaling, see `common.options.rescale_options`.

    Attributes:
        is_adaptive: Whether a job that does not get all its slots runs with fewer (`jobmanager.scheduler: Adaptive`).
        cooldown_s: Time after a rescale before the next one of a running job.
        running_s: Time for which a running job waits for all wanted slots.
        submission_s: Time for which a job that does not run waits for them.
    """

    is_adaptive: bool
    cooldown_s: float
    running_s: float
    submission_s: float

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> RescalingOptions:
        """Return the options of a configuration.

        Raises:
            InvalidOptionError: a value can't be read.
        """
        return cls(
            SCHEDULER.of(configuration) == "Adaptive",
            RESCALE_COOLDOWN.of(configuration),
            RESCALE_STABILIZATION.of(configuration),
            SUBMISSION_STABILIZATION.of(configuration),
        )


class Target(NamedTuple):
    """The parallelism with which a job should continue, and the time from which on it may."""

    parallelism: Parallelism
    from_s: float


class Rescaling:
    """The wanted parallelism of a job. Pure. Flink: `scheduler.adaptive.AdaptiveScheduler` and its transition managers.

    Args:
        job_graph: The job.
        options: Its options of rescaling.

    Attributes:
        requirements: The bounds of each vertex.
    """

    def __init__(self, job_graph: JobGraph, options: RescalingOptions) -> None:
        self._job_graph = job_graph
        self._options = options
        self.requirements: Mapping[JobVertexID, ParallelismBounds] = requirements_of(job_graph)
        self._rescaled_s = float("-inf")
        self._sufficient_since_s: float | None = None
        self._refused: Parallelism | None = None

    @property
    def desired(self) -> Parallelism:
        """The parallelism that the job has if there are enough slots."""
        return {vertex: bounds.upper for vertex, bounds in self.requirements.items()}

    @property
    def sufficient(self) -> Parallelism:
        """The parallelism that the job has at least."""
        return {vertex: bounds.lower for vertex, bounds in self.requirements.items()}

    def slots_of(self, parallelism: Parallelism) -> int:
        """Return the number of slots that the job needs for a parallelism."""
        return slots_of(self._job_graph, parallelism)

    def require(self, requirements: Mapping[JobVertexID, ParallelismBounds]) -> None:
        """Set the bounds of each vertex."""
        self.requirements = requirements
        self._sufficient_since_s = None
        self._refused = None

    def rescaled(self, now_s: float) -> None:
        """Note that the job runs with the parallelism of the last target."""
        self._rescaled_s = now_s
        self._sufficient_since_s = None

    def refused(self, parallelism: Parallelism) -> None:
        """Note that the job can't run with a parallelism, which is not tried again."""
        self._refused = parallelism

    def target(self, now_s: float, current: Parallelism, slots: int, is_up: bool) -> Target | None:
        """Return the parallelism with which the job should continue; None if it stays as it is.

        Args:
            now_s: The time.
            current: The parallelism of the present graph.
            slots: The number of slots that the job has, in use or not.
            is_up: Whether all its tasks run; others wait for slots, or restart.
        """
        wanted = self._wanted(current, slots, is_up)
        if wanted is None or wanted == current or wanted == self._refused:
            self._sufficient_since_s = None
            return None
        if self._sufficient_since_s is None:
            self._sufficient_since_s = now_s
        from_s = self._rescaled_s + self._options.cooldown_s if is_up else now_s
        # More slots may be about to come; all that was asked for needs no such wait.
        if wanted != self.desired:
            stable_s = self._options.running_s if is_up else self._options.submission_s
            from_s = max(from_s, self._sufficient_since_s + stable_s)
        return Target(wanted, from_s)

    def may_change(self, current: Parallelism) -> bool:
        """Return whether a job with this parallelism may ever get another one, unless others are required."""
        return self._options.is_adaptive or self.desired != current

    def _wanted(self, current: Parallelism, slots: int, is_up: bool) -> Parallelism | None:
        if self.desired == current and (is_up or not self._options.is_adaptive):
            return None
        if slots >= self.slots_of(self.desired):
            return self.desired
        return fitting_parallelism(self._job_graph, self.requirements, slots)
