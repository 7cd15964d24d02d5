"""W5: the three highest amounts by key in sliding event-time windows."""

from __future__ import annotations

import heapq

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows

from workloads.event_time import in_order, time_of

TITLE = "W5: sliding window top-N"
KEYS = 100
SIZE_MS = 4000
SLIDE_MS = 1000
TOP = 3
TEXT = f"""The {TOP} highest amounts by key in sliding event-time windows: {KEYS} keys, each record is in
{SIZE_MS // SLIDE_MS} windows of 80 records."""

_EVENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


def make(n):
    """Return (key, amount, time)."""
    return n * 7919 % KEYS, n * 31 % 9973, time_of(n)


def key_of(event):
    return event[0]


def amount_of(event):
    return event[1]


def highest(events):
    return heapq.nlargest(TOP, events, key=amount_of)


class Highest(ProcessWindowFunction):
    def process(self, key, context, elements):
        end = context.window().end
        for event in highest(elements):
            yield key, end, event[1]


def build(positions):
    return (
        positions.map(make, _EVENT)
        .assign_timestamps_and_watermarks(in_order(2))
        .key_by(key_of, Types.LONG())
        .window(SlidingEventTimeWindows.of(Time.milliseconds(SIZE_MS), Time.milliseconds(SLIDE_MS)))
        .process(Highest(), Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()]))
    )


def ends_of(time):
    """Return the ends of the windows that contain a time."""
    last = time - time % SLIDE_MS + SIZE_MS
    return range(last - SIZE_MS + SLIDE_MS, last + 1, SLIDE_MS)


def expected(records):
    sizes = {}
    for n in range(records):
        key, _, time = make(n)
        slot = (key, time // SLIDE_MS)
        sizes[slot] = sizes.get(slot, 0) + 1
    windows = {}
    for (key, slot), size in sizes.items():
        for end in ends_of(slot * SLIDE_MS):
            windows[key, end] = windows.get((key, end), 0) + size
    return sum(min(TOP, size) for size in windows.values())


ROW = "key long, amount long, time long"


def rows(positions):
    return [make(n) for n in positions]


def results(batches):
    """Keep events once per slide, as hand-written code would not store them four times."""
    slots = {}
    for batch in batches:
        for event in batch:
            slots.setdefault((event[0], event[2] // SLIDE_MS), []).append(event)
        yield []
    windows = {(key, end) for key, slot in slots for end in ends_of(slot * SLIDE_MS)}
    for key, end in windows:
        first = (end - SIZE_MS) // SLIDE_MS
        events = [event for slot in range(first, end // SLIDE_MS) for event in slots.get((key, slot), ())]
        yield [(key, end, event[1]) for event in highest(events)]


def step(state, row):
    state = state or {}
    for end in ends_of(row[2]):
        state.setdefault(end, []).append(tuple(row))
    return state, []


def fire(state, end_ms):
    return [(event[0], end_ms, event[1]) for event in highest(state.pop(end_ms))]
