"""Dictionaries on disk behave as those in memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from firesteel.common.keys.canonical_keys import canonical_key
from firesteel.common.types import Row
from firesteel.datastream.window import TimeWindow
from firesteel.operators.state import embedded_store
from firesteel.operators.state.cache_memory import approximate_size, memory_of_slot
from firesteel.operators.state.descriptions import DESCRIBED
from firesteel.operators.state.disk_store import DiskStore, local_directory
from firesteel.operators.state.embedded_store import EmbeddedStore, mapped_bytes
from firesteel.operators.state.keyed_state_backend import TIMERS_TABLE, KeyedStateBackend
from firesteel.operators.state.map_table import MapsInMemory, MapsOnDisk, MapTable
from firesteel.operators.state.state_table import DELETED

TINY = {"state.backend.rocksdb.memory.fixed-per-slot": "700b"}
NUMBERS = (0, 1, -5, 2**70, *range(2, 12), canonical_key(1.0), canonical_key(True))
TUPLES = (("a", "a"), ("a", 1), Row("a", 1), ("k", TimeWindow(0, 10)), ("k", TimeWindow(10, 20)))
LONG = ("x" * 700, "x" * 701, (10**2000, "x"), canonical_key(["y" * 900]))
"""Entries that are longer than the keys of the store may be."""

ENTRIES = st.sampled_from(("a", "ä", "", b"a", *NUMBERS, *TUPLES, *LONG))


class DiskDictMachine(RuleBasedStateMachine):
    """A table with a cache of three entries per generation, beside a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.table = DiskStore(TINY).table()
        self.model: dict[Any, Any] = {}

    @rule(entry=ENTRIES, value=st.integers())
    def put(self, entry: Any, value: int) -> None:
        self.table[entry] = [value]
        self.model[entry] = [value]

    @rule(entry=ENTRIES)
    def put_none(self, entry: Any) -> None:
        self.table[entry] = self.model[entry] = None

    @rule(entry=ENTRIES, value=st.integers())
    def change_in_place(self, entry: Any, value: int) -> None:
        stored = self.table.get(entry)
        if stored is not None:
            stored.append(value)
            self.table.changed.append(entry)
            self.model[entry].append(value)

    @rule()
    def forget_changed(self) -> None:
        self.table.settle()
        self.table.changed.clear()

    @rule(entry=ENTRIES)
    def get(self, entry: Any) -> None:
        assert self.table.get(entry) == self.model.get(entry)
        assert (entry in self.table) == (entry in self.model)

    @rule(entry=ENTRIES)
    def remove(self, entry: Any) -> None:
        assert self.table.pop(entry, "absent") == self.model.pop(entry, "absent")

    @rule(entries=st.lists(ENTRIES))
    def read(self, entries: list[Any]) -> None:
        in_memory = list(self.table._cached)
        expected = {entry: self.model.get(entry, "absent") for entry in entries}
        assert dict(self.table.values_of(entries, "absent")) == expected
        assert list(self.table._cached) == in_memory

    @rule()
    def list_all(self) -> None:
        assert dict(self.table.items()) == self.model
        assert set(self.table) == set(self.model)

    @invariant()
    def sizes_are_the_same(self) -> None:
        assert len(self.table) == len(self.model)
        assert bool(self.table) == bool(self.model)


TestDiskDict = DiskDictMachine.TestCase
TestDiskDict.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_same_entry_has_the_same_bytes_whichever_objects_it_is_made_of() -> None:
    part = "".join(["long", "text"])
    same = (part, part)
    other = ("".join(["long", "text"]), "".join(["lo", "ngtext"]))
    table = DiskStore({}).table()
    table[same] = 1
    table._drop([same])
    table[other] = 2
    assert dict(table.items()) == {same: 2}


def test_changes_are_found_again_on_disk() -> None:
    backend = KeyedStateBackend(None, 128, DiskStore(TINY))
    table = backend.table("list")
    for key in range(10):
        table.put(key, [key])
    assert [name for name, _ in backend.full()] == ["list", DESCRIBED]
    assert list(backend.delta()) == []
    table.data.get(3).append(30)
    table.dirty.append(3)
    table.remove(4)
    assert list(backend.delta()) == [("list", {3: [3, 30], 4: DELETED})]
    again = KeyedStateBackend(None, 128, DiskStore({}))
    for part in backend.full():
        again.load(part)
    assert dict(again.table("list").data.items()) == {k: [3, 30] if k == 3 else [k] for k in range(10) if k != 4}


def test_files_are_in_the_configured_directory_and_unlinked(tmp_path: Any) -> None:
    table = DiskStore({"state.backend.rocksdb.localdir": str(tmp_path)}).table()
    for key in range(20_000):
        table[key] = "x" * 1000
    assert len(table) == 20_000
    assert list(tmp_path.iterdir()) == []


