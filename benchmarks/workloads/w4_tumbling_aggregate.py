"""W4: count, sum and maximum by key in tumbling event-time windows, with `aggregate`."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

from workloads.event_time import in_order, time_of

TITLE = "W4: tumbling window aggregate"
KEYS = 1000
WINDOW_MS = 5000
TEXT = f"""Count, sum and maximum by key in tumbling event-time windows, with `aggregate`: {KEYS:,} keys, ten records
per key and window."""

_EVENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
_ACCUMULATOR = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
_RESULT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()])


def make(n):
    """Return (key, amount, time)."""
    return n * 7919 % KEYS, n * 31 % 9973, time_of(n)


def key_of(event):
    return event[0]


def add(accumulator, amount):
    count, total, highest = accumulator
    return count + 1, total + amount, amount if amount > highest else highest


NOTHING = (0, 0, -1)


class Figures(AggregateFunction):
    def create_accumulator(self):
        return NOTHING

    def add(self, value, accumulator):
        return add(accumulator, value[1])

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1], max(a[2], b[2])


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        for figures in elements:
            yield key, context.window().end, *figures


def build(positions):
    return (
        positions.map(make, _EVENT)
        .assign_timestamps_and_watermarks(in_order(2))
        .key_by(key_of, Types.LONG())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .aggregate(Figures(), WithWindow(), _ACCUMULATOR, _RESULT)
    )


def expected(records):
    return len({(make(n)[0], time_of(n) // WINDOW_MS) for n in range(records)})


ROW = "key long, amount long, time long"


def rows(positions):
    return [make(n) for n in positions]


def results(batches):
    windows = {}
    for batch in batches:
        for key, amount, time in batch:
            window = (key, time - time % WINDOW_MS + WINDOW_MS)
            windows[window] = add(windows.get(window, NOTHING), amount)
        yield []
    yield [(*window, *figures) for window, figures in windows.items()]


def step(state, row):
    key, amount, time = row
    state = state or {}
    end = time - time % WINDOW_MS + WINDOW_MS
    state[end] = (key, *add(state.get(end, (key, *NOTHING))[1:], amount))
    return state, []


def fire(state, end_ms):
    key, *figures = state.pop(end_ms)
    return [(key, end_ms, *figures)]
