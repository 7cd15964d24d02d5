"""Decides what the sources of a job read in each batch, and remembers it in the checkpoint directory.

The plan of a batch is written before the batch runs; a batch that is fed again finds it there and reads the same.
Flink: `SplitEnumerator` and `SourceCoordinator`.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firesteel.graph.job_graph import JobGraph
from firesteel.operators.sources import Split, SplitRange, kind_of, source_of
from firesteel.task.slot_process import plan_path
from firesteel.task.slot_tasks import BatchPlan

_FIRST_ELEMENTS = 100_000
_MAX_ELEMENTS = 4_000_000
_TARGET_BATCH_S = 4.0
"""A batch should take so long while there is a backlog: long enough to make Spark's fixed cost per batch small."""


@dataclass(slots=True)
class _SourceState:
    """One source vertex: its splits, how far each was read, and whether it ended."""

    parallelism: int
    splits: list[Split] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    discovered_ms: int = -1
    ended: bool = False


class SplitEnumerator:
    """Plans batches over all sources of a job."""

    def __init__(self, job_graph: JobGraph, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._sources: dict[str, Any] = {}
        self._states: dict[str, _SourceState] = {}
        for vertex in job_graph.vertices:
            if not vertex.inputs:
                self._sources[vertex.id] = source_of(vertex.chain[0].operator)
                self._states[vertex.id] = _SourceState(vertex.parallelism)
        self._elements = _FIRST_ELEMENTS
        self._has_state = False

    @property
    def has_ended(self) -> bool:
        """True when the last plan read all that there will ever be."""
        return all(state.ended for state in self._states.values())

    def plan_all(self) -> BatchPlan:
        """One plan that reads everything: BATCH mode.

        Raises:
            NotImplementedError: a source never ends.
        """
        for source in self._sources.values():
            if kind_of(source).rediscover_ms(source) is not None:
                raise NotImplementedError("BATCH mode needs bounded sources; a source that monitors files never ends")
        self._discover(0)
        ranges: dict[tuple[str, int], list[SplitRange]] = {}
        for vertex_id, state in self._states.items():
            for split in state.splits:
                ranges.setdefault((vertex_id, split.subtask_index), []).append(SplitRange(split, 0, split.length))
        return BatchPlan(ranges, frozenset(self._states))

    def plan(self, batch_id: int, wait: Callable[[float], bool], next_time: Callable[[], int | None]) -> bool:
        """Write the plan of a batch unless it is there already; False if the query is to stop instead.

        Without anything to read, and before the first processing time that something waits for (`next_time`, ms), this
        blocks: an idle job runs no batches. `wait(seconds)` returns True when the query is to stop.
        """
        path = plan_path(self._checkpoint, batch_id)
        if path.exists():
            self._load(path)
            return True
        if batch_id > 0 and not self._has_state:
            self._load(plan_path(self._checkpoint, batch_id - 1))
        while True:
            now = time.time_ns() // 1_000_000
            self._discover(now)
            plan = self._take()
            due = next_time()
            if plan.ranges or plan.ended or (due is not None and due <= now):
                break
            if wait(self._pause_s(now, due)):
                return False
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(pickle.dumps((plan, self._states, self._elements), protocol=5))
        temporary.replace(path)
        plan_path(self._checkpoint, batch_id - 2).unlink(missing_ok=True)
        self._has_state = True
        return True

    def _load(self, path: Path) -> None:
        """Go on from where a plan left the sources: the query was started again."""
        _, self._states, self._elements = pickle.loads(path.read_bytes())
        self._has_state = True

    def _pause_s(self, now: int, due: int | None) -> float:
        """How long nothing can happen."""
        times = [due] if due is not None else []
        for vertex_id, state in self._states.items():
            interval = kind_of(self._sources[vertex_id]).rediscover_ms(self._sources[vertex_id])
            if interval is not None:
                times.append(state.discovered_ms + interval)
        return max(0.01, (min(times) - now) / 1000) if times else 60.0

    def _discover(self, now: int) -> None:
        """Look for new splits where it is time to."""
        for vertex_id, state in self._states.items():
            source = self._sources[vertex_id]
            kind = kind_of(source)
            interval = kind.rediscover_ms(source)
            if state.discovered_ms >= 0 and (interval is None or now < state.discovered_ms + interval):
                continue
            state.discovered_ms = now
            known = {split.split_id for split in state.splits}
            state.splits += [s for s in kind.discover(source, state.parallelism) if s.split_id not in known]

    def _take(self) -> BatchPlan:
        """The next ranges of all sources, as much as a batch should read."""
        ranges: dict[tuple[str, int], list[SplitRange]] = {}
        ended: set[str] = set()
        for vertex_id, state in self._states.items():
            if state.ended:
                continue
            self._take_from(vertex_id, state, ranges)
            source = self._sources[vertex_id]
            unread = any(state.positions.get(s.split_id, 0) < s.length for s in state.splits)
            if kind_of(source).rediscover_ms(source) is None and not unread:
                state.ended = True
                ended.add(vertex_id)
        return BatchPlan(ranges, frozenset(ended))

    def _take_from(self, vertex_id: str, state: _SourceState, ranges: dict[tuple[str, int], list[SplitRange]]) -> None:
        budget = self._elements * kind_of(self._sources[vertex_id]).units_per_element
        left = dict.fromkeys(range(state.parallelism), budget)
        unread = [s for s in state.splits if state.positions.get(s.split_id, 0) < s.length]
        phase = min((s.source_index for s in unread), default=0)
        for split in unread:
            position = state.positions.get(split.split_id, 0)
            amount = min(split.length - position, left[split.subtask_index])
            if split.path.endswith(".gz"):
                amount = split.length - position
            if split.source_index != phase or amount <= 0:
                continue
            left[split.subtask_index] -= amount
            state.positions[split.split_id] = position + amount
            key = (vertex_id, split.subtask_index)
            ranges.setdefault(key, []).append(SplitRange(split, position, position + amount))

    def batch_took(self, seconds: float) -> None:
        """Read more per batch while batches are short, less when they are long."""
        factor = min(4.0, max(0.25, _TARGET_BATCH_S / max(seconds, 0.001)))
        self._elements = int(min(_MAX_ELEMENTS, max(1000, self._elements * factor)))
