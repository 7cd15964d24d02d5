"""The input of keyed operators in BATCH mode, in memory and spilled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.common.keys.canonical_keys import canonical_key
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY
from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.datastream.functions import BroadcastProcessFunction, KeyedCoProcessFunction
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.functions.operator_descriptors import BroadcastProcessOperator, CoProcessOperator, ReduceOperator
from firesteel.operators.chain.operator import TaskInfo
from firesteel.operators.exchange.spill import SpilledList
from firesteel.operators.sorted_input import SortedInput
from firesteel.testing import OperatorHarness

pytestmark = pytest.mark.slow

SPILLS = {SORTED_INPUTS_MEMORY.key: "2 kb"}


def task(**configuration: str) -> TaskInfo:
    return TaskInfo("job", "vertex", "vertex", 0, 1, 128, 0, True, dict(configuration))


class Clashing:
    """A key with a hash that others have, too."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number % 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clashing) and self.number == other.number

    def __repr__(self) -> str:
        return f"Clashing({self.number})"


KEYS = st.one_of(
    st.integers(0, 5),
    st.sampled_from(["a", "b", "c" * 50, "", None, 1.0, True, ("a", 1), ("a", 1.0)]),
    st.integers(0, 6).map(Clashing),
    st.sampled_from([1, 1.0, True, (True, 2), [1], {"a": 1}]).map(canonical_key),
    st.sampled_from([0.0, -0.0, float("nan"), -float("nan")]).map(canonical_key),
)
ELEMENTS = st.tuples(KEYS, st.one_of(st.none(), st.integers(-3, 3)), st.integers(0, 1), st.booleans())


def add_all(kept: SortedInput, elements: list[Any]) -> None:
    for number, (key, timestamp, index, is_large) in enumerate(elements):
        kept.add(index, [(key, (number, "x" * 500 * is_large))], None if timestamp is None else [timestamp])


def taken(kept: SortedInput) -> list[tuple[Any, list[tuple[int, int, int | None]]]]:
    """(key, its elements in order): the elements as (input, number, timestamp)."""
    found = []
    for key, batches in kept.take():
        elements = []
        for index, pairs, timestamps in batches:
            assert all(pair[0] == key for pair in pairs)
            elements += [(index, pair[1][0], time) for pair, time in zip(pairs, timestamps, strict=True)]
        found.append((key, elements))
    return found


@settings(deadline=None)
@given(st.lists(ELEMENTS, max_size=300), st.sampled_from(["1 gb", "2 kb", "1"]))
def test_each_key_comes_once_with_its_elements_in_order(elements: list[Any], memory: str) -> None:
    expected: dict[Any, list[Any]] = defaultdict(list)
    for number, (key, timestamp, index, _) in enumerate(elements):
        expected[key].append((index, number, timestamp))
    for of_key in expected.values():
        of_key.sort(key=lambda element: -(2**63) if element[2] is None else element[2])
    kept = SortedInput(task(**{SORTED_INPUTS_MEMORY.key: memory}))
    add_all(kept, elements)
    found = taken(kept)
    assert len(found) == len(expected)
    assert dict(found) == expected


def test_many_runs_are_merged_on_the_way_and_ties_stay_in_order() -> None:
    kept = SortedInput(task(**{SORTED_INPUTS_MEMORY.key: "1"}))
    add_all(kept, [("ab"[number % 2], None, 0, False) for number in range(10_000)])
    assert sorted(kept._levels.index(runs) for runs in kept._levels if runs is not None) == [0, 1, 2]
    found = dict(taken(kept))
    assert [number for _, number, _ in found["a"]] == list(range(0, 10_000, 2))
    assert [number for _, number, _ in found["b"]] == list(range(1, 10_000, 2))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_files_have_no_name_and_are_closed_at_the_end_by_close_and_with_the_object(tmp_path: Path) -> None:
    before = open_files()
    for end in (lambda kept: list(kept.take()), SortedInput.close, lambda kept: None):
        kept = SortedInput(task(**{SORTED_INPUTS_MEMORY.key: "1", "io.tmp.dirs": str(tmp_path)}))
        add_all(kept, [(number, None, 0, False) for number in range(100)])
        assert open_files() > before
        assert list(tmp_path.iterdir()) == []
        end(kept)
        del kept
        assert open_files() == before


def test_memory_that_cannot_be_read_names_the_option() -> None:
    with pytest.raises(ValueError, match=r"option 'execution.sorted-inputs.memory': .* found 'much'"):
        SortedInput(task(**{SORTED_INPUTS_MEMORY.key: "much"}))


