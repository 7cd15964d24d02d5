"""Rules of state, time and idleness that are broken on purpose, see `core/mutations.py`."""

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
from tests.simulation.core.mutations import Mutations
from tests.simulation.state.simulation import simulate

MUTATIONS = Mutations(simulate, "## State and time")


@MUTATIONS.breaks("time in which the job was paused makes nothing idle", InputClock, "advance")
def _counts_everything(_: Any, self: InputClock, seconds: float, at_most_s: float) -> None:
    self.now_ms += 1000 * seconds


@MUTATIONS.breaks("a split with a backlog is not idle", SourceSplits, "quiet_splits")
def _quiet_with_backlog(original: Any, self: SourceSplits) -> list[dict[str, bool]]:
    return [dict.fromkeys(splits, True) for splits in original(self)]


@MUTATIONS.breaks("readers learn that a split awakes before others read on", IdleSplits, "take_changes")
def _awakes_unnoticed(original: Any, self: IdleSplits) -> tuple[dict[int, Idleness], bool]:
    return original(self)[0], False


@MUTATIONS.breaks("a subtask that awakes catches up with its receivers", IdleSplits, "take_changes")
def _stays_behind(original: Any, self: IdleSplits) -> tuple[dict[int, Idleness], bool]:
    changes, awakes = original(self)
    return {subtask: idleness._replace(passed=None) for subtask, idleness in changes.items()}, awakes


@MUTATIONS.breaks("processing time does not follow steps of the wall clock", SteadyClock, "now_ms")
def _follows_the_wall(_: Any, self: SteadyClock) -> int:
    wall_ns = self._steady_ns.__self__.wall_ns  # type: ignore[attr-defined]
    return int(wall_ns() // 1_000_000)


@MUTATIONS.breaks("a restored source is asked at once", SourceSplits, "_adopt")
def _goes_on_by_an_old_clock(original: Any, self: SourceSplits, state: SourceState) -> None:
    original(self, state)
    if state.discovered_ms >= 0 and self._rediscover_ms is not None:
        self._next_discovery_ms = state.discovered_ms + self._rediscover_ms


@MUTATIONS.breaks("later deltas win when deltas are merged", version_store, "merge")
def _merges_backwards(original: Any, earlier: Any, later: Any) -> Any:
    return original(later, earlier)


@MUTATIONS.breaks("removals from state are part of its changes", StateTable, "remove")
def _unrecorded(_: Any, self: StateTable, entry: Any) -> None:
    self.data.pop(entry, None)


@MUTATIONS.breaks("removals from maps are part of their changes", MapTable, "remove")
def _unrecorded_in_maps(_: Any, self: MapTable, entry: Any, key: Any) -> None:
    if self.get(entry, key) is not None:
        self._delete(entry, key)


@MUTATIONS.breaks("windows that have fired are removed from state", WindowTable, "take")
def _keeps_fired_windows(_: Any, self: WindowTable, until: int) -> Iterator[tuple[Any, Any]]:
    while (end := self.first_end()) is not None and end <= until:
        window = heapq.heappop(self._ends)[2]
        ended = self._windows.pop(window)
        yield window, ended.by_key
        ended.by_key.clear()


@MUTATIONS.breaks("a rebuilt queue has all timers", TimerQueue, "_rebuild")
def _loses_timers(original: Any, self: TimerQueue) -> None:
    original(self)
    self._heap = self._heap[::3]


@MUTATIONS.breaks("channels that have ended do not stand for idle ones", _Valve, "_advance")
def _counts_ended_channels(original: Any, self: _Valve) -> bool:
    active = [w for c, w in self._watermarks.items() if w >= self.watermark and c not in self._idle]
    if active == [MAX_WATERMARK] * len(active) and active and self.watermark != MAX_WATERMARK:
        self.watermark = MAX_WATERMARK
        return True
    return original(self)


if __name__ == "__main__":
    raise SystemExit(MUTATIONS.main())
