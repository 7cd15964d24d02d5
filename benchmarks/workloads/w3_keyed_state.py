"""W3: a count and a sum in a ValueState for each of 100,000 keys, one result per record."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

TITLE = "W3: keyed process with ValueState"
KEYS = 100_000
TEXT = f"A count and a sum in a ValueState for each of {KEYS:,} keys, one result per record."


class KeyOf:
    """Returns the key of a number, out of a given number of keys."""

    def __init__(self, keys):
        self._keys = keys

    def __call__(self, n):
        return n * 7919 % self._keys


def update(state, n):
    """Return (count, sum) of a key after one more record."""
    return (1, n) if state is None else (state[0] + 1, state[1] + n)


class CountAndSum(KeyedProcessFunction):
    def open(self, runtime_context):
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.state = runtime_context.get_state(ValueStateDescriptor("count and sum", pair))

    def process_element(self, value, ctx):
        state = update(self.state.value(), value)
        self.state.update(state)
        yield ctx.get_current_key(), state[0], state[1]


def build(positions, keys=KEYS):
    return positions.key_by(KeyOf(keys), Types.LONG()).process(
        CountAndSum(), Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    )


def expected(records):
    return records


ROW = "key long, value long"


def rows(positions):
    key_of = KeyOf(KEYS)
    return [(key_of(n), n) for n in positions]


def results(batches):
    states = {}
    for batch in batches:
        found = []
        for key, n in batch:
            state = states[key] = update(states.get(key), n)
            found.append((key, state[0], state[1]))
        yield found


def step(state, row):
    state = update(state, row[1])
    return state, [(row[0], *state)]
