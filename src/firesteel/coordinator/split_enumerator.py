"""The enumerator that plans what the sources of a job read in each batch.

Its position after a batch is part of that batch's checkpoint. Flink: `SplitEnumerator` and `SourceCoordinator`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from firesteel.common.encoding import encoded_data
from firesteel.coordinator.batch_sizes import BatchSizes
from firesteel.coordinator.idle_splits import IdleSplits
from firesteel.coordinator.input_clock import InputClock
from firesteel.coordinator.source_metrics import SourceMetrics
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.coordinator.watermark_alignment import Reader, WatermarkAligner
from firesteel.functions.splits import Idleness, SplitRange
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.regions import regions_of
from firesteel.operators.chain.subtask import described_operators
from firesteel.operators.sources.described_source import source_of
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport
from firesteel.task.state_types import load_sources

_MAX_ELEMENTS = 4_000_000
_MAX_BYTES = 64 << 20
"""Target maximum of bytes that a source subtask reads or sends per batch, unless a single element is larger."""

_FORGETTING = 8
"""Maximum factor by which an estimate per element decreases from one batch to the next."""

_NOTED_PART = 0.25
"""The part of the memory for state on disk that entries changed by a batch may take; others make room for them."""

_NOTHING_TO_COME_S = 60.0
_SMALL_S = 0.25
"""Maximum work of a slot in seconds in a small batch; tasks and an exchange of its own take 0.1 s on a busy machine."""

Ranges = dict[Reader, list[SplitRange]]


class _Limit:
    """A limit of what the elements of a batch take together; how much one takes is estimated from batches before."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._each = 0.0

    def saw(self, each: float) -> None:
        """Note what an element of the last batch took; a large value is forgotten slowly, as it may come again."""
        self._each = max(each, self._each / _FORGETTING)

    def of(self, elements: int) -> int:
        """Return how many of some elements a batch may have, at least one: that may take more and has to be read."""
        return min(elements, max(1, int(self._most / self._each))) if self._each else elements


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
        self.metrics = SourceMetrics(described_operators(vertex)[0][1], self.splits)
        self.alignment = None if strategy is None else strategy.alignment
        timeout = None if strategy is None or not has_watermarks else strategy.idle_timeout
        self._idle = None if timeout is None else IdleSplits(timeout.to_millis(), vertex.parallelism)
        self._given: dict[Reader, int] = {}
        self._bytes = _Limit(_MAX_BYTES)

    def restore(self, state: Any) -> None:
        """Restore the state of the splits; the readers are restored with theirs."""
        self.splits.restore(state)
        if self._idle is not None:
            self._idle.forget_told()

    def discover(self, now: int, input_ms: float) -> None:
        """Discover splits if it is time to, or to find out whether a split is idle."""
        if self._idle is None:
            self.splits.discover(now)
        elif self.splits.discover(now, at_once=not self._idle.due_in_ms(input_ms)):
            self._idle.observe(self.splits.quiet_splits(), input_ms)

    def pause_ms(self, now: int, input_ms: float) -> float:
        """Return the time in ms until there may be something to read, or a split may be idle."""
        idle_in_ms = float("inf") if self._idle is None else self._idle.due_in_ms(input_ms)
        return min(self.splits.next_discovery_ms - now, idle_in_ms)

    def take_idleness(self, idle: dict[Reader, Idleness]) -> bool:
        """Add the changes of idleness to those of other sources; return whether a reader awakes."""
        if self._idle is None:
            return False
        changes, awakes = self._idle.take_changes()
        idle.update(((self.vertex_id, subtask), idleness) for subtask, idleness in changes.items())
        return awakes

    def readers(self) -> set[Reader]:
        """Return the subtasks that have, or may get, something to read."""
        return {(self.vertex_id, subtask) for subtask in self.splits.reading_subtasks()}

    def take(self, elements: int, ranges: Ranges, aligner: WatermarkAligner) -> int:
        """Add the next ranges of each subtask, about `elements` each; return the largest number that one reads."""
        units = self.splits.hints.units_per_element
        elements = self._bytes.of(elements)
        self._given = {}
        for subtask in range(self.parallelism):
            reader = (self.vertex_id, subtask)
            parts = self.splits.take(subtask, aligner.limit(reader, elements) * units)
            given = sum(part.end - part.start for part in parts)
            aligner.give(reader, given // units)
            if parts:
                ranges[reader] = parts
                self._given[reader] = given
        # The subtask that reads most determines how long the batch takes, from which `BatchSizes` learns.
        return max(self._given.values(), default=0) // units

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Update the estimated bytes per unit, from the subtask where they are largest, and the watermarks."""
        given, self._given = self._given, {}
        self.metrics.batch_ended({subtask: units for (_, subtask), units in given.items()})
        reports = list(reports)
        if self._idle is not None:
            self._idle.batch_ended(reports)
        sizes = [
            report.source_bytes / units
            for report in reports
            if (units := given.get((report.vertex_id, report.subtask_index), 0))
        ]
        if sizes:
            self._bytes.saw(max(sizes) * self.splits.hints.units_per_element)


class SplitEnumerator:
    """A planner of batches for all sources of a job or of one of its pipelined regions.

    Args:
        job_graph: The job.
        options: The options that the job runs with.
        elements: Approximate number of elements per source subtask in the first batch; None for a small default.
        checkpoint_interval_s: The checkpoint interval in seconds; 0 if not configured.
        region: Number of the region; None for all.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        options: Mapping[str, str],
        elements: int | None = None,
        checkpoint_interval_s: float = 0,
        region: int | None = None,
    ) -> None:
        in_region = regions_of(job_graph)
        vertices = [vertex for vertex in job_graph.vertices if region in (None, in_region[vertex.id])]
        self._sources = {vertex.id: _Source(vertex, options) for vertex in vertices if not vertex.inputs}
        sources = self._sources.values()
        first = min((source.splits.first_elements for source in sources), default=1)
        self._sizes = BatchSizes(first if elements is None else elements, _MAX_ELEMENTS, checkpoint_interval_s)
        self._given = 0
        self._noted = _Limit(_NOTED_PART)
        self._busy_s_per_element = 0.0
        self._has_begun = False
        self._clock = InputClock()
        self._aligner = WatermarkAligner({s.vertex_id: s.alignment for s in sources if s.alignment is not None})

    def close(self) -> None:
        """Close the enumerators of all sources."""
        for source in self._sources.values():
            source.splits.close()

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
        """Whether the elements of the batch planned last take so little time that its fixed cost matters most.

        That is told from the work of slots. The time of whole batches depends on the answer: a large batch takes
        longer, so that after some large ones the next one would always be expected to be one, too.
        """
        return self._given * self._busy_s_per_element <= _SMALL_S

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
        idle: dict[Reader, Idleness] = {}
        unended = [source for source in self._sources.values() if not source.splits.state.ended]
        for source in unended:
            source.discover(now, self._clock.now_ms)
        # A list, as `any` would stop at the first source and leave the changes of the others unannounced.
        awakening = [source for source in unended if source.take_idleness(idle)]
        # An empty batch tells the readers that they are active, before any element of theirs could be late.
        if awakening:
            self._given = 0
            return self._at(BatchPlan(idle=idle))
        self._aligner.begin_plan({reader for source in unended for reader in source.readers()})
        self._given = 0
        elements = self._noted.of(self._sizes.size)
        for source in unended:
            self._given = max(self._given, source.take(elements, ranges, self._aligner))
            # After `take`, so that a subtask which reads its last range ends in the same batch.
            ended.update((source.vertex_id, subtask) for subtask in source.splits.newly_ended())
        return self._at(BatchPlan(ranges, frozenset(ended), idle))

    def _at(self, plan: BatchPlan) -> BatchPlan:
        begun_ms = self._clock.now_ms
        return replace(plan, input_ms=(begun_ms, begun_ms + 1000 * self.expected_s))

    def plan_end(self) -> BatchPlan:
        """Return the plan of an empty batch that ends all sources at their current positions."""
        self._given = 0
        return self._at(BatchPlan({}, self._end_all()))

    def plan_nothing(self) -> BatchPlan:
        """Return the plan of an empty batch."""
        self._given = 0
        return self._at(BatchPlan())

    def _end_all(self) -> frozenset[Reader]:
        sources = self._sources.values()
        return frozenset((source.vertex_id, subtask) for source in sources for subtask in source.splits.end())

    def pause_s(self, now: int) -> float:
        """Return the time in seconds until a source may have new input, after an empty plan."""
        unended = [source for source in self._sources.values() if not source.splits.state.ended]
        pause_ms = min((source.pause_ms(now, self._clock.now_ms) for source in unended), default=float("inf"))
        return min(_NOTHING_TO_COME_S, max(0.0, pause_ms / 1000))

    def waited(self, seconds: float, at_most_s: float) -> None:
        """Record that the region has waited for input, and how long it meant to."""
        self._clock.advance(seconds, at_most_s)

    def batch_ended(self, stages: Sequence[StageReport]) -> None:
        """Process the reports of slots: watermarks for alignment, and bytes to limit batches."""
        if self._given:
            self._noted.saw(max((stage.noted_part for stage in stages), default=0.0) / self._given)
        reports = [report for stage in stages for report in stage.subtasks]
        self._aligner.observe(reports)
        for source in self._sources.values():
            source.batch_ended(report for report in reports if report.vertex_id == source.vertex_id)

    def metrics_of(self, report: SubtaskReport) -> dict[str, float]:
        """Return what the planner measures of a subtask: what is left to read; empty if it is no source."""
        source = self._sources.get(report.vertex_id)
        return {} if source is None else source.metrics.of(report)

    def batch_took(self, seconds: float, busy_s: float, is_first_try: bool = True) -> None:
        """Record the last batch; only a first try tells what its elements cost.

        Args:
            seconds: Its duration.
            busy_s: The time of that in which slots worked.
            is_first_try: Whether nothing had been lost.
        """
        self._clock.batch_took(seconds, self.expected_s)
        if not is_first_try:
            return
        self._sizes.took(self._given, seconds)
        if self._given and self._has_begun:
            self._busy_s_per_element = busy_s / self._given
        self._has_begun = True  # The work of the first batch is the start of operators.

    def snapshot(self) -> bytes:
        """Return the encoded states of all sources by operator id."""
        return encoded_data({s.operator_id: s.splits.state for s in self._sources.values()})

    def restore(self, *snapshots: bytes) -> None:
        """Restore the states of sources; new sources start from their beginning."""
        states = {operator: state for snapshot in snapshots for operator, state in load_sources(snapshot).items()}
        for source in self._sources.values():
            if source.operator_id in states:
                source.restore(states[source.operator_id])
