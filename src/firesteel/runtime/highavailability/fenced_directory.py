"""A directory that only the current leader can change.

Layout below `high-availability.storageDir/cluster-id`:

    leader.lock             locked by the process that leads; the operating system unlocks it when the process ends
    state-<session id>/     the data of leaders; there is always exactly one such directory
      jobs/ dirty-results/ ...   an entry is a file: a signature, then the pickled value
      leaders/              the leader of each component
      temporary/            files being written
    holders/                a file per live view of the job graph store, locked by its process
    holds/                  empty files `<job>.<view>`

The session id in the directory's name is the fencing token. A new leader takes over by renaming the directory, which is
atomic. A former leader writes below a path that no longer exists, so its `rename(2)` or `unlink(2)` fails, even if it
was suspended between any two instructions. So no lock is needed during a write, and a suspended process never blocks
the next leader.

Why: `docs/decisions/0009-fencing.md`.
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
from firesteel.runtime.highavailability.high_availability_errors import HighAvailabilityError, StaleLeaderError
from firesteel.runtime.highavailability.storage import FOLDERS, Names
from firesteel.runtime.highavailability.trusted_storage import check_storage

__all__ = ["LEADERS", "FencedDirectory"]

LEADERS = "leaders"
_TEMPORARY = "temporary"
_STATE = "state-"
_FIND_TRIES = 200
_FIND_PAUSE_S = 0.005


class FencedDirectory:
    """Entries in a directory, changed under a leader session. All methods block and are thread-safe.

    Args:
        root: The cluster's directory, created if necessary.
        codec: Signs entries and rejects untrusted ones.

    Raises:
        UnsafeDirectoryError: another user could have written to the directory.
    """

    def __init__(self, root: Path, codec: EntryCodec) -> None:
        self.root = root
        self._codec = codec
        self._make()
        check_storage(root)

    def take_over(self) -> str:
        """Start a leader session and return its id; all earlier sessions are over then."""
        session_id = uuid.uuid4().hex
        target = self._state(session_id)
        while True:
            with contextlib.suppress(FileNotFoundError):  # Another process took over in between.
                os.rename(self._state(self.session_id()), target)
                _sync_directory(self.root)
                self._clear(target / LEADERS)
                self._clear(target / _TEMPORARY)
                return session_id

    def session_id(self) -> str:
        """Return the id of the latest session."""
        for _ in range(_FIND_TRIES):  # A directory that is being renamed may be missing from a listing.
            for name in os.listdir(self.root):
                if name.startswith(_STATE):
                    return name.removeprefix(_STATE)
            time.sleep(_FIND_PAUSE_S)
        raise HighAvailabilityError(f"{self.root} has no directory {_STATE}*; was it modified manually?")

    def is_present(self, session_id: str) -> bool:
        """Return whether a session is the current one."""
        return self._state(session_id).is_dir()

    def names(self, folder: str, session_id: str | None) -> Names:
        """Return the names in a folder, oldest entry first."""

        def find(state: Path) -> Names:
            with os.scandir(state / folder) as entries:
                return tuple(entry.name for entry in sorted(entries, key=_age))

        names: Names = self._read(session_id, f"listing {folder}", find)
        return names

    def read(self, folder: str, name: str, session_id: str | None) -> Any | None:
        """Return the value of an entry, or None if there is no such entry.

        Raises:
            CorruptEntryError: the entry can't be read.
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

    def write(self, folder: str, name: str, value: object, session_id: str | None) -> None:
        """Set the value durably: write a temporary file, sync it, rename it, and sync the directory."""
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
                    temporary.unlink()  # Remove the file, so that retries do not fill a full disk even more.
                raise
            _sync_directory(state / folder)

    def move(self, name: str, source: str, target: str, session_id: str | None) -> None:
        """Move an entry from one folder to another; no effect if it does not exist."""
        with self._changing(session_id, f"moving {source}/{name}") as state:
            try:
                os.rename(state / source / name, state / target / name)
            except FileNotFoundError:
                os.stat(state)
            _sync_directory(state / target)
            _sync_directory(state / source)

    def delete(self, folder: str, name: str, session_id: str | None) -> None:
        """Delete an entry; no effect if it does not exist."""
        with self._changing(session_id, f"deleting {folder}/{name}") as state:
            try:
                os.unlink(state / folder / name)
            except FileNotFoundError:
                os.stat(state)
            _sync_directory(state / folder)

    def _state(self, session_id: str) -> Path:
        return self.root / f"{_STATE}{session_id}"

    def _make(self) -> None:
        """Create the directory atomically, so that there are never two states."""
        if self.root.is_dir():
            return
        self.root.parent.mkdir(parents=True, exist_ok=True)
        # Complete before it gets its name: another process must never find the directory without a state.
        made = self.root.parent / f".{self.root.name}-{uuid.uuid4().hex}"
        made.mkdir(mode=0o700)  # Entries are unpickled, so no other user may write them.
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
        """Read from a session's state, or from the current state if None, with a retry if it changes meanwhile."""
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
    except FileNotFoundError:  # Deleted after it was listed.
        return 0, entry.name


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
