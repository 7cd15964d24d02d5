"""Lists write what was appended to them, in memory and on disk, and versions, merged or not, give the same lists."""

from __future__ import annotations

import copy
import gc
import itertools
import operator
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from firesteel.common import Time, Types
from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.common.values.ownership import own
from firesteel.datastream.functions import ProcessWindowFunction
from firesteel.datastream.state import ListStateDescriptor, StateTtlConfig
from firesteel.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    TumblingEventTimeWindows,
)
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.state import disk_list
from firesteel.operators.state.disk_list import DiskListView
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.list_part import ListPart, MissingPartError, continued
from firesteel.operators.state.state_store import StateStore
from firesteel.task.version_chains import merge
from firesteel.testing import OperatorHarness

TINY = {"state.backend.rocksdb.memory.fixed-per-slot": "500b"}

KEYS = st.sampled_from("ab")
ELEMENTS = st.lists(st.integers(0, 99), max_size=9)


def lists_of(on_disk: bool, ttl: bool) -> tuple[KeyedStateBackend, Any]:
    backend = KeyedStateBackend(Types.STRING(), 128, DiskStore(TINY) if on_disk else None)
    descriptor = ListStateDescriptor("list", Types.INT())
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    return backend, StateStore(backend).get_list_state(descriptor)


def merged(deltas: list[list[Any]]) -> list[Any]:
    """Return the deltas of two files as one."""
    frames = [[("vertex", "operator", encoded_entries(*delta)) for delta in file] for file in deltas]
    return [program_entries(state) for _, _, state in merge(*frames)]


