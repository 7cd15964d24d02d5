"""Decides what the sources of a job read in each batch.

Where it is after a batch is part of the checkpoint of that batch. Flink: `SplitEnumerator` and `SourceCoordinator`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from firesteel.coordinator.watermark_alignment import Reader, WatermarkAligner
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.sources import Split, SplitRange, kind_of, source_of
from firesteel.task.slot_tasks import BatchPlan, SubtaskReport

_FIRST_ELEMENTS = 1000
"""Few, as it is not known yet what an element costs: a function takes microseconds or seconds."""

_MAX_ELEMENTS = 4_000_000
_MAX_GROWTH = 50.0
_LONGEST_BATCH_S = 2.0
"""A batch should take so long while there is a backlog: long enough to make Spark's fixed cost per batch small."""

_SHORTEST_BATCH_S = 0.25
"""Also if checkpoints shall be more frequent."""

_EMPTY_BATCH_S = 0.08
"""What is not for elements, about."""

_NOTHING_TO_COME_S = 60.0

Ranges = dict[tuple[str, int], list[SplitRange]]


@dataclass(slots=True)
class _SourceState:
    """How far one source was read.

    Attributes:
        parallelism: The number of subtasks that the splits were dealt to.
        unread: The splits of which something is left.
        positions: How far those were read that were begun, by split id.
        done: Ids of the splits that were read and may be discovered again.
        discovered_ms: When splits were looked for last; -1: never.
        ended: Nothing will ever follow.
    """

    parallelism: int
    unread: list[Split] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    discovered_ms: int = -1
    ended: bool = False


