"""Random runs of leaders that write large values: an entry never loses its file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.files.conditional_object import Tagged
from firesteel.common.files.remote_files import RemoteFileNotFoundError
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.object_lease import NOBODY, ObjectLease
from firesteel.runtime.highavailability.register import Register
from firesteel.runtime.highavailability.storage import JOBS, REMOVED_JOBS
from tests.runtime.highavailability.kinds import CODEC
from tests.runtime.highavailability.test_object_store import Object, Process, Store

LARGE = "x" * 3000


class Repeating(Object):
    """An object of which a write may be repeated after a lost answer, while others go on, and then finds itself."""

    def replace(self, data: bytes, tag: str | None) -> str | None:
        written = super().replace(data, tag)
        if self.store.chances.random() < 0.05:
            self.store.access()
            return None
        return written


class Quiet(Object):
    """An object as it is now, read while nothing happens."""

    def read(self) -> Tagged | None:
        return self.store.objects.get(self.name)


class Files:
    """The files of values; before each access others may go on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.contents: dict[str, bytes] = {}

    def __truediv__(self, name: str) -> File:
        return File(self, name)

    def iterdir(self) -> Iterator[File]:
        self.store.access()
        names = list(self.contents)
        self.store.access()
        return iter([self / name for name in names])


class File:
    def __init__(self, files: Files, name: str) -> None:
        self.files, self.name = files, name

    def create(self, data: bytes) -> None:
        self.files.store.access()
        self.files.contents[self.name] = data

    def read_bytes(self) -> bytes:
        if self.name not in self.files.contents:
            raise RemoteFileNotFoundError("read", self.name, "it does not exist")
        return self.files.contents[self.name]

    def unlink(self) -> None:
        self.files.store.access()
        self.files.contents.pop(self.name, None)


class Writer(Process):
    def __init__(self, store: Store, files: Any) -> None:
        super().__init__(store)
        self.entries = ObjectEntries(Repeating(store, "entries"), files, CODEC)
        lease = Register(Repeating(store, "leader"), CODEC, NOBODY)
        self.lease = ObjectLease(lease, self.entries, 5.0, lambda: store.now_s)

    def _step(self) -> None:
        if self.session_id is None or self.store.chances.random() < 0.5:
            super()._step()
            return
        try:
            self._change(self.session_id)
        except StaleLeaderError:
            self.session_id = None

    def _change(self, session_id: str) -> None:
        kind, name = self.store.chances.random(), self.store.chances.choice("abc")
        if kind < 0.6:
            self.entries.write(JOBS, name, session_id + LARGE, session_id)
        elif kind < 0.8:
            self.entries.delete(JOBS, name, session_id)
        else:
            self.entries.move(name, JOBS, REMOVED_JOBS, session_id)


@pytest.mark.parametrize("seed", range(40))
def test_an_entry_never_loses_its_file(seed: int) -> None:
    store = Store(random.Random(seed))
    files: Any = Files(store)
    writers = [Writer(store, files) for _ in range(3)]
    store.others = [writer.step for writer in writers]
    seen = ObjectEntries(Quiet(store, "entries"), files, CODEC)
    found = 0
    for _ in range(400):
        store.now_s += 0.1
        store.chances.choice(writers).step()
        for folder in (JOBS, REMOVED_JOBS):
            for name in seen.names(folder, None):
                assert seen.read(folder, name, None) is not None
                found += 1
    assert found > 50
