"""A directory that only the present leader can change, whatever happens to the others.

Layout below `high-availability.storageDir/cluster-id`:

    leader.lock             locked by the process that leads; the operating system unlocks it when the process ends
    state-<session id>/     everything that leaders write; there is always exactly one such directory
      jobs/ dirty-results/ ...   an entry is a file: a signature, then the pickled value
      leaders/              who leads each component
      temporary/            files being written
    holders/                a file per living view of the job graph store, locked by its process
    holds/                  empty files `<job>.<view>`

The session id in the directory's name is the fence. To take over is to rename the directory, one atomic step. A former
leader writes below a path that is no more: its `rename(2)` or `unlink(2)` fails, even if it was stopped between any two
instructions. So no lock has to be held during a write, and a stopped process never keeps the next leader from leading.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.errors import HighAvailabilityError, StaleLeaderError
from firesteel.runtime.highavailability.storage import FOLDERS, Names

__all__ = ["LEADERS", "FencedDirectory"]

LEADERS = "leaders"
_TEMPORARY = "temporary"
_STATE = "state-"
_FIND_TRIES = 200
_FIND_PAUSE_S = 0.005


class FencedDirectory:
    """Reads entries, and changes them under a leader session. All calls block; safe to use from several threads.

    Args:
        root: The cluster's directory; made if it is not there.
        codec: Signs entries and refuses those of others.
    """

    def __init__(self, root: Path, codec: EntryCodec) -> None:
        self.root = root
        self._codec = codec
        self._make()

    def take_over(self) -> str:
        """Begin a leader session: its id. Every earlier session is over when this returns."""
        session_id = uuid.uuid4().hex
        target = self._state(session_id)
        while True:
            with contextlib.suppress(FileNotFoundError):  # Another took over in between.
                os.rename(self._state(self.session_id()), target)
                _sync_directory(self.root)
                self._clear(target / LEADERS)
                self._clear(target / _TEMPORARY)
                return session_id

    def session_id(self) -> str:
        """The session that began last."""
        for _ in range(_FIND_TRIES):  # A directory that is being renamed may be missing from a listing.
            for name in os.listdir(self.root):
                if name.startswith(_STATE):
                    return name.removeprefix(_STATE)
            time.sleep(_FIND_PAUSE_S)
        raise HighAvailabilityError(f"{self.root} has no directory {_STATE}*; was it changed by hand?")

    def is_present(self, session_id: str) -> bool:
        """Whether a session is the present one."""
        return self._state(session_id).is_dir()

    def names(self, folder: str, session_id: str | None) -> Names:
        """The names in a folder, oldest entry first."""

        def find(state: Path) -> Names:
            with os.scandir(state / folder) as entries:
                return tuple(entry.name for entry in sorted(entries, key=_age))

        names: Names = self._read(session_id, f"listing {folder}", find)
        return names

    def read(self, folder: str, name: str, session_id: str | None) -> Any | None:
        """The value, or None if there is no such entry.

        Raises:
            CorruptEntryError: it can't be read back.
        """

        def find(state: Path) -> bytes | None:
            try:
                return (state / folder / name).read_bytes()
            except FileNotFoundError:
                if state.is_dir():
                    return None
                raise

        data = self._read(session_id, f"reading {folder}/{name}", find)
        return None if data is None else self._codec.decode(folder, name, data)

    def write(self, folder: str, name: str, value: Any, session_id: str | None) -> None:
        """Set the value: to a temporary file, to disk, under its name, and the name to disk."""
        data = self._codec.encode(folder, name, value)
        with self._changing(session_id, f"writing {folder}/{name}") as state:
            temporary = state / _TEMPORARY / uuid.uuid4().hex
            try:
                with open(temporary, "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(temporary, state / folder / name)
            except OSError:
                with contextlib.suppress(OSError):
                    temporary.unlink()  # A disk that is full must not be filled by repeated writes.
                raise
            _sync_directory(state / folder)

    def move(self, name: str, source: str, target: str, session_id: str | None) -> None:
        """Move an entry from one folder to another; no effect if it is not there."""
        with self._changing(session_id, f"moving {source}/{name}") as state:
            try:
                os.rename(state / source / name, state / target / name)
            except FileNotFoundError:
                os.stat(state)
            _sync_directory(state / target)
            _sync_directory(state / source)

    def delete(self, folder: str, name: str, session_id: str | None) -> None:
        """Delete an entry; no effect if it is not there."""
        with self._changing(session_id, f"deleting {folder}/{name}") as state:
            try:
                os.unlink(state / folder / name)
            except FileNotFoundError:
                os.stat(state)
            _sync_directory(state / folder)

    def _state(self, session_id: str) -> Path:
        return self.root / f"{_STATE}{session_id}"

    def _make(self) -> None:
        """Make the directory in one step, so that there never are two states."""
        if self.root.is_dir():
            return
        self.root.parent.mkdir(parents=True, exist_ok=True)
        made = self.root.parent / f".{self.root.name}-{uuid.uuid4().hex}"
        made.mkdir(mode=0o700)  # Entries are unpickled: nobody else may write them.
        for folder in (*FOLDERS, LEADERS, _TEMPORARY):
            (made / f"{_STATE}none" / folder).mkdir(parents=True)
        for folder in ("holders", "holds"):
            (made / folder).mkdir()
        try:
            os.rename(made, self.root)
        except OSError:  # Another process was faster.
            for path in sorted(made.rglob("*"), reverse=True):
                path.rmdir()
            made.rmdir()
        _sync_directory(self.root.parent)

    def _clear(self, folder: Path) -> None:
        for path in folder.iterdir():
            path.unlink(missing_ok=True)

    def _read(self, session_id: str | None, what: str, find: Callable[[Path], Any]) -> Any:
        """Read in a session's state, or, if None, in the present one, again if that changes meanwhile."""
        while True:
            present = session_id or self.session_id()
            try:
                return find(self._state(present))
            except FileNotFoundError:
                if session_id is not None and not self.is_present(session_id):
                    raise StaleLeaderError(what, session_id) from None
                if session_id is not None:
                    raise

    @contextlib.contextmanager
    def _changing(self, session_id: str | None, what: str) -> Iterator[Path]:
        present = session_id or self.session_id()
        try:
            yield self._state(present)
        except FileNotFoundError:
            if self.is_present(present):
                raise
            raise StaleLeaderError(what, present) from None


def _age(entry: os.DirEntry[str]) -> tuple[int, str]:
    try:
        return entry.stat().st_mtime_ns, entry.name
    except FileNotFoundError:  # Deleted since it was listed.
        return 0, entry.name


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