class ListMachine(RuleBasedStateMachine):
    """A list per key beside a model; the files of its versions are merged and restored at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(disk_list, "CHUNK_ELEMENTS", 4)
        self.patch.setattr("firesteel.operators.state.disk_dict.CHUNK_ELEMENTS", 4)
        self.files: list[list[Any]] = []
        self.model: dict[str, list[int]] = {}

    @initialize(on_disk=st.booleans(), ttl=st.booleans())
    def begin(self, on_disk: bool, ttl: bool) -> None:
        self.ttl = ttl
        self.backend, self.state = lists_of(on_disk, ttl)

    @rule(key=KEYS, elements=ELEMENTS)
    def add(self, key: str, elements: list[int]) -> None:
        self.backend.current_key = key
        self.state.add_all(elements)
        if elements:
            self.model.setdefault(key, []).extend(elements)

    @rule(key=KEYS, elements=ELEMENTS)
    def update(self, key: str, elements: list[int]) -> None:
        self.backend.current_key = key
        self.state.update(elements)
        self.model[key] = elements

    @rule(key=KEYS)
    def clear(self, key: str) -> None:
        self.backend.current_key = key
        before = self.state.get()
        self.state.clear()
        assert list(before) == self.model.pop(key, [])

    @rule(into=KEYS, source=KEYS)
    def merge_keys(self, into: str, source: str) -> None:
        if into != source:
            self.state.merge(into, [source])
            if found := self.model.pop(source, []):
                self.model.setdefault(into, []).extend(found)

    @rule(full=st.sampled_from([True, False, False, False]))
    def write(self, full: bool) -> None:
        # A version is written part by part.
        deltas = self.backend.full() if full else self.backend.delta()
        file = [program_entries(encoded_entries(*delta)) for delta in deltas]
        self.files = [file] if full or not self.files else [*self.files, file]

        if not full and len(self.files) > 2:
            self.files[-2:] = [merged(self.files[-2:])]

    @rule(on_disk=st.booleans())
    def restore(self, on_disk: bool) -> None:
        self.write(full=False)
        self.backend, self.state = lists_of(on_disk, self.ttl)
        for delta in itertools.chain.from_iterable(self.files):
            self.backend.load(delta)

    @invariant()
    def same(self) -> None:
        for key in "ab":
            self.backend.current_key = key
            found = self.state.get() if hasattr(self, "state") else []
            assert [*found] == self.model.get(key, [])
            assert len(found) == len(self.model.get(key, []))

    def teardown(self) -> None:
        self.patch.undo()


ListMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestLists = ListMachine.TestCase


@given(st.lists(st.integers(), max_size=12), st.data())
def test_elements_of_a_long_list_by_position(elements: list[int], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_list, "CHUNK_ELEMENTS", 3)
        found = DiskStore({}).table().chunks.long_list(list(elements)).view()
        index = data.draw(st.slices(12))
        assert found[index] == elements[index]
        assert list(found) == elements
        for position in range(-len(elements), len(elements)):
            assert found[position] == elements[position]
        with pytest.raises(IndexError):
            found[len(elements)]


def test_a_part_without_what_comes_before_it() -> None:
    with pytest.raises(MissingPartError, match="continues at element 3, but has only 1 before it"):
        continued(["a"], ListPart(3, ["d"]))


class First(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield len(elements), elements[0]


def windows(name: str, configuration: dict[str, str]) -> OperatorHarness:
    hour = Time.hours(1)
    assigner: Any
    assigner, trigger, lateness = {
        "tumbling": (TumblingEventTimeWindows.of(hour), EventTimeTrigger(), 0),
        "late": (TumblingEventTimeWindows.of(hour), EventTimeTrigger(), 1),
        "session": (EventTimeSessionWindows.with_gap(hour), EventTimeTrigger(), 0),
        "count": (GlobalWindows.create(), CountTrigger.of(1_000_000), 0),
    }[name]
    descriptor = WindowOperator(assigner, trigger, lateness, None, None, First())
    return OperatorHarness(descriptor, key_selectors=[lambda e: "all"], configuration=configuration)


@pytest.mark.parametrize("configuration", [{}, {"state.backend.type": "rocksdb"}], ids=["memory", "disk"])
@pytest.mark.parametrize("name", ["tumbling", "late", "session", "count"])
def test_a_batch_writes_what_it_adds_to_a_window(name: str, configuration: dict[str, str]) -> None:
    """Each batch of 100 elements writes as much as the second one, also when the window has thousands."""
    with windows(name, configuration) as harness:
        operator = harness.operator
        assert isinstance(operator, KeyedOperator)
        sizes = []
        for batch in range(40):
            elements = [f"{n:06}" for n in range(batch * 100, batch * 100 + 100)]
            harness.process_batch(elements, [int(element) for element in elements])
            sizes.append(sum(len(pickle.dumps(delta)) for delta in operator.state_parts(full=False)))
        assert max(sizes[1:]) < 1.2 * sizes[1]
        if name != "count":
            harness.end()
            assert harness.values == [(4000, "000000")]


def test_a_view_is_a_list_that_stays_as_it_was() -> None:
    backend, state = lists_of(on_disk=True, ttl=False)
    backend.current_key = "a"
    state.add_all(range(2_500))
    state.add_all([2_500])
    view = state.get()
    assert isinstance(view, DiskListView)
    state.add_all(range(3_000))
    state.clear()
    list(backend.delta())
    list(backend.delta())
    expected = list(range(2_501))
    assert list(view) == expected
    assert pickle.loads(pickle.dumps(view)) == copy.deepcopy(view) == own(view) == expected
    assert operator.add(view, [1]) == [*expected, 1]
    assert list(reversed(view)) == expected[::-1]
    assert not hasattr(view, "append")
    store = backend.tables["list"]._disk.chunks  # type: ignore[attr-defined]
    del view
    gc.collect()
    list(backend.delta())
    assert store._store.between(b"", b"\xff", 10) == []


@pytest.mark.parametrize("before", [{}, {"state.backend.type": "rocksdb"}], ids=["memory", "disk"])
@pytest.mark.parametrize("after", [{}, {"state.backend.type": "rocksdb"}], ids=["memory", "disk"])
@pytest.mark.parametrize("name", ["tumbling", "late", "session"])
def test_long_windows_are_restored(name: str, before: dict[str, str], after: dict[str, str]) -> None:
    with windows(name, before) as first, windows(name, after) as second:
        operators = first.operator, second.operator
        assert all(isinstance(operator, KeyedOperator) for operator in operators)
        for batch in range(4):
            elements = [f"{n:06}" for n in range(batch * 700, batch * 700 + 700)]
            first.process_batch(elements, [int(element) for element in elements])
            for part in operators[0].state_parts(full=batch == 2):
                operators[1].load_keyed(pickle.loads(pickle.dumps(part)))
        second.operator.open()
        second.end()
        assert second.values == [(2800, "000000")]
