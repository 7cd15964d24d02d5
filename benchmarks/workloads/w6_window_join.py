"""W6: orders and payments are joined by key in tumbling event-time windows."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

from workloads.event_time import in_order, time_of

TITLE = "W6: windowed join"
KEYS = 10_000
WINDOW_MS = 5000
TEXT = f"""Orders and payments are joined by key in tumbling event-time windows: {KEYS:,} keys, two orders and two
payments per key and window. PyFlink has no join of streams in Python: both streams are tagged, united and joined by a
window function, as its users do; firesteel runs the same program, and `join` in a row of its own."""

_EVENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()])
_RESULT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
_ORDER, _PAYMENT = 0, 1


def make(n):
    """Return (side, key, amount, time): of four numbers with the same key, two are orders and two are payments."""
    return n // 2 % 2, n // 4 * 7919 % KEYS, n % 9973, time_of(n)


def is_order(event):
    return event[0] == _ORDER


def is_payment(event):
    return event[0] == _PAYMENT


def key_of(event):
    return event[1]


def matched(order, payment):
    return order[1], order[2], payment[2]


def join(events):
    """Return all pairs of an order and a payment."""
    sides = [], []
    for event in events:
        sides[event[0]].append(event)
    for order in sides[_ORDER]:
        for payment in sides[_PAYMENT]:
            yield matched(order, payment)


class JoinSides(ProcessWindowFunction):
    def process(self, key, context, elements):
        return join(elements)


def _sides(positions):
    events = positions.map(make, _EVENT).assign_timestamps_and_watermarks(in_order(3))
    return events.filter(is_order), events.filter(is_payment)


def _windows():
    return TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))


def build(positions):
    """Build the program with tagged events in one stream."""
    orders, payments = _sides(positions)
    return orders.union(payments).key_by(key_of, Types.LONG()).window(_windows()).process(JoinSides(), _RESULT)


def build_join(positions):
    """Build the program with firesteel's `join`."""
    orders, payments = _sides(positions)
    joined = orders.join(payments).where(key_of, Types.LONG()).equal_to(key_of, Types.LONG())
    return joined.window(_windows()).apply(matched, _RESULT)


def expected(records):
    """Return the number of pairs: four numbers make four pairs."""
    assert records % 4 == 0
    return records


ROW = "side long, key long, amount long, time long"


def rows(positions):
    return [make(n) for n in positions]


def results(batches):
    windows = {}
    for batch in batches:
        for event in batch:
            windows.setdefault((event[1], event[3] // WINDOW_MS), []).append(event)
        yield []
    for events in windows.values():
        yield list(join(events))


def step(state, row):
    state = state or {}
    time = row[3]
    state.setdefault(time - time % WINDOW_MS + WINDOW_MS, []).append(tuple(row))
    return state, []


def fire(state, end_ms):
    return list(join(state.pop(end_ms)))