def test_mapped_pages_are_bounded_as_well() -> None:
    store = EmbeddedStore(tempfile.gettempdir(), 4 << 20)
    before = mapped_bytes()
    keys = [b"%08d" % number for number in range(50_000)]
    store.put_all((key, b"x" * 2000) for key in keys)
    assert store.get_several(keys)[-1] == (keys[-1], b"x" * 2000)
    assert store.between(b"", b"9", 100_000)[0] == (keys[0], b"x" * 2000)
    assert mapped_bytes() - before < 24 << 20
    store.remove_between(keys[10], keys[49_990])
    assert [key for key, _ in store.between(b"", b"9", 100_000)] == keys[:10] + keys[49_990:]
    store.close()


def test_a_store_that_nobody_has_any_more_takes_no_space(tmp_path: Path) -> None:
    """Neither does one whose directory was full."""
    for _ in range(3):
        table = DiskStore({"state.backend.rocksdb.localdir": str(tmp_path)}).table()
        table["key"] = "value"
        del table
    gc.collect()
    held = [os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.exists() or file.is_symlink()]
    assert not [path for path in held if path.startswith(str(tmp_path))]


def test_state_is_on_disk_also_where_space_cannot_be_reserved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded_store, "_RESERVES", False)
    store = EmbeddedStore(str(tmp_path), 1 << 20)
    store.put_all((b"%06d" % number, b"x" * 1000) for number in range(5_000))
    assert len(store.between(b"", b"9", 10_000)) == 5_000
    store.close()


