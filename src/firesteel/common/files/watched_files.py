"""A value read from files, which is read again after they have changed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

__all__ = ["WatchedFiles"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_State = tuple[tuple[int, int, int, int] | None, ...]


class WatchedFiles(Generic[T]):
    """A value made of files. A change is noticed at the next use, by the times and numbers of the files.

    A change that can't be used (half of a file is there, certificate and key do not fit) is logged once, and the former
    value stays: a process that runs must not fail because somebody replaces a file.

    Args:
        what: What the files are, for the log.
        files: The files; symbolic links are followed, as Kubernetes replaces mounted secrets by them.
        read: Reads the value from the files.

    Raises:
        Exception: what `read` raises for the first value.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = Path(directory) / "token"
        ...     _ = path.write_text("one")
        ...     token = WatchedFiles("the token", [path], path.read_text)
        ...     _ = path.write_text("another")
        ...     token.current()
        'another'
    """

    def __init__(self, what: str, files: Sequence[Path], read: Callable[[], T]) -> None:
        self._what = what
        self._files = files
        self._read = read
        self._lock = threading.Lock()
        # Before the value, so that a change meanwhile is noticed.
        self._seen = self._state()
        self._changed_s = 0.0
        self._value = read()

    def current(self) -> T:
        """Return the value of the files as they are now, or the last one that could be read."""
        with self._lock:
            state = self._state()
            if state != self._seen:
                self._seen = state
                self._reload()
            return self._value

    @property
    def changed_s(self) -> float:
        """When the files that were read last had changed, in seconds since the epoch; 0 if they have not since."""
        return self._changed_s

    def _reload(self) -> None:
        try:
            self._value = self._read()
            # The time of the inode: a file that was moved here may have been written long before.
            self._changed_s = max((one[3] / 1e9 for one in self._seen if one is not None), default=0.0)
            logger.info("%s was read again, as the files have changed", self._what)
        except Exception as error:
            logger.warning("%s has changed and can't be used, so the former one stays: %s", self._what, error)

    def _state(self) -> _State:
        return tuple(_state_of(path) for path in self._files)


def _state_of(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
