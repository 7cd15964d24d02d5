"""Windows on disk beside windows in memory: the same windows fire, and the same versions are written and restored."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from firesteel.datastream.window import TimeWindow
from firesteel.operators.state import disk_dict, disk_list
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.list_part import ListPart, continued
from firesteel.operators.state.state_table import DELETED
from firesteel.operators.windows import windows_on_disk
from firesteel.operators.windows.window_table import WindowsInMemory, WindowTable
from firesteel.operators.windows.windows_on_disk import WindowsOnDisk

MIN = -(1 << 63)
KEYS = st.integers(0, 30) | st.sampled_from(["a", "b" * 300, None, ("x", 1), 2.5])
WINDOWS = st.builds(lambda start: TimeWindow(10 * start, 10 * start + 10), st.integers(0, 6)) | st.just(
    TimeWindow(MIN - 5, MIN + 5)  # A sliding window of the first time begins before all times.
)


class _Windows(RuleBasedStateMachine):
    """Elements, watermarks, versions and restores, with room for two entries in memory and for four elements of a list.

    Attributes:
        saved: What the versions of each table say together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for module in (disk_dict, disk_list, windows_on_disk):
            self.patch.setattr(module, "CHUNK_ELEMENTS", 4)
        self.patch.setattr(disk_dict, "_NEW_ENTRIES", 1)

    def teardown(self) -> None:
        self.patch.undo()

    @initialize(grows=st.booleans())
    def make(self, grows: bool) -> None:
        self.grows, self.now = grows, MIN
        self.tables = self.new_tables()
        self.saved: list[dict[Any, Any]] = [{}, {}]

    def new_tables(self) -> list[WindowTable]:
        store = DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": "1b"})
        return [WindowsInMemory(self.grows), WindowsOnDisk(store, self.grows)]

    @rule(window=WINDOWS, elements=st.lists(st.tuples(KEYS, st.integers(0, 9)), min_size=1, max_size=12))
    def add(self, window: TimeWindow, elements: list[Any]) -> None:
        if window.max_timestamp() <= self.now:
            return
        for table in self.tables:
            opened = table.get(window) or table.open(window)
            opened.touch([key for key, _ in elements], self.grows)
            for key, value in elements:
                stored = opened.by_key.get(key)
                if self.grows:
                    stored = [] if stored is None else stored
                    stored.append(value)
                    opened.by_key[key] = stored
                else:
                    opened.by_key[key] = value if stored is None else stored + value

    @rule(time=st.integers(0, 75))
    def fire(self, time: int) -> None:
        self.now = max(self.now, time)
        assert self.fired(self.tables[0]) == self.fired(self.tables[1])

    @rule(time=st.integers(0, 75))
    def set_the_clock_back(self, time: int) -> None:
        self.now = min(self.now, time)

    def fired(self, table: WindowTable) -> list[Any]:
        """Return what fires; a window on disk whose last key a version has removed stays open, with nothing in it."""
        fired = [
            (window, {key: shown(value) for key, value in ended.items()}) for window, ended in table.take(self.now)
        ]
        return [(window, found) for window, found in fired if found]

    @rule()
    def write_changes(self) -> None:
        for table, saved in zip(self.tables, self.saved, strict=True):
            for entry, value in table.changes():
                self.note(saved, entry, value)
        self.check_saved()

    def note(self, saved: dict[Any, Any], entry: Any, value: Any) -> None:
        if value is DELETED:
            saved.pop(entry, None)
        else:
            whole = shown(continued(saved.get(entry), value))
            saved[entry] = list(whole) if self.grows else whole

    @rule()
    def write_all(self) -> None:
        self.saved = [{entry: shown(value) for entry, value in table.entries()} for table in self.tables]
        self.check_saved()

    def check_saved(self) -> None:
        entries = {entry: shown(value) for entry, value in self.tables[0].items()}
        assert self.saved[0] == self.saved[1] == entries

    @rule(removed=st.booleans())
    def restore(self, removed: bool) -> None:
        self.write_changes()
        before, self.tables = self.tables[0], self.new_tables()
        entries = [(entry, shown(value)) for entry, value in before.items()]
        for table, saved in zip(self.tables, self.saved, strict=True):
            for entry, value in entries:
                # As the versions of two batches have it.
                parts = [value[:2], ListPart(2, value[2:])] if self.grows and len(value) > 2 else [shown(value)]
                for part in parts:
                    table.load(entry, part)
            if removed and entries:
                table.discard(entries[0][0])
                del saved[entries[0][0]]

    @invariant()
    def have_the_same(self) -> None:
        entries = [{entry: shown(value) for entry, value in table.items()} for table in self.tables]
        assert entries[0] == entries[1]


def shown(value: Any) -> Any:
    """Return a list of its own for a list."""
    return list(value) if not isinstance(value, int) else value


TestWindows = _Windows.TestCase


def test_millions_of_keys_of_a_window_take_no_memory() -> None:
    """Neither open windows nor those that have ended since the last version keep their keys."""
    limit, keys = 1 << 20, 40_000
    table = WindowsOnDisk(DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": f"{limit}b"}), grows=False)
    window = TimeWindow(0, 10)
    tracemalloc.start()
    for begin in range(0, keys, 1000):
        opened = table.get(window) or table.open(window)
        for key in range(begin, begin + 1000):
            opened.touch([key], grows=False)
            opened.by_key[key] = 1
        assert sum(1 for _ in table.changes()) == 1000
    assert tracemalloc.get_traced_memory()[0] < limit
    assert sum(1 for _, by_key in table.take(9) for _ in by_key.items()) == keys
    assert tracemalloc.get_traced_memory()[0] < limit
    assert sum(1 for _, value in table.changes() if value is DELETED) == keys
    tracemalloc.stop()
    assert not len(table)
