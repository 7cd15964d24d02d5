"""Cost of not sharing values where Flink serializes them: the same program with and without copies.

python benchmarks/bench_values.py [--case fresh|kept|branches|state|flat] [--records N] [--runs K]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
import pipelines
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

pipelines.pickle_by_value()

KEYS = 1000
SWITCH = "pipeline.object-reuse"


class Fresh:
    """Returns a new list per record, to which nothing else refers."""

    def __call__(self, n):
        return [n, n + 1, "text"]


class Kept:
    """Returns the same list repeatedly, changed in between."""

    def __init__(self):
        self._buffer = [0, 0, "text"]

    def __call__(self, n):
        self._buffer[0] = n
        return self._buffer


class Last(KeyedProcessFunction):
    """Changes a list in a state without declared type."""

    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        last = self.state.value() or []
        last.append(value)
        self.state.update(last[-5:])
        yield len(last)


def flat(positions: Any) -> Any:
    """Return tuples of numbers without declared type; immutable values are never copied."""
    return positions.map(lambda n: (n, n + 1)).map(lambda pair: (pair[1], pair[0]))


def fresh(positions: Any) -> Any:
    return positions.map(Fresh()).map(lambda values: values[0])


def kept(positions: Any) -> Any:
    return positions.map(Kept()).map(lambda values: values[0])


def branches(positions: Any) -> Any:
    lists = positions.map(Fresh())
    return lists.map(lambda values: values[0]).union(lists.map(lambda values: values[1]))


def state(positions: Any) -> Any:
    return positions.key_by(lambda n: n % KEYS, Types.LONG()).process(Last(), Types.LONG())


TEXTS: dict[str, tuple[Callable[[Any], Any], int, str]] = {
    "flat": (flat, 1, "Two maps give tuples of numbers without declared type."),
    "fresh": (fresh, 1, "A map gives a new list per record, without declared type."),
    "kept": (kept, 1, "A map gives the same list for each record and changes it in between: it must be copied."),
    "branches": (branches, 2, "Two maps read the lists that a third one gives."),
    "state": (state, 1, f"A list of five in a ValueState without declared type for each of {KEYS:,} keys."),
}


def case(name: str) -> harness.Case:
    """Return the engines of a case."""
    build, results, text = TEXTS[name]

    def runs(reuses: bool) -> harness.Runs:
        settings = {SWITCH: str(reuses).lower()}
        return pipelines.runs_of(build, lambda records: results * records, "firesteel", settings)

    return harness.Case(
        f"Values: {name}",
        text,
        {
            "firesteel": harness.Engine("firesteel", lambda: runs(False)),
            "reuse": harness.Engine(f"firesteel with `{SWITCH}`: nothing is copied", lambda: runs(True)),
        },
    )


TEXT = """\
Flink serialises values between operators, into state and at branches, so what user code changes later changes nothing
else. firesteel hands objects on in one process and copies those that somebody could still change. With
`pipeline.object-reuse` it copies nothing; then the program answers for not changing what it has given away."""

if __name__ == "__main__":
    harness.main("values", TEXT, {name: case(name) for name in TEXTS})
