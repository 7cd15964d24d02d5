"""Defects of state, time and idleness, introduced on purpose; each has a seed that detects it.

`PYTHONHASHSEED=0 python -m tests.simulation.state.mutations` looks for the first seed that finds each and writes its
part of docs/simulation.md anew; with `--check` it only holds the document against the code.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from firesteel.coordinator.idle_splits import IdleSplits
from firesteel.coordinator.input_clock import InputClock
from firesteel.coordinator.source_splits import SourceSplits, SourceState
from firesteel.functions.splits import Idleness
from firesteel.operators.chain.clock import SteadyClock
from firesteel.operators.chain.operator import MAX_WATERMARK
from firesteel.operators.exchange.input_gate import _Valve
from firesteel.operators.state.map_table import MapTable
from firesteel.operators.state.state_table import StateTable
from firesteel.operators.state.timer_queue import TimerQueue
from firesteel.operators.windows.window_table import WindowTable
from firesteel.task import version_store
from tests.simulation.mutations import Mutation, run_mutations
from tests.simulation.state.simulation import simulate


def _counts_everything(self: InputClock, seconds: float, at_most_s: float) -> None:
    self.now_ms += 1000 * seconds


_quiet_splits = SourceSplits.quiet_splits


def _quiet_with_backlog(self: SourceSplits) -> list[dict[str, bool]]:
    return [dict.fromkeys(splits, True) for splits in _quiet_splits(self)]


_take_changes = IdleSplits.take_changes


def _awakes_unnoticed(self: IdleSplits) -> tuple[dict[int, Idleness], bool]:
    return _take_changes(self)[0], False


def _stays_behind(self: IdleSplits) -> tuple[dict[int, Idleness], bool]:
    changes, awakes = _take_changes(self)
    return {subtask: idleness._replace(passed=None) for subtask, idleness in changes.items()}, awakes


def _follows_the_wall(self: SteadyClock) -> int:
    wall_ns = self._steady_ns.__self__.wall_ns  # type: ignore[attr-defined]
    return int(wall_ns() // 1_000_000)


_adopt = SourceSplits._adopt


def _goes_on_by_an_old_clock(self: SourceSplits, state: SourceState) -> None:
    _adopt(self, state)
    if state.discovered_ms >= 0 and self._rediscover_ms is not None:
        self._next_discovery_ms = state.discovered_ms + self._rediscover_ms


_merge = version_store.merge


def _merges_backwards(earlier: Any, later: Any) -> Any:
    return _merge(later, earlier)


def _unrecorded(self: StateTable, entry: Any) -> None:
    self.data.pop(entry, None)


def _unrecorded_in_maps(self: MapTable, entry: Any, key: Any) -> None:
    if self.get(entry, key) is not None:
        self._delete(entry, key)


def _keeps_fired_windows(self: WindowTable, until: int) -> Iterator[tuple[Any, Any]]:
    while (end := self.first_end()) is not None and end <= until:
        window = heapq.heappop(self._ends)[2]
        ended = self._windows.pop(window)
        yield window, ended.by_key
        ended.by_key.clear()


_rebuild = TimerQueue._rebuild


def _loses_timers(self: TimerQueue) -> None:
    _rebuild(self)
    self._heap = self._heap[::3]


_advance = _Valve._advance


def _counts_ended_channels(self: _Valve) -> bool:
    active = [w for c, w in self._watermarks.items() if w >= self.watermark and c not in self._idle]
    if active == [MAX_WATERMARK] * len(active) and active and self.watermark != MAX_WATERMARK:
        self.watermark = MAX_WATERMARK
        return True
    return _advance(self)


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("time in which the job was paused makes nothing idle", InputClock, "advance", _counts_everything),
    Mutation("a split with a backlog is not idle", SourceSplits, "quiet_splits", _quiet_with_backlog),
    Mutation("readers learn that a split awakes before others read on", IdleSplits, "take_changes", _awakes_unnoticed),
    Mutation("a subtask that awakes catches up with its receivers", IdleSplits, "take_changes", _stays_behind),
    Mutation("processing time does not follow steps of the wall clock", SteadyClock, "now_ms", _follows_the_wall),
    Mutation("a restored source is asked at once", SourceSplits, "_adopt", _goes_on_by_an_old_clock),
    Mutation("channels that have ended do not stand for idle ones", _Valve, "_advance", _counts_ended_channels),
    Mutation("later deltas win when deltas are merged", version_store, "merge", _merges_backwards),
    Mutation("removals from state are part of its changes", StateTable, "remove", _unrecorded),
    Mutation("removals from maps are part of their changes", MapTable, "remove", _unrecorded_in_maps),
    Mutation("windows that have fired are removed from state", WindowTable, "take", _keeps_fired_windows),
    Mutation("a rebuilt queue has all timers", TimerQueue, "_rebuild", _loses_timers),
)

_TITLE = "## State and time"


if __name__ == "__main__":
    raise SystemExit(run_mutations(MUTATIONS, lambda seed: simulate(seed).violations, _TITLE))