class _Source:
    """One source vertex: what it reads and how far it is."""

    def __init__(self, vertex: Any) -> None:
        self.vertex_id: str = vertex.id
        self.name: str = vertex.name
        self.operator_id: str = vertex.chain[0].operator_id
        self.source = source_of(vertex.chain[0].operator)
        self.kind = kind_of(self.source)
        self.parallelism: int = vertex.parallelism
        self.rediscover_ms = self.kind.rediscover_ms(self.source)
        self.state = _SourceState(self.parallelism)
        strategy = getattr(vertex.chain[0].operator, "watermark_strategy", None)
        self.alignment = None if strategy is None else strategy.alignment

    def discover(self, now: int) -> None:
        """Look for new splits if it is time to."""
        state = self.state
        if state.ended or (state.discovered_ms >= 0 and now < self.next_discovery()):
            return
        state.discovered_ms = now
        found = self.kind.discover(self.source, self.parallelism)
        if self.kind.grows:
            now_long = {split.split_id: split.length for split in found}
            state.unread = [replace(s, length=now_long.get(s.split_id, s.length)) for s in state.unread]
        known = state.done.union(split.split_id for split in state.unread)
        state.done.intersection_update([split.split_id for split in found])
        state.unread += [split for split in found if split.split_id not in known]

    def next_discovery(self) -> float:
        """When splits are looked for again (ms)."""
        return float("inf") if self.rediscover_ms is None else self.state.discovered_ms + self.rediscover_ms

    def readers(self) -> set[Reader]:
        """The subtasks that have something to read, or may get it."""
        unread = {split.subtask_index for split in self.state.unread}
        subtasks = unread if self.rediscover_ms is None else range(self.parallelism)
        return {(self.vertex_id, subtask) for subtask in subtasks}

    def take(self, elements: int, ranges: Ranges, aligner: WatermarkAligner) -> None:
        """Add what each subtask reads next, about so many elements; the sources of a HybridSource one by one."""
        state, units = self.state, self.kind.units_per_element
        limits = {s: aligner.limit((self.vertex_id, s), elements) * units for s in range(self.parallelism)}
        left = dict(limits)
        phase = min((split.source_index for split in state.unread), default=0)
        for split in state.unread:
            position = state.positions.get(split.split_id, 0)
            unread = split.length - position
            amount = unread if split.is_whole else min(unread, left[split.subtask_index])
            if split.source_index == phase and left[split.subtask_index] > 0 and amount > 0:
                left[split.subtask_index] -= amount
                state.positions[split.split_id] = position + amount
                part = SplitRange(split, position, position + amount)
                ranges.setdefault((self.vertex_id, split.subtask_index), []).append(part)
        for subtask, limit in limits.items():
            aligner.give((self.vertex_id, subtask), (limit - left[subtask]) // units)
        self._forget_read_splits()

    def _forget_read_splits(self) -> None:
        state = self.state
        read = {s.split_id for s in state.unread if state.positions.get(s.split_id, 0) >= s.length}
        if self.kind.grows and self.rediscover_ms is not None:
            return
        if read:
            state.unread = [split for split in state.unread if split.split_id not in read]
            for split_id in read:
                state.positions.pop(split_id, None)
            if self.rediscover_ms is not None:
                state.done |= read
        state.ended = self.rediscover_ms is None and not state.unread

    def restore(self, state: _SourceState) -> None:
        """Go on from there; another number of subtasks is dealt the splits anew."""
        unread = state.unread
        if state.parallelism != self.parallelism:
            unread = [replace(split, subtask_index=i % self.parallelism) for i, split in enumerate(unread)]
        # What ended before ends once more, by a batch that reads nothing: operators of another job must see it.
        self.state = replace(state, parallelism=self.parallelism, unread=unread, ended=False)


class SplitEnumerator:
    """Plans batches over all sources of a job.

    Args:
        job_graph: The job.
        elements: About how many each subtask of a source reads in the first batch.
        checkpoint_interval_s: How often checkpoints are to be taken, which is behind a batch; 0: nobody said.
    """

    def __init__(self, job_graph: JobGraph, elements: int = _FIRST_ELEMENTS, checkpoint_interval_s: float = 0) -> None:
        self._sources = [_Source(vertex) for vertex in job_graph.vertices if not vertex.inputs]
        self._elements = elements
        self._target_s = min(_LONGEST_BATCH_S, max(_SHORTEST_BATCH_S, checkpoint_interval_s or _LONGEST_BATCH_S))
        self._aligner = WatermarkAligner({s.vertex_id: s.alignment for s in self._sources if s.alignment is not None})

    @property
    def has_ended(self) -> bool:
        """True when the last plan read all that there will ever be."""
        return all(source.state.ended for source in self._sources)

    @property
    def endless(self) -> list[str]:
        """The names of the sources that never end."""
        return [source.name for source in self._sources if source.rediscover_ms is not None]

    def plan_all(self) -> BatchPlan:
        """One plan that reads everything: BATCH mode.

        Raises:
            NotImplementedError: a source never ends.
        """
        if self.endless:
            raise NotImplementedError(f"BATCH mode needs bounded sources: {self.endless[0]!r} never ends")
        ranges: Ranges = {}
        for source in self._sources:
            source.discover(0)
            for split in source.state.unread:
                part = SplitRange(split, 0, split.length)
                ranges.setdefault((source.vertex_id, split.subtask_index), []).append(part)
        return BatchPlan(ranges, frozenset(source.vertex_id for source in self._sources))

    def plan(self, now: int) -> BatchPlan:
        """What a batch reads that starts at `now` (ms); it may be nothing."""
        ranges: Ranges = {}
        ended: set[str] = set()
        unended = [source for source in self._sources if not source.state.ended]
        for source in unended:
            source.discover(now)
        self._aligner.begin_plan({reader for source in unended for reader in source.readers()})
        for source in unended:
            source.take(self._elements, ranges, self._aligner)
            if source.state.ended:
                ended.add(source.vertex_id)
        return BatchPlan(ranges, frozenset(ended))

    def plan_end(self) -> BatchPlan:
        """A batch that reads nothing and ends all sources, wherever they are."""
        ended = frozenset(source.vertex_id for source in self._sources if not source.state.ended)
        for source in self._sources:
            source.state.ended = True
        return BatchPlan({}, ended)

    def pause_s(self, now: int) -> float:
        """How long no source has anything to read (seconds), after a plan that read nothing."""
        next_ms = min((source.next_discovery() for source in self._sources), default=float("inf"))
        return min(_NOTHING_TO_COME_S, max(0.0, (next_ms - now) / 1000))

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Take the watermarks that the sources have now: the next plans keep aligned ones together."""
        self._aligner.observe(reports)

    def batch_took(self, seconds: float) -> None:
        """Read more per batch while batches are short, less when they are long."""
        factor = min(_MAX_GROWTH, self._target_s / max(seconds - _EMPTY_BATCH_S, 0.001))
        self._elements = int(min(_MAX_ELEMENTS, max(1, self._elements * factor)))

    def snapshot(self) -> bytes:
        """Where all sources are: pickled, by operator id."""
        return pickle.dumps({source.operator_id: source.state for source in self._sources}, protocol=5)

    def restore(self, snapshot: bytes) -> None:
        """Go on from there; sources that were not there before begin at their beginning."""
        states = pickle.loads(snapshot)
        for source in self._sources:
            if source.operator_id in states:
                source.restore(states[source.operator_id])
