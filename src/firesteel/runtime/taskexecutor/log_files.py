"""The log files of a process, which other processes read in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.options.rpc_options import TASKMANAGER_LOG_PATH
from firesteel.errors import FiresteelError

__all__ = ["MAX_PIECE_BYTES", "LogFile", "LogFileNotFoundError", "LogFiles"]

MAX_PIECE_BYTES = 1 << 20
"""Maximum size of a piece, as a response is a single message."""

_SUFFIXES, _NAMES = (".log", ".out", ".err"), ("stdout", "stderr")


class LogFileNotFoundError(FiresteelError):
    """The log file does not exist."""

    def __str__(self) -> str:
        name, known = self.args
        return f"log file {name!r} not found; available: {', '.join(known) or 'none'}"


@dataclass(frozen=True, slots=True)
class LogFile:
    """The current metadata of a log file. Flink: `runtime.rest.messages.LogInfo`.

    Attributes:
        name: Its name in the log directory.
        size: Size in bytes.
        modified_ms: Time of the last write (ms since the epoch).
    """

    name: str
    size: int
    modified_ms: int

    @classmethod
    def at(cls, path: Path) -> LogFile:
        """Return the metadata of the file at a path."""
        stat = path.stat()
        return cls(path.name, stat.st_size, round(stat.st_mtime * 1000))


class LogFiles:
    """The log files in the log directory of a process; other files there are not accessible.

    Args:
        log: The main log file; None if the process logs to its terminal only.

    Example:
        >>> LogFiles(None).list()
        ()
    """

    def __init__(self, log: Path | None) -> None:
        self._directory = None if log is None else log.absolute().parent

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> LogFiles:
        """Return the log files of `taskmanager.log.path`."""
        return cls(None if (path := TASKMANAGER_LOG_PATH.of(configuration)) is None else Path(path))

    def list(self) -> tuple[LogFile, ...]:
        """Return all log files, by name."""
        return tuple(LogFile.at(path) for path in self._paths())

    def read(self, name: str, offset: int, most: int = MAX_PIECE_BYTES) -> bytes:
        """Return up to `most` bytes of a file from `offset` on, empty at its end.

        Raises:
            LogFileNotFoundError: the file does not exist.
        """
        paths = {path.name: path for path in self._paths()}
        if name not in paths:
            raise LogFileNotFoundError(name, tuple(paths))
        with paths[name].open("rb") as file:
            file.seek(offset)
            return file.read(min(most, MAX_PIECE_BYTES))

    def _paths(self) -> tuple[Path, ...]:
        if self._directory is None or not self._directory.is_dir():
            return ()
        found = (path for path in self._directory.iterdir() if _is_log(path.name))
        return tuple(sorted(path for path in found if path.is_file() and not path.is_symlink()))


def _is_log(name: str) -> bool:
    """Return whether a file is a log; the older files of a rotated log end in a number."""
    stem, _, last = name.rpartition(".")
    return (stem if last.isdigit() else name).endswith(_SUFFIXES) or name in _NAMES