FULL_DISK = """
import resource, sys
from firesteel.operators.state.disk_store import DiskStore
options = {"state.backend.rocksdb.localdir": sys.argv[1], "state.backend.rocksdb.memory.fixed-per-slot": "1mb"}
table = DiskStore(options).table()
resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))
try:
    for number in range(10_000):
        table[number] = "x" * 5_000
except OSError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_that_names_the_directory(tmp_path: Path) -> None:
    """Not the end of the process, which writing to a page without space would be."""
    found = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "state on disk takes 7 MB and needs more; see state.backend.rocksdb.localdir" in found.stdout
    assert str(tmp_path) in found.stdout


@pytest.mark.parametrize("size", [10, 50_000])
def test_entries_in_memory_are_bounded_by_bytes(size: int) -> None:
    """Three tables share 4 MB, however large their values are, also where these grow in place."""
    store = DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": "4mb"})
    tables = [store.table() for _ in range(3)]
    tracemalloc.start()
    for key in range(40_000_000 // (size + 500)):
        for table in tables:
            table[key] = [b"x" * size]
    assert 1 << 20 < tracemalloc.get_traced_memory()[0] < 8 << 20
    for key in range(100):
        tables[0].get(key).append(b"y" * 200_000)
        tables[0].changed.append(key)
    store.end_version()
    assert tracemalloc.get_traced_memory()[0] < 8 << 20
    tracemalloc.stop()
    assert [len(value) for value in map(tables[0].get, range(100))] == [2] * 100


def test_changed_entries_of_a_large_batch_count_as_memory() -> None:
    limit = 4 << 20
    backend = KeyedStateBackend(None, 128, DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": f"{limit}b"}))
    table = backend.table("s")
    tracemalloc.start()
    for key in range(50_000):
        table.put(key, f"{key:0200}")
    assert tracemalloc.get_traced_memory()[0] < limit
    for _ in backend.delta():
        pass
    assert tracemalloc.get_traced_memory()[0] < limit / 2  # Nothing takes room that was only read for the version.
    tracemalloc.stop()


def test_changed_entries_leave_room_for_some_values() -> None:
    """With room for two values, each one that is read would be a transaction of its own, and slow a batch 200 times."""
    backend = KeyedStateBackend(None, 128, DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": "2mb"}))
    tables = [backend.table("s"), backend.table(TIMERS_TABLE)]
    for key in range(20_000):
        tables[0].put(("k", TimeWindow(key, key + 1)), "x" * 100)
        tables[1].put((key, 0, None, key), True)
    assert all(table.data.share.noted > 1 << 20 for table in tables)
    assert len(tables[0].data._cached) > 100
    assert len(tables[1].data._new) > 100 or tables[1].data._review_at > 100


def test_entries_that_change_again_and_again_are_noted_once() -> None:
    backend = KeyedStateBackend(None, 128, DiskStore({}))
    table = backend.table("s")
    for value in range(300_000):
        table.put(value % 100, value)
        if value % 1000 == 0:
            backend.forget_repetitions()
    assert len(table.dirty) < 110_000


class _Slotted:
    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = "x" * 1000


def test_sizes_of_rows_and_objects_are_those_of_what_they_have() -> None:
    assert approximate_size(Row("a" * 10_000, "b" * 10_000)) > 20_000
    assert 1000 < approximate_size(_Slotted()) < 1300


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 160 << 20),
        ({"taskmanager.memory.managed.size": "1gb", "taskmanager.numberOfTaskSlots": "4"}, 256 << 20),
        ({"taskmanager.memory.managed.size": "1gb", "state.backend.rocksdb.memory.managed": "false"}, 160 << 20),
        ({"taskmanager.memory.managed.size": "1gb", "state.backend.rocksdb.memory.fixed-per-slot": "5mb"}, 5 << 20),
    ],
)
def test_memory_of_a_slot(options: dict[str, str], expected: int) -> None:
    assert memory_of_slot(options) == expected


MAP_KEYS = st.sampled_from(("a", "", b"a", 0, 1, 2**70, ("a", 1), None, *LONG))


class MapTableMachine(RuleBasedStateMachine):
    """A table of maps in memory and one on disk, with a tiny cache, beside dictionaries and their versions."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[MapTable] = [MapsInMemory("@s"), MapsOnDisk("@s", DiskStore(TINY))]
        self.model: dict[Any, dict[Any, int | None]] = {}
        self.saved: list[dict[Any, Any]] = [{}, {}]

    @rule(entry=ENTRIES, key=MAP_KEYS, value=st.none() | st.integers())
    def put(self, entry: Any, key: Any, value: int | None) -> None:
        for table in self.tables:
            table.put(entry, key, value)
        self.model.setdefault(entry, {})[key] = value

    @rule(entry=ENTRIES, key=MAP_KEYS)
    def remove(self, entry: Any, key: Any) -> None:
        for table in self.tables:
            table.remove(entry, key)
        self.model.get(entry, {}).pop(key, None)
        if not self.model.get(entry):
            self.model.pop(entry, None)

    @rule(entry=ENTRIES)
    def clear(self, entry: Any) -> None:
        for table in self.tables:
            table.clear(entry)
        self.model.pop(entry, None)

    @rule(entry=ENTRIES, key=MAP_KEYS)
    def read(self, entry: Any, key: Any) -> None:
        expected = self.model.get(entry, {})
        for table in self.tables:
            assert table.get(entry, key, "nothing") == expected.get(key, "nothing")
            assert dict(table.items(entry)) == expected
            assert table.is_empty(entry) == (not expected)

    @rule(full=st.booleans())
    def write_version(self, full: bool) -> None:
        for table, saved in zip(self.tables, self.saved, strict=True):
            if full:
                saved.clear()
            saved.update(table.entries() if full else table.changes())
        expected = {(entry, key): value for entry, stored in self.model.items() for key, value in stored.items()}
        for saved in self.saved:
            assert {entry: value for entry, value in saved.items() if value is not DELETED} == expected

    @invariant()
    def as_large(self) -> None:
        assert [len(table) for table in self.tables] == [len(self.model)] * 2


TestMapTable = MapTableMachine.TestCase
TestMapTable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("store", [None, DiskStore({})], ids=["memory", "disk"])
def test_a_version_has_only_the_changes_of_a_large_map(store: DiskStore | None) -> None:
    backend = KeyedStateBackend(None, 128, store)
    table = backend.map_table("s\0map")
    for n in range(25_000):
        table.put("k", n, n)
    assert [len(part) for name, part in backend.delta() if name != DESCRIBED] == [10_000, 10_000, 5_000]
    table.put("k", 7, 70)
    table.remove("k", 8)
    assert list(backend.delta()) == [("s\0map", {("k", 7): 70, ("k", 8): DELETED})]
    again = KeyedStateBackend(None, 128, store)
    for delta in backend.full():
        again.load(delta)
    assert dict(again.map_table("s\0map").items("k")) == dict(table.items("k"))


def test_one_of_several_directories_is_used_and_missing_ones_are_created(tmp_path: Any) -> None:
    unusable = tmp_path / "file"
    unusable.touch()
    first, second = tmp_path / "first", tmp_path / "second"
    assert local_directory(f"{unusable},{first}:{second}") in (str(first), str(second))
    assert first.is_dir()
    assert second.is_dir()


def test_a_store_without_a_usable_directory_fails(tmp_path: Any) -> None:
    unusable = tmp_path / "file"
    unusable.touch()
    with pytest.raises(OSError, match="No local storage directories available"):
        DiskStore({"state.backend.rocksdb.localdir": str(unusable)})
