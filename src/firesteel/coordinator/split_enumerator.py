"""The enumerator that plans what the sources of a job read in each batch.

Its position after a batch is part of that batch's checkpoint. Flink: `SplitEnumerator` and `SourceCoordinator`.
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
from firesteel.task.state_types import load_sources

_MAX_ELEMENTS = 4_000_000
_MAX_BYTES = 64 << 20
"""Target maximum of bytes that a source subtask reads or sends per batch, unless a single element is larger."""

_FORGETTING = 8
"""Maximum factor by which the estimated element size decreases from one batch to the next."""

_NOTHING_TO_COME_S = 60.0
_SMALL_S = 0.1
"""Maximum time in seconds for the elements of a small batch; a Spark stage costs about 20 ms."""

Ranges = dict[Reader, list[SplitRange]]


class _Source:
    """One source vertex: its splits, and the number of units that a batch may read of them."""

    def __init__(self, vertex: Any, configuration: Mapping[str, str]) -> None:
        self.vertex_id: str = vertex.id
        self.name: str = vertex.name
        self.operator_id: str = vertex.chain[0].operator_id
        self.parallelism: int = vertex.parallelism
        strategy = getattr(vertex.chain[0].operator, "watermark_strategy", None)
        has_watermarks = strategy is not None and strategy.generator_kind != "none"
        source = source_of(vertex.chain[0].operator)
        self.splits = SourceSplits(source, vertex.parallelism, configuration, has_watermarks)
        self.alignment = None if strategy is None else strategy.alignment
        self._given: dict[Reader, int] = {}
        self._unit_bytes = 0.0

    def readers(self) -> set[Reader]:
        """Return the subtasks that have, or may get, something to read."""
        return {(self.vertex_id, subtask) for subtask in self.splits.reading_subtasks()}

    def take(self, elements: int, ranges: Ranges, aligner: WatermarkAligner) -> int:
        """Add the next ranges of each subtask, about `elements` each; return the largest number that one reads."""
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
        """Update the estimated bytes per unit, from the subtask where they are largest."""
        given, self._given = self._given, {}
        sizes = [
            report.source_bytes / units
            for report in reports
            if (units := given.get((report.vertex_id, report.subtask_index), 0))
        ]
        if sizes:
            # Large elements may come again, so the estimate decreases slowly.
            self._unit_bytes = max(max(sizes), self._unit_bytes / _FORGETTING)


class SplitEnumerator:
    """A planner of batches for all sources of a job or of one of its pipelined regions.

    Args:
        job_graph: The job.
        elements: Approximate number of elements per source subtask in the first batch; None for a small default.
        checkpoint_interval_s: The checkpoint interval in seconds; 0 if not configured.
        region: Number of the region; None for all.
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
        """Whether the last plan read all remaining input."""
        return all(source.splits.state.ended for source in self._sources.values())

    @property
    def endless(self) -> list[str]:
        """The names of unbounded sources."""
        return [source.name for source in self._sources.values() if source.splits.is_endless]

    @property
    def expected_s(self) -> float:
        """The expected duration of the batch planned last, in seconds."""
        return self._sizes.expected_s(self._given)

    @property
    def is_small(self) -> bool:
        """Whether the elements of the batch planned last take so little time that its fixed cost matters most."""
        return self.expected_s - self._sizes.fixed_s <= _SMALL_S

    def plan_all(self) -> BatchPlan:
        """Return a single plan that reads all input (BATCH mode).

        Raises:
            NotImplementedError: a source is unbounded.
        """
        if self.endless:
            raise NotImplementedError(f"BATCH mode needs bounded sources: {self.endless[0]!r} never ends")
        ranges: Ranges = {}
        for source in self._sources.values():
            for part in source.splits.all_ranges():
                ranges.setdefault((source.vertex_id, part.split.subtask_index), []).append(part)
        return BatchPlan(ranges, self._end_all())

    def plan(self, now: int) -> BatchPlan:
        """Return the plan of a batch that starts at `now` (ms), possibly empty; the previous batch has ended."""
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
        """Return the plan of an empty batch that ends all sources at their current positions."""
        self._given = 0
        return BatchPlan({}, self._end_all())

    def plan_nothing(self) -> BatchPlan:
        """Return the plan of an empty batch."""
        self._given = 0
        return BatchPlan()

    def _end_all(self) -> frozenset[Reader]:
        sources = self._sources.values()
        return frozenset((source.vertex_id, subtask) for source in sources for subtask in source.splits.end())

    def pause_s(self, now: int) -> float:
        """Return the time in seconds until a source may have new input, after an empty plan."""
        unended = [source.splits for source in self._sources.values() if not source.splits.state.ended]
        next_ms = min((splits.next_discovery() for splits in unended), default=float("inf"))
        return min(_NOTHING_TO_COME_S, max(0.0, (next_ms - now) / 1000))

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Process the sources' reports: watermarks for alignment, and bytes to limit batches."""
        reports = list(reports)
        self._aligner.observe(reports)
        for source in self._sources.values():
            source.batch_ended(report for report in reports if report.vertex_id == source.vertex_id)

    def batch_took(self, seconds: float) -> None:
        """Record the duration of the last batch, which succeeded at its first try."""
        self._sizes.took(self._given, seconds)

    def snapshot(self) -> bytes:
        """Return the pickled states of all sources by operator id."""
        return pickle.dumps({s.operator_id: s.splits.state for s in self._sources.values()}, protocol=5)

    def restore(self, *snapshots: bytes) -> None:
        """Restore the states of sources; new sources start from their beginning."""
        states = {operator: state for snapshot in snapshots for operator, state in load_sources(snapshot).items()}
        for source in self._sources.values():
            if source.operator_id in states:
                source.splits.restore(states[source.operator_id])
