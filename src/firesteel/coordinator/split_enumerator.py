"""Decides what the sources of a job read in each batch.

Where it is after a batch is part of the checkpoint of that batch. Flink: `SplitEnumerator` and `SourceCoordinator`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.coordinator.batch_sizes import BatchSizes
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.coordinator.watermark_alignment import Reader, WatermarkAligner
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.regions import regions_of
from firesteel.operators.sources import source_of
from firesteel.operators.splits import SplitRange
from firesteel.task.slot_tasks import BatchPlan, SubtaskReport

_MAX_ELEMENTS = 4_000_000
_MAX_BYTES = 64 << 20
"""What one subtask of a source should read, or send, in one batch, unless one element is larger."""

_FORGETTING = 8
"""How many times smaller elements may seem from one batch to the next."""

_NOTHING_TO_COME_S = 60.0

Ranges = dict[Reader, list[SplitRange]]


class _Source:
    """One source vertex: its splits, and how much of them a batch may read."""

    def __init__(self, vertex: Any, configuration: Mapping[str, str]) -> None:
        self.vertex_id: str = vertex.id
        self.name: str = vertex.name
        self.operator_id: str = vertex.chain[0].operator_id
        self.parallelism: int = vertex.parallelism
        self.splits = SourceSplits(source_of(vertex.chain[0].operator), vertex.parallelism, configuration)
        strategy = getattr(vertex.chain[0].operator, "watermark_strategy", None)
        self.alignment = None if strategy is None else strategy.alignment
        self._given: dict[Reader, int] = {}
        self._unit_bytes = 0.0

    def readers(self) -> set[Reader]:
        """Return the subtasks that have something to read, or may get it."""
        return {(self.vertex_id, subtask) for subtask in self.splits.reading_subtasks()}

    def take(self, elements: int, ranges: Ranges, aligner: WatermarkAligner) -> int:
        """Add what each subtask reads next, about so many elements; return the most that one of them reads."""
        units = self.splits.kind.units_per_element
        if self._unit_bytes:
            elements = min(elements, max(1, int(_MAX_BYTES / (self._unit_bytes * units))))
        self._given = {}
        for subtask in range(self.parallelism):
            reader = (self.vertex_id, subtask)
            parts = self.splits.take(subtask, aligner.limit(reader, elements) * units)
            given = sum(part.end - part.start for part in parts)
            aligner.give(reader, given // units)
            if parts:
                ranges[reader] = parts
                self._given[reader] = given
        return max(self._given.values(), default=0) // units

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Learn how many bytes a unit of the source has, or becomes: in the subtask where these are most."""
        given, self._given = self._given, {}
        sizes = [
            report.source_bytes / units
            for report in reports
            if (units := given.get((report.vertex_id, report.subtask_index), 0))
        ]
        if sizes:
            # Elements that were large may come again, so their size is forgotten slowly.
            self._unit_bytes = max(max(sizes), self._unit_bytes / _FORGETTING)


class SplitEnumerator:
    """Plans batches over all sources of a job, or of one of its pipelined regions.

    Args:
        job_graph: The job.
        elements: About how many each subtask of a source reads in the first batch; None: few.
        checkpoint_interval_s: How often checkpoints are to be taken, which is behind a batch; 0: nobody said.
        region: Number of the region, None: all.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        elements: int | None = None,
        checkpoint_interval_s: float = 0,
        region: int | None = None,
    ) -> None:
        in_region = regions_of(job_graph)
        vertices = [vertex for vertex in job_graph.vertices if region in (None, in_region[vertex.id])]
        options = job_graph.configuration
        self._sources = {vertex.id: _Source(vertex, options) for vertex in vertices if not vertex.inputs}
        sources = self._sources.values()
        first = min((source.splits.first_elements for source in sources), default=1)
        self._sizes = BatchSizes(first if elements is None else elements, _MAX_ELEMENTS, checkpoint_interval_s)
        self._given = 0
        self._aligner = WatermarkAligner({s.vertex_id: s.alignment for s in sources if s.alignment is not None})

    @property
    def has_ended(self) -> bool:
        """True when the last plan read all that there will ever be."""
        return all(source.splits.state.ended for source in self._sources.values())

    @property
    def endless(self) -> list[str]:
        """The names of the sources that never end."""
        return [source.name for source in self._sources.values() if source.splits.is_endless]

    def plan_all(self) -> BatchPlan:
        """Return one plan that reads everything: BATCH mode.

        Raises:
            NotImplementedError: a source never ends.
        """
        if self.endless:
            raise NotImplementedError(f"BATCH mode needs bounded sources: {self.endless[0]!r} never ends")
        ranges: Ranges = {}
        for source in self._sources.values():
            for part in source.splits.all_ranges():
                ranges.setdefault((source.vertex_id, part.split.subtask_index), []).append(part)
        return BatchPlan(ranges, self._end_all())

    def plan(self, now: int) -> BatchPlan:
        """Return what a batch reads that starts at `now` (ms); it may be nothing. The batch before has ended."""
        ranges: Ranges = {}
        ended: set[Reader] = set()
        unended = [source for source in self._sources.values() if not source.splits.state.ended]
        for source in unended:
            source.splits.discover(now)
        self._aligner.begin_plan({reader for source in unended for reader in source.readers()})
        self._given = 0
        for source in unended:
            self._given = max(self._given, source.take(self._sizes.size, ranges, self._aligner))
            ended.update((source.vertex_id, subtask) for subtask in source.splits.newly_ended())
        return BatchPlan(ranges, frozenset(ended))

    def plan_end(self) -> BatchPlan:
        """Return a batch that reads nothing and ends all sources, wherever they are."""
        self._given = 0
        return BatchPlan({}, self._end_all())

    def plan_nothing(self) -> BatchPlan:
        """Return a batch that reads nothing."""
        self._given = 0
        return BatchPlan()

    def _end_all(self) -> frozenset[Reader]:
        sources = self._sources.values()
        return frozenset((source.vertex_id, subtask) for source in sources for subtask in source.splits.end())

    def pause_s(self, now: int) -> float:
        """Return how long no source has anything to read (seconds), after a plan that read nothing."""
        unended = [source.splits for source in self._sources.values() if not source.splits.state.ended]
        next_ms = min((splits.next_discovery() for splits in unended), default=float("inf"))
        return min(_NOTHING_TO_COME_S, max(0.0, (next_ms - now) / 1000))

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Learn from what the sources report: watermarks keep aligned ones together, bytes bound batches."""
        reports = list(reports)
        self._aligner.observe(reports)
        for source in self._sources.values():
            source.batch_ended(report for report in reports if report.vertex_id == source.vertex_id)

    def batch_took(self, seconds: float) -> None:
        """Learn how long the last batch took, which succeeded at its first try."""
        self._sizes.took(self._given, seconds)

    def snapshot(self) -> bytes:
        """Return where all sources are: pickled, by operator id."""
        return pickle.dumps({s.operator_id: s.splits.state for s in self._sources.values()}, protocol=5)

    def restore(self, *snapshots: bytes) -> None:
        """Go on from there; sources that were not there before begin at their beginning."""
        states = {operator: state for snapshot in snapshots for operator, state in pickle.loads(snapshot).items()}
        for source in self._sources.values():
            if source.operator_id in states:
                source.splits.restore(states[source.operator_id])
