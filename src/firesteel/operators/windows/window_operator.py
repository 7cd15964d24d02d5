"""The general window operator: assigners, triggers, merging windows, allowed lateness and late data, as in Flink.

Flink: `runtime.operators.windowing.WindowOperator`. As there, the contents of a merged window stay where those of its
first part are (the state window), so that a growing session writes only what is added (`MergingWindowSet`).
"""

from __future__ import annotations

from typing import Any

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.values.ownership import own
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.functions.triggers import TriggerResult
from firesteel.functions.window_assigners import MergingWindowAssigner
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.keyed import NO_KEY
from firesteel.operators.state.state_store import StateStore
from firesteel.operators.state.timers import EVENT_TIME
from firesteel.operators.windows.window_base import CONTENTS_TABLE, WindowOperatorBase
from firesteel.operators.windows.window_contents import merge_stored
from firesteel.operators.windows.window_contexts import MergeRecorder, WindowTriggerContext


class WindowRunner(WindowOperatorBase):
    """A window operator with arbitrary triggers, allowed lateness and merging windows."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: WindowOperator) -> None:
        super().__init__(name, task, output, descriptor)
        self._trigger = descriptor.trigger
        self._lateness = descriptor.allowed_lateness_ms
        self._table = self.backend.table(CONTENTS_TABLE)
        self._merging = isinstance(self._assigner, MergingWindowAssigner)
        self._sessions = self.backend.table("merging-window-set")

    def open(self) -> None:
        """Open the functions; register timers for windows that were restored without any."""
        super().open()
        store = StateStore(self.backend, namespaced=True)
        self._trigger_context = WindowTriggerContext(store, self.timers, self._metrics)
        if self._merging:
            self._function_context.refuse_window_state()
        else:
            self._follow_windows_at_end()

    def _follow_windows_at_end(self) -> None:
        """Register end timers for windows restored from `WindowAtEndRunner`, which uses no timers."""
        # Here each window has one until it is removed. There may be millions, on disk: they are not gone through.
        if next(self.timers.registered(), None) is not None:
            return
        for key, window in self._table.data:
            self.backend.current_key = key
            self._enter(key, window)
            self._register(window.max_timestamp())
            self._register(self._cleanup_time(window))
        self.backend.current_key = NO_KEY

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Add each element to its windows, and fire the windows whose trigger fires."""
        assign, context, backend = self._assigner.assign_windows, self._assigner_context, self.backend
        show = self._for_assigner
        for (key, value), timestamp in pairs(values, timestamps):
            backend.current_key = key
            event_time = MIN_TIMESTAMP if timestamp is None else timestamp
            windows = assign(show(value), event_time, context)
            if self._merging:
                windows = [self._merge_in(key, window) for window in windows]
            # In several windows an element would be one object, which a function of one window could change for the
            # others.
            late, shared = True, len(windows) > 1
            for window in windows:
                if not self._is_late(window):
                    self._add(key, own(value) if shared else value, timestamp, window)
                    late = False
            # An element may also be in no window at all, as an assigner may return none; Flink drops and counts only
            # those that are behind the watermark themselves.
            if late and self._is_event_time and event_time + self._lateness <= self.timers.watermark:
                self._drop(value, timestamp)

    def _add(self, key: object, value: object, timestamp: int | None, window: object) -> None:
        """Add an element to a window and call its trigger."""
        self._enter(key, window)
        self._contents.add(self._table, self._contents_entry(key, window), value)
        event_time = MIN_TIMESTAMP if timestamp is None else timestamp
        result = self._trigger.on_element(self._for_trigger(value), event_time, window, self._trigger_context)
        self._act_on(result, key, window, timestamp)
        self._register(self._cleanup_time(window))

    def _enter(self, key: object, window: object) -> Any:
        """Make a key and window current for state, timers and contexts; return their entry."""
        entry = (key, window)
        self.backend.current_entry = entry
        self._function_context.current_window = window
        self.timers.namespace = window
        self._trigger_context.entry = entry
        return entry

    def _contents_entry(self, key: object, window: object) -> tuple[object, object]:
        """Return where the contents of a window are."""
        return key, self._state_windows(key)[window] if self._merging else window

    def _state_windows(self, key: object) -> dict[object, object]:
        """Return the sessions of a key, with their state windows; state of firesteel 0.1 had none of these."""
        known = self._sessions.data.get(key) or {}
        return known if isinstance(known, dict) else {window: window for window in known}

    def _act_on(self, result: TriggerResult, key: object, window: object, timestamp: int | None) -> None:
        """Do what a trigger wants; results have the timestamp of the element or timer that it was asked about."""
        entry = self._contents_entry(key, window)
        stored = self._table.data.get(entry) if result.is_fire() else None
        if stored is not None:
            self._emit(key, window, stored if result.is_purge() else self._contents.copied(stored), timestamp)
        if result.is_purge():
            self._table.remove(entry)

    def _emit(self, key: object, window: Any, stored: object, timestamp: int | None) -> None:
        elements = self._contents.read(stored)
        if elements:
            results = self._evaluate(key_of(key), window, elements, self._function_context)
            self.collector.collect(results, timestamp)

    def on_timer(self, domain: int, key: object, namespace: object, timestamp: int) -> None:
        """Call the trigger, and remove the window at its cleanup time."""
        window = namespace
        # A timer of a session that has been merged into another one; Flink ignores it, too.
        if self._merging and window not in self._state_windows(key):
            return
        self._enter(key, window)
        fire = self._trigger.on_event_time if domain == EVENT_TIME else self._trigger.on_processing_time
        self._act_on(fire(timestamp, window, self._trigger_context), key, window, timestamp)
        if (domain == EVENT_TIME) == self._is_event_time and timestamp == self._cleanup_time(window):
            self._clear(key, window)

    def _clear(self, key: object, window: object) -> None:
        self._table.remove(self._contents_entry(key, window))
        self._trigger.clear(window, self._trigger_context)
        if self._clears:
            self._window_function.clear(self._function_context)
        if self._merging:
            rest = {other: state for other, state in self._state_windows(key).items() if other != window}
            if rest:
                self._sessions.put(key, rest)
            else:
                self._sessions.remove(key)

    # --- time --------------------------------------------------------------------------------------------------

    def _cleanup_time(self, window: Any) -> int:
        last: int = window.max_timestamp()
        # Java's sum would overflow for the window of all time; Python's must not exceed the last watermark, or it never
        # fires.
        return min(last + self._lateness, MAX_WATERMARK) if self._is_event_time and self._lateness else last

    def _is_late(self, window: object) -> bool:
        return self._is_event_time and self._cleanup_time(window) <= self.timers.watermark

    def _register(self, time: int) -> None:
        """Register a timer for the current window, unless its time is the end of time."""
        if time == MAX_WATERMARK:
            return
        if self._is_event_time:
            self.timers.register_event_time_timer(time)
        else:
            self.timers.register_processing_time_timer(time)

    # --- merging windows ---------------------------------------------------------------------------------------

    def _merge_in(self, key: object, window: object) -> Any:
        """Merge a new window with the windows of its key that it intersects; return the resulting window."""
        known = self._state_windows(key)
        recorder = MergeRecorder()
        assert isinstance(self._assigner, MergingWindowAssigner)
        self._assigner.merge_windows([*known, window], recorder)
        merged, parts = next(((found, parts) for found, parts in recorder.merges if window in parts), (window, ()))
        old = [other for other in known if other in parts and other != merged]
        # The contents stay where those of the first session are; only the others are moved, as sessions usually grow by
        # one.
        state_window = known.get(merged, known[old[0]] if old else merged)
        self._merge_contents(key, merged, state_window, {other: known[other] for other in old})
        if merged not in known and not self._is_late(merged):
            rest = {other: state for other, state in known.items() if other not in old}
            self._sessions.put(key, rest | {merged: state_window})
        return merged

    def _merge_contents(self, key: object, merged: object, state_window: object, old: dict[object, object]) -> None:
        """Merge old windows, with their state windows, into another one."""
        if not old:
            return
        self._enter(key, merged)
        self._trigger_context.merged_entries = [(key, window) for window in old]
        self._trigger.on_merge(merged, self._trigger_context)
        for window in old:
            self._enter(key, window)
            self._trigger.clear(window, self._trigger_context)
            self._delete_cleanup(window)
        self._enter(key, merged)
        others = [(key, state) for state in old.values() if state != state_window]
        merge_stored(self._table, self._contents, (key, state_window), others)

    def _delete_cleanup(self, window: object) -> None:
        time = self._cleanup_time(window)
        if self._is_event_time:
            self.timers.delete_event_time_timer(time)
        else:
            self.timers.delete_processing_time_timer(time)
