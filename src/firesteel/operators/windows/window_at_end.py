"""The window operator for windows that fire only at their end, the common case: it needs no timers or trigger.

Flink: `runtime.operators.windowing.WindowOperator` with the default trigger. It is cheaper: consecutive elements of the
same windows are added together, and windows that end together share one heap entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.values.ownership import are_immutable, own
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.functions.triggers import EventTimeTrigger, ProcessingTimeTrigger
from firesteel.functions.window_assigners import (
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.state.timers import EVENT_TIME, PROCESSING_TIME
from firesteel.operators.windows.window_base import CONTENTS_TABLE, WindowOperatorBase
from firesteel.operators.windows.window_table import ByKey, OpenWindow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firesteel.functions.windows import Window

_FLUSHED_KEYS = 1024
"""Number of keys whose results are emitted at once."""

_key = itemgetter(0)

Run = tuple[int, int]
"""(begin, end): consecutive elements from `begin` (inclusive) to `end` (exclusive)."""


def waits_for_end(descriptor: WindowOperator) -> bool:
    """Return whether windows fire exactly once, at their end, without merging and allowed lateness."""
    trigger = EventTimeTrigger if descriptor.assigner.is_event_time() else ProcessingTimeTrigger
    merges = isinstance(descriptor.assigner, MergingWindowAssigner)
    return type(descriptor.trigger) is trigger and not merges and not descriptor.allowed_lateness_ms


class WindowAtEndRunner(WindowOperatorBase):
    """A window operator that collects elements by window and key, and emits each window at its end."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: WindowOperator) -> None:
        super().__init__(name, task, output, descriptor)
        self._table = self.backend.window_table(CONTENTS_TABLE, self._contents.grows)
        self._domain = EVENT_TIME if self._is_event_time else PROCESSING_TIME
        assigner = descriptor.assigner
        self._panes: tuple[int, int] | None = None
        if type(assigner) in (TumblingEventTimeWindows, SlidingEventTimeWindows):
            assert isinstance(assigner, TumblingEventTimeWindows | SlidingEventTimeWindows)
            self._panes = assigner.panes()

    def open(self) -> None:
        """Open the functions; discard timers of restored windows, which are not needed here."""
        super().open()
        timers = self.timers
        for key, window, timestamp in timers.registered():
            end = window.max_timestamp()
            if timestamp != end and not timers.is_registered(self._domain, key, window, end):
                self._table.discard((key, window))  # Already fired, kept for late elements only.
        timers.forget_all()

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Add elements to their windows."""
        late: list[Run] = []
        runs_of: dict[OpenWindow, list[Run]] = {}
        shared = False
        for windows, runs in self._by_windows(values, timestamps):
            opened = self._opened(windows)
            shared |= len(opened) > 1
            for window in opened:
                runs_of.setdefault(window, []).extend(runs)
            if not opened:
                late += runs
        part, part_runs = values, [(0, len(values))]
        # In several windows an element would be one object, which a function of one window could change for the others.
        copies = shared and not are_immutable([value for _, value in values])
        for window, runs in runs_of.items():
            runs.sort()
            if runs != part_runs:
                part, part_runs = [element for begin, end in runs for element in values[begin:end]], runs
            window.touch(map(_key, part), self._contents.grows)
            self._contents.add_all(window.by_key, [own(element) for element in part] if copies else part)
        if late:
            self._drop_late(late, list(pairs(values, timestamps)))

    def _by_windows(self, values: list[Any], timestamps: Timestamps) -> Iterator[tuple[Any, list[Run]]]:
        """Return runs of consecutive elements grouped by the windows that they belong to."""
        if self._panes is None or timestamps is None or None in timestamps:
            return self._ask_for_each(values, timestamps)
        return self._by_panes(timestamps, *self._panes)

    def _by_panes(self, timestamps: Any, length: int, offset: int) -> Iterator[tuple[Any, list[Run]]]:
        runs: dict[int, list[Run]] = {}
        begin, start = 0, timestamps[0] - (timestamps[0] - offset) % length
        end = start + length
        for position, timestamp in enumerate(timestamps):
            if not start <= timestamp < end:
                runs.setdefault(start, []).append((begin, position))
                begin, start = position, timestamp - (timestamp - offset) % length
                end = start + length
        runs.setdefault(start, []).append((begin, len(timestamps)))
        for start, found in runs.items():
            yield self._assigner.assign_windows(None, start, self._assigner_context), found

    def _ask_for_each(self, values: list[Any], timestamps: Timestamps) -> Iterator[tuple[Any, list[Run]]]:
        assign, context, backend = self._assigner.assign_windows, self._assigner_context, self.backend
        show = self._for_assigner
        begin, windows = 0, None
        for position, ((key, value), timestamp) in enumerate(pairs(values, timestamps)):
            backend.current_key = key
            # With the key set: assigners of count windows have a state by key.
            found = list(assign(show(value), MIN_TIMESTAMP if timestamp is None else timestamp, context))
            if found != windows:
                if windows is not None:
                    yield windows, [(begin, position)]
                begin, windows = position, found
        yield windows, [(begin, len(values))]

    def _opened(self, windows: Iterable[Window]) -> list[OpenWindow]:
        """Return the open windows of those that are not late."""
        table, found = self._table, []
        for window in windows:
            opened = table.get(window)
            if opened is not None:
                found.append(opened)
            elif not self._is_event_time or window.max_timestamp() > self.timers.watermark:
                found.append(table.open(window))
        return found

    def _drop_late(self, late: list[Run], elements: list[Any]) -> None:
        for begin, end in sorted(late):
            for (_, value), timestamp in elements[begin:end]:
                event_time = MIN_TIMESTAMP if timestamp is None else timestamp
                if self._is_event_time and event_time <= self.timers.watermark:
                    self._drop(value, timestamp)

    def _fire(self, domain: int, until: int) -> None:
        if domain == self._domain:
            for window, by_key in self._table.take(until):
                self._emit(window, by_key)
        self.collector.flush()

    def _emit(self, window: Any, by_key: ByKey) -> None:
        backend, context, collect = self.backend, self._function_context, self.collector.collect
        evaluate, read, end = self._evaluate, self._contents.read, window.max_timestamp()
        context.current_window = window
        rest = iter(by_key.items())
        while part := list(islice(rest, _FLUSHED_KEYS)):
            for key, stored in part:
                backend.current_key, backend.current_entry = key, (key, window)
                if elements := read(stored):
                    collect(evaluate(key_of(key), window, elements, context), end)
                if self._clears:
                    self._window_function.clear(context)
            self.collector.flush()

    def next_processing_time(self) -> int | None:
        """Return the end of the next processing-time window in ms, or None."""
        return None if self._is_event_time else self._table.first_end()
