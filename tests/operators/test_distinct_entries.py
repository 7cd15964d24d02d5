"""Distinct entries in little memory are those of a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.operators.state import distinct_entries, state_table
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.distinct_entries import distinct
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend

# -1 and -2 have the same hash.
ENTRIES = st.one_of(st.integers(-3, 3), st.text("ab", max_size=2), st.tuples(st.integers(-2, 0), st.text("a")))


@pytest.fixture(autouse=True)
def _sorts_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_entries, "_FEW", 1)


@given(st.lists(ENTRIES))
def test_distinct_entries_are_those_of_a_dictionary(entries: list[object]) -> None:
    assert distinct(entries) == list(dict.fromkeys(entries))


def test_many_entries_are_told_apart() -> None:
    entries = [number * 7919 % 5000 for number in range(20_000)]
    assert distinct(entries) == entries[:5000]


def test_a_version_has_each_change_once_also_of_what_went_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_table, "_AT_ONCE", 10)
    store = DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": "20 kb"})
    backend = KeyedStateBackend(None, 128, store)
    table = backend.table("numbers")
    for key in [*range(1000), *range(0, 1000, 3)]:
        table.put(key, key + 1)
    table.remove(7)
    [entries] = [dict(entries) for name, entries in backend.delta() if name == "numbers"]
    assert entries.pop(7) is state_table.DELETED
    assert entries == {key: key + 1 for key in range(1000) if key != 7}
