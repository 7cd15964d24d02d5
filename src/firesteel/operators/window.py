"""The window operator: assigners, triggers, merging windows, allowed lateness and late data, as in Flink.

Flink: `runtime.operators.windowing.WindowOperator`. Differs in how merged windows keep their contents: Flink leaves
them under a state window and maps to it, here they move to the window that results.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.keys import key_of
from firesteel.datastream.operator_descriptors import WindowOperator
from firesteel.datastream.triggers import EventTimeTrigger, ProcessingTimeTrigger
from firesteel.datastream.window import MergingWindowAssigner, TriggerResult
from firesteel.operators.context import TaskRuntimeContext
from firesteel.operators.functions import close_function, open_function, pairs
from firesteel.operators.keyed import NO_KEY, KeyedOperator
from firesteel.operators.metrics import TaskMetricGroup
from firesteel.operators.operator import MAX_WATERMARK, MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.state_backend import NAMESPACED
from firesteel.operators.state_store import StateStore
from firesteel.operators.timers import EVENT_TIME
from firesteel.operators.window_contents import contents_of, evaluation_of, merge_stored
from firesteel.operators.window_contexts import (
    AssignerContext,
    MergeRecorder,
    WindowFunctionContext,
    WindowTriggerContext,
)
from firesteel.operators.window_ends import WindowEnds


class WindowRunner(KeyedOperator):
    """Runs one window operation over `(key, value)` elements."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: WindowOperator) -> None:
        super().__init__(name, task, output, descriptor.key_type)
        self._assigner = descriptor.assigner
        self._trigger = descriptor.trigger
        self._lateness = descriptor.allowed_lateness_ms
        self._late_tag = descriptor.late_data_tag
        self._functions = [f for f in (descriptor.aggregation, descriptor.window_function) if f is not None]
        self._window_function = descriptor.window_function
        self._contents = contents_of(descriptor.aggregation, descriptor.state_type)
        self._evaluate = evaluation_of(descriptor.window_function)
        self._table = self.backend.table(f"{NAMESPACED}window-contents")
        self._merging = isinstance(self._assigner, MergingWindowAssigner)
        self._is_event_time = bool(self._assigner.is_event_time())
        at_end = EventTimeTrigger if self._is_event_time else ProcessingTimeTrigger
        # Then all timers of a window are those that its first element registers; in event time it needs none.
        self._waits_for_end = type(self._trigger) is at_end and not self._lateness and not self._merging
        self._ends: WindowEnds | None = None
        self._sessions = self.backend.table("merging-window-set")

    def open(self) -> None:
        """Open the functions and make the contexts."""
        super().open()
        runtime_context = TaskRuntimeContext(self.name, self.task, StateStore(self.backend))
        for function in self._functions:
            open_function(function, runtime_context)
        self._assigner_context = AssignerContext(runtime_context)
        metrics = TaskMetricGroup(self.task.metrics, (self.name,))
        self._late_dropped = metrics.counter("numLateRecordsDropped")
        self._trigger_context = WindowTriggerContext(StateStore(self.backend, namespaced=True), self.timers, metrics)
        self._function_context = WindowFunctionContext(self.backend, self.timers, self._merging)
        self._follow_restored_windows()

    def _follow_restored_windows(self) -> None:
        """Windows that wait for their end have no timers; restored with another trigger or lateness they get some."""
        registered = set(self.timers.registered())
        without_timers = (entry for entry in self._table.data if entry not in registered)
        if self._waits_for_end and self._is_event_time:
            self._ends = WindowEnds(without_timers)
        elif self._is_event_time and not self._merging:
            for key, window in list(without_timers):
                self.backend.current_key = key
                self._enter(key, window)
                self.timers.register_event_time_timer(window.max_timestamp())
                self._register_cleanup(window)
            self.backend.current_key = NO_KEY

    def close(self) -> None:
        """Close the functions."""
        super().close()
        for function in self._functions:
            close_function(function)

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Add each element to its windows; fire those whose trigger says so."""
        assign, add, data, dirty = (
            self._assigner.assign_windows,
            self._contents.add,
            self._table.data,
            self._table.dirty,
        )
        context, backend, waits_for_end = self._assigner_context, self.backend, self._waits_for_end
        for (key, value), timestamp in pairs(values, timestamps):
            backend.current_key = key
            event_time = MIN_TIMESTAMP if timestamp is None else timestamp
            windows = assign(value, event_time, context)
            if self._merging:
                windows = [self._merge_in(key, window) for window in windows]
            late = True
            for window in windows:
                stored = data.get(entry := (key, window)) if waits_for_end else None
                if stored is not None:  # So it is not late, and its trigger has no say before its end.
                    added = add(stored, value)
                    if added is not stored:
                        data[entry] = added
                    dirty.add(entry)
                    late = False
                elif self._add(key, value, event_time, window):
                    late = False
            if late:
                self._drop(value, timestamp, event_time)

    def _add(self, key: Any, value: Any, event_time: int, window: Any) -> bool:
        """Add to a window and ask its trigger; False: the window is late."""
        if self._is_late(window):
            return False
        table, entry = self._table, (key, window)
        if self._ends is not None:
            if entry not in table.data:  # What is there may be None: an accumulator of the user's own.
                self._ends.add(key, window)
            table.put(entry, self._contents.add(None, value))
            return True
        self._enter(key, window)
        table.put(entry, self._contents.add(table.data.get(entry), value))
        result = self._trigger.on_element(value, event_time, window, self._trigger_context)
        self._act_on(result, key, window)
        self._register_cleanup(window)
        return True

    def _drop(self, value: Any, timestamp: int | None, event_time: int) -> None:
        is_late = self._is_event_time and event_time + self._lateness <= self.timers.watermark
        if not is_late:
            return
        if self._late_tag is None:
            self._late_dropped.inc()
        else:
            self.collector.collect_side(self._late_tag, value, timestamp)

    def _enter(self, key: Any, window: Any) -> Any:
        """Make key and window the ones that state, timers and contexts refer to; returns their entry."""
        entry = (key, window)
        self.backend.current_entry = entry
        self.timers.namespace = window
        self._trigger_context.entry = entry
        self._function_context.current_window = window
        return entry

    def _act_on(self, result: TriggerResult, key: Any, window: Any) -> None:
        entry = (key, window)
        if result.is_fire() and entry in self._table.data:
            self._emit(key, window, self._table.data[entry])
        if result.is_purge():
            self._table.remove(entry)

    def _emit(self, key: Any, window: Any, stored: Any) -> None:
        elements = self._contents.read(stored)
        results = self._evaluate(key_of(key), window, elements, self._function_context)
        self.collector.collect(results, window.max_timestamp())

    def _fire(self, domain: int, until: int) -> None:
        if self._ends is not None and domain == EVENT_TIME:
            for key, window in self._ends.take(until):
                self.backend.current_key = key
                entry = self._enter(key, window)
                self._emit(key, window, self._table.data[entry])
                self._table.remove(entry)
                self._clear_function()
        super()._fire(domain, until)

    def on_timer(self, domain: int, key: Any, namespace: Any, timestamp: int) -> None:
        """Ask the trigger; remove the window when its time is over."""
        window = namespace
        if self._merging and window not in (self._sessions.data.get(key) or ()):
            return
        self._enter(key, window)
        fire = self._trigger.on_event_time if domain == EVENT_TIME else self._trigger.on_processing_time
        self._act_on(fire(timestamp, window, self._trigger_context), key, window)
        if (domain == EVENT_TIME) == self._is_event_time and timestamp == self._cleanup_time(window):
            self._clear(key, window)

    def _clear(self, key: Any, window: Any) -> None:
        self._table.remove((key, window))
        self._trigger.clear(window, self._trigger_context)
        self._clear_function()
        if self._merging:
            rest = [other for other in self._sessions.data.get(key, ()) if other != window]
            if rest:
                self._sessions.put(key, rest)
            else:
                self._sessions.remove(key)

    def _clear_function(self) -> None:
        if hasattr(self._window_function, "clear"):
            self._window_function.clear(self._function_context)

    # --- time --------------------------------------------------------------------------------------------------

    def _cleanup_time(self, window: Any) -> int:
        last: int = window.max_timestamp()
        return min(last + self._lateness, MAX_WATERMARK) if self._is_event_time and self._lateness else last

    def _is_late(self, window: Any) -> bool:
        return self._is_event_time and self._cleanup_time(window) <= self.timers.watermark

    def _register_cleanup(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if time == MAX_WATERMARK:
            return
        if self._is_event_time:
            self.timers.register_event_time_timer(time)
        else:
            self.timers.register_processing_time_timer(time)

    # --- merging windows ---------------------------------------------------------------------------------------

    def _merge_in(self, key: Any, window: Any) -> Any:
        """The window that the new one belongs to once it was merged with those of its key that it touches."""
        known = self._sessions.data.get(key) or []
        recorder = MergeRecorder()
        self._assigner.merge_windows([*known, window], recorder)
        result = window
        for merged, parts in recorder.merges:
            if window not in parts:
                continue
            result = merged
            old = [other for other in known if other in parts and other != merged]
            self._merge_contents(key, merged, old)
            known = [other for other in known if other not in old]
        if self._is_late(result):
            return result
        if result not in known:
            self._sessions.put(key, [*known, result])
        return result

    def _merge_contents(self, key: Any, merged: Any, old: list[Any]) -> None:
        if not old:
            return
        entries = [(key, window) for window in old]
        entry = self._enter(key, merged)
        self._trigger_context.merged_entries = entries
        self._trigger.on_merge(merged, self._trigger_context)
        for window in old:
            self._enter(key, window)
            self._trigger.clear(window, self._trigger_context)
            self._delete_cleanup(window)
        self._enter(key, merged)
        merge_stored(self._table, self._contents, entry, entries)

    def _delete_cleanup(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if self._is_event_time:
            self.timers.delete_event_time_timer(time)
        else:
            self.timers.delete_processing_time_timer(time)
