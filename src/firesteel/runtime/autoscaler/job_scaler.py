"""The decision when a job gets more or fewer subtasks, and how many."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.regions import regions_of
from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings
from firesteel.runtime.autoscaler.chosen_parallelism import chosen_parallelism
from firesteel.runtime.autoscaler.job_sample import JobSample
from firesteel.runtime.autoscaler.region_load import RegionLoad, region_load

__all__ = ["JobScaler", "ScalingDecision"]

Parallelism = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """A decision to change the parallelism of a region.

    Attributes:
        time_ms: When it was taken.
        region: Number of the region.
        before: The parallelism of the vertices that change.
        after: The parallelism that they get.
        busy: Share of the time that the region was busy.
        arrival: What came in per second, in units of the sources: records, or bytes of files.
        true_rate: What they could read per second.
        pending: What they had left.
        is_carried_out: Whether the change was requested; otherwise it is only shown.
        error: Why it could not be requested; empty if it could.
    """

    time_ms: int
    region: int
    before: Parallelism
    after: Parallelism
    busy: float
    arrival: float
    true_rate: float
    pending: float
    is_carried_out: bool = True
    error: str = ""

    @property
    def is_up(self) -> bool:
        """Whether there are more subtasks after it."""
        return sum(self.after.values()) > sum(self.before.values())


@dataclass(slots=True)
class _Delayed:
    """Fewer subtasks would have been enough since a time: at most so many."""

    since_s: float
    most: dict[str, int]


@dataclass(slots=True)
class _Increase:
    """The last increase of a region: its rate before, the one expected, and the parallelism after it."""

    rate: float
    expected: float
    after: dict[str, int] = field(default_factory=dict)


class JobScaler:
    """Decides about one job from samples of it. Pure. Flink: `ScalingExecutor` and `JobVertexScaler` of the operator.

    Args:
        job_graph: The job.
        settings: The settings.

    Attributes:
        restart_s: Time for which a change holds the job.
    """

    def __init__(self, job_graph: JobGraph, settings: AutoscalerSettings) -> None:
        self._job_graph = job_graph
        self._settings = settings
        self._regions: dict[int, list[str]] = {}
        for vertex, region in regions_of(job_graph).items():
            self._regions.setdefault(region, []).append(vertex)
        self._samples: deque[JobSample] = deque()
        self._delayed: dict[int, _Delayed] = {}
        self._increases: dict[int, _Increase] = {}
        self.restart_s = settings.restart_s

    def observe(self, sample: JobSample | None) -> list[ScalingDecision]:
        """Return the changes to request after a sample; None is that of a job that does not run."""
        if sample is None or sample.time_s < sample.since_s + self._settings.stabilization_s:
            self._samples.clear()
            return []
        if self._samples and self._is_another_run(self._samples[-1], sample):
            self._samples.clear()
        # Rates divide by the time between samples.
        if self._samples and sample.time_s <= self._samples[-1].time_s:
            return []
        self._samples.append(sample)
        begin_s = sample.time_s - self._settings.window_s
        # The first one is at or before the begin of the window, so that the window is covered.
        while len(self._samples) > 2 and self._samples[1].time_s <= begin_s:
            self._samples.popleft()
        if len(self._samples) < 2 or self._samples[0].time_s > begin_s:
            return []
        found = (self._decide(region, vertices) for region, vertices in self._regions.items())
        return [decision for decision in found if decision is not None]

    @staticmethod
    def _is_another_run(before: JobSample, after: JobSample) -> bool:
        """Return whether totals have begun anew, or what was measured before is that of another parallelism."""
        if before.since_s != after.since_s or before.parallelism != after.parallelism:
            return True
        if before.sources.keys() != after.sources.keys():
            return True
        return any(after.sources[source].read < one.read for source, one in before.sources.items())

    def _decide(self, region: int, vertices: list[str]) -> ScalingDecision | None:
        samples = list(self._samples)
        sources = [vertex for vertex in vertices if vertex in samples[-1].sources]
        load = region_load(samples, region, sources, self._settings, self.restart_s) if sources else None
        if load is None or not (load.is_slow or load.is_fast):
            self._delayed.pop(region, None)
            return None
        after = self._chosen(vertices, load)
        current = samples[-1].parallelism
        if not after:
            self._delayed.pop(region, None)
            return None
        if load.is_slow:
            self._delayed.pop(region, None)
            if not self._is_effective(region, load):
                return None
            capped = min(load.factor, 1 + self._settings.up_factor)
            self._increases[region] = _Increase(_rate(load), _rate(load) * capped, after)
        else:
            delayed = self._later(region, after)
            if delayed is None:
                return None
            after = delayed
            self._increases.pop(region, None)
        before = {vertex: current[vertex] for vertex in after}
        arrival, pending = (sum(getattr(one, name) for one in load.sources) for name in ("arrival", "pending"))
        time_ms = round(samples[-1].time_s * 1000)
        return ScalingDecision(
            time_ms, region, before, after, load.busy, arrival, _rate(load), pending, self._settings.scales
        )

    def _chosen(self, vertices: list[str], load: RegionLoad) -> dict[str, int]:
        """Return the parallelism of the vertices that change in the direction that the load asks for."""
        last = self._samples[-1]
        current, maximum = last.parallelism, last.max_parallelism
        after = chosen_parallelism(self._job_graph, vertices, current, maximum, load.factor, self._settings)
        return {vertex: number for vertex, number in after.items() if (number > current[vertex]) == load.is_slow}

    def _later(self, region: int, after: dict[str, int]) -> dict[str, int] | None:
        """Return the parallelism once fewer subtasks were enough for long enough; None before."""
        now_s = self._samples[-1].time_s
        delayed = self._delayed.setdefault(region, _Delayed(now_s, {}))
        current = self._samples[-1].parallelism
        delayed.most = {
            # The most of the time, as the load of any moment of it may come again.
            vertex: max(after.get(vertex, current[vertex]), delayed.most.get(vertex, 0))
            for vertex in after.keys() | delayed.most.keys()
        }
        if now_s < delayed.since_s + self._settings.down_after_s:
            return None
        del self._delayed[region]
        return {vertex: number for vertex, number in delayed.most.items() if number < current[vertex]} or None

    def _is_effective(self, region: int, load: RegionLoad) -> bool:
        """Return whether the last increase, if it was one and is still in place, made the region faster."""
        last = self._increases.get(region)
        current = self._samples[-1].parallelism
        if last is None or any(current[vertex] != number for vertex, number in last.after.items()):
            return True
        gained, expected = _rate(load) - last.rate, last.expected - last.rate
        return not self._settings.detects_effect or expected <= 0 or gained / expected >= self._settings.effect


def _rate(load: RegionLoad) -> float:
    """Return what the sources of a region could read per second; 0 if they have read nothing."""
    return sum(one.true_rate for one in load.sources if one.rate)