def test_size_estimate_is_close_and_sees_large_elements_among_small_ones() -> None:
    estimate = SizeEstimate()
    for _ in range(100):
        estimate.add([("k", 1)] * 1000)
    small = estimate.bytes
    assert 100_000 * 150 < small < 100_000 * 400
    for _ in range(100):
        estimate.add([("k", "x" * 10_000)] * 100)
    assert 10_000 * 9_000 < estimate.bytes - small < 10_000 * 13_000
    assert estimate.elements == 110_000


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=5)), st.sampled_from([1, 300, 1 << 20]))
def test_spilled_list_gives_batches_back_in_order(batches: list[list[int]], memory: int) -> None:
    spilled = SpilledList(memory, None)
    for batch in batches:
        spilled.add(batch, None)
    assert list(spilled.take()) == [(batch, None) for batch in batches]
    assert list(spilled.take()) == []


# --- in operators --------------------------------------------------------------------------------------------------


def test_reduce_gives_the_same_spilled() -> None:
    values = [(f"key {number % 97}", number) for number in range(5_000)]
    results = []
    for configuration in ({}, SPILLS):
        reduce = ReduceOperator(lambda a, b: (a[0], a[1] + b[1]))
        with OperatorHarness(
            reduce, key_selectors=[lambda v: v[0]], is_batch=True, configuration=configuration
        ) as harness:
            harness.process_batch(values)
            harness.end()
            results.append(sorted(harness.values))
    assert results[0] == results[1]
    assert len(results[0]) == 97


class Log(KeyedCoProcessFunction):
    """Each key's elements in order, with how many the state has seen."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def _log(self, value: Any, ctx: Any) -> Any:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        ctx.timer_service().register_event_time_timer(1_000_000)
        yield *value, seen

    process_element1 = process_element2 = _log

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "end", self.seen.value()


def test_both_inputs_of_a_keyed_operator_come_together_key_by_key() -> None:
    with OperatorHarness(
        CoProcessOperator(Log(), keyed=True),
        key_selectors=[lambda v: v[0]] * 2,
        is_batch=True,
        configuration=SPILLS,
    ) as harness:
        for number in range(300):
            for index in (1, 0):
                harness.process((number % 50, 2 * number + index), 2 * number + index, index)
        harness.end(2)
        by_key: dict[int, list[Any]] = {}
        for element in harness.values:
            by_key.setdefault(element[0], []).append(element[1:])
        order = [element[0] for element in harness.values]
    assert sum(a != b for a, b in pairwise(order)) == 49
    for key, elements in by_key.items():
        numbers = sorted(2 * n + i for n in range(key, 300, 50) for i in (0, 1))
        assert elements == [*[(n, seen + 1) for seen, n in enumerate(numbers)], ("end", 12)]


class Offset(BroadcastProcessFunction):
    descriptor = MapStateDescriptor("offset", Types.STRING(), Types.INT())

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value + ctx.get_broadcast_state(self.descriptor).get("offset")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.descriptor).put("offset", value)


def test_broadcast_side_is_processed_first_while_the_other_side_is_spilled() -> None:
    descriptor = BroadcastProcessOperator(Offset(), (Offset.descriptor,), keyed=False)
    with OperatorHarness(descriptor, is_batch=True, configuration=SPILLS) as harness:
        for start in range(0, 1000, 10):
            harness.process_batch(range(start, start + 10))
        assert harness.operator._kept._places
        harness.process(1000, input_index=1)
        assert harness.values == []
        harness.end(2)
        assert harness.values == list(range(1000, 2000))


# --- memory ---------------------------------------------------------------------------------------------------------

_GROWTH = """
import resource, sys
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.testing import OperatorHarness

class Count(KeyedProcessFunction):
    count = 0
    def process_element(self, value, ctx):
        Count.count += 1

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

select = lambda value: value[0] % KEYS
settings = {"execution.sorted-inputs.memory": "16 mb"}
with OperatorHarness(KeyedProcessOperator(Count()), key_selectors=[select], is_batch=True, configuration=settings) as h:
    before = peak()
    for start in range(0, 1_000_000, 4000):
        h.process_batch([(number, str(number) * 10) for number in range(start, start + 4000)])
    h.end()
print(Count.count, peak() - before)
"""


@pytest.mark.parametrize("keys", [1, 100_003])
def test_memory_stays_bounded_over_a_million_records(keys: int) -> None:
    """Kept in memory they take more than 300 MB."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _GROWTH.replace("KEYS", str(keys))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    count, grown_mb = map(int, done.stdout.split())
    assert count == 1_000_000
    assert grown_mb < 100


def test_spilled_list_takes_more_once_it_was_taken() -> None:
    spilled = SpilledList(10_000, None)
    for _ in range(3):
        for number in range(600):
            spilled.add([number], None)
        assert spilled._places
        assert [values[0] for values, _ in spilled.take()] == list(range(600))
    spilled.add([1], None)
    assert not spilled._places
