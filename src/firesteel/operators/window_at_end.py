"""The window operator for windows that do nothing before their end, as most: it needs neither timers nor a trigger.

Flink: `runtime.operators.windowing.WindowOperator` with the default trigger. Differs in what it costs: elements that
follow each other into the same windows go there together, and what ends together is one entry in a heap.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

from firesteel.common.keys import key_of
from firesteel.datastream.operator_descriptors import WindowOperator
from firesteel.datastream.triggers import EventTimeTrigger, ProcessingTimeTrigger
from firesteel.datastream.window import MergingWindowAssigner, SlidingEventTimeWindows, TumblingEventTimeWindows
from firesteel.operators.functions import pairs
from firesteel.operators.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.timers import EVENT_TIME, PROCESSING_TIME
from firesteel.operators.window_base import CONTENTS_TABLE, WindowOperatorBase
from firesteel.operators.window_table import ByKey, OpenWindow

_FLUSHED_KEYS = 1024
"""Results of so many keys are emitted at once."""

_key = itemgetter(0)

Part = tuple[Any, int, int]
"""(windows, start, end): the elements from `start` to before `end` are in those windows."""


def waits_for_end(descriptor: WindowOperator) -> bool:
    """Whether elements only gather in the windows until these end, and nothing comes behind."""
    trigger = EventTimeTrigger if descriptor.assigner.is_event_time() else ProcessingTimeTrigger
    merges = isinstance(descriptor.assigner, MergingWindowAssigner)
    return type(descriptor.trigger) is trigger and not merges and not descriptor.allowed_lateness_ms


class WindowAtEndRunner(WindowOperatorBase):
    """Gathers elements by window and key, and puts out what a window holds when its time is over."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: WindowOperator) -> None:
        super().__init__(name, task, output, descriptor)
        self._table = self.backend.window_table(CONTENTS_TABLE)
        self._domain = EVENT_TIME if self._is_event_time else PROCESSING_TIME
        assigner = descriptor.assigner
        has_panes = type(assigner) in (TumblingEventTimeWindows, SlidingEventTimeWindows)
        self._pane_at = assigner.pane_at if has_panes else None

    def open(self) -> None:
        """Open the functions; windows that were restored with timers need none here."""
        super().open()
        times: dict[Any, list[int]] = {}
        for key, window, timestamp in self.timers.take_all():
            times.setdefault((key, window), []).append(timestamp)
        for entry, registered in times.items():
            if entry[1].max_timestamp() not in registered:  # It fired, and waited for late elements since.
                self._table.discard(entry)

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Add the elements to their windows."""
        add_all = self._contents.add_all
        for windows, start, end in self._parts(values, timestamps):
            part = values[start:end]
            opened = self._opened(windows)
            for window in opened:
                add_all(window.by_key, part)
                window.touched.update(map(_key, part))
            if not opened:
                self._drop_late(part, None if timestamps is None else timestamps[start:end])

    def _parts(self, values: list[Any], timestamps: Timestamps) -> Iterator[Part]:
        """The elements in parts of those that follow each other into the same windows."""
        if self._pane_at is None or timestamps is None or None in timestamps:
            return self._parts_one_by_one(values, timestamps)
        return self._parts_by_panes(timestamps)

    def _parts_by_panes(self, timestamps: Any) -> Iterator[Part]:
        assert self._pane_at is not None
        begin, (start, end, windows) = 0, self._pane_at(timestamps[0])
        for position, timestamp in enumerate(timestamps):
            if not start <= timestamp < end:
                yield windows, begin, position
                begin, (start, end, windows) = position, self._pane_at(timestamp)
        yield windows, begin, len(timestamps)

    def _parts_one_by_one(self, values: list[Any], timestamps: Timestamps) -> Iterator[Part]:
        assign, context, backend = self._assigner.assign_windows, self._assigner_context, self.backend
        begin, windows = 0, None
        for position, ((key, value), timestamp) in enumerate(pairs(values, timestamps)):
            backend.current_key = key
            found = list(assign(value, MIN_TIMESTAMP if timestamp is None else timestamp, context))
            if found != windows:
                if windows is not None:
                    yield windows, begin, position
                begin, windows = position, found
        yield windows, begin, len(values)

    def _opened(self, windows: Any) -> list[OpenWindow]:
        """Those of the windows that are not late."""
        table, found = self._table, []
        for window in windows:
            opened = table.get(window)
            if opened is not None:
                found.append(opened)
            elif not self._is_event_time or window.max_timestamp() > self.timers.watermark:
                found.append(table.open(window))
        return found

    def _drop_late(self, part: list[Any], timestamps: Timestamps) -> None:
        for (_, value), timestamp in pairs(part, timestamps):
            if self._is_event_time and (MIN_TIMESTAMP if timestamp is None else timestamp) <= self.timers.watermark:
                self._drop(value, timestamp)

    def _fire(self, domain: int, until: int) -> None:
        if domain == self._domain:
            for window, by_key in self._table.take(until):
                self._emit(window, by_key)
        self.collector.flush()

    def _emit(self, window: Any, by_key: ByKey) -> None:
        backend, context, collect = self.backend, self._function_context, self.collector.collect
        evaluate, read, end = self._evaluate, self._contents.read, window.max_timestamp()
        remaining = iter(by_key.items())
        while part := list(islice(remaining, _FLUSHED_KEYS)):
            for key, stored in part:
                backend.current_key = key
                self._enter(key, window)
                collect(evaluate(key_of(key), window, read(stored), context), end)
                self._clear_function()
            self.collector.flush()

    def next_processing_time(self) -> int | None:
        """When the next window ends, if that is by the clock."""
        return None if self._is_event_time else self._table.first_end()
