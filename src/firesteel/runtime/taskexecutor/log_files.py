"""The log files of a process, read in pieces by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firesteel.errors import FiresteelError

__all__ = ["LOG_PATH", "MAX_PIECE_BYTES", "LogFile", "LogFileNotFoundError", "LogFiles"]

LOG_PATH = "taskmanager.log.path"
MAX_PIECE_BYTES = 1 << 20
"""So much is read at once: an answer is one message."""

_SUFFIXES, _NAMES = (".log", ".out", ".err"), ("stdout", "stderr")


class LogFileNotFoundError(FiresteelError):
    """There is no such log file."""

    def __str__(self) -> str:
        name, known = self.args
        return f"there is no log file {name}; there are {', '.join(known) or 'none'}"


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file as it is now. Flink: `runtime.rest.messages.LogInfo`.

    Attributes:
        name: Its name in the log directory.
        size: In bytes.
        modified_ms: When it was written to last (ms since the epoch).
    """

    name: str
    size: int
    modified_ms: int

    @classmethod
    def at(cls, path: Path) -> LogFile:
        """The file at a path."""
        stat = path.stat()
        return cls(path.name, stat.st_size, round(stat.st_mtime * 1000))


class LogFiles:
    """The files beside the log of a process that are logs: others in its directory are nobody's business.

    Args:
        log: The log; None: the process logs to its terminal, and there are no files.

    Example:
        >>> LogFiles(None).list()
        ()
    """

    def __init__(self, log: Path | None) -> None:
        self._directory = None if log is None else log.absolute().parent

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> LogFiles:
        """Those that `taskmanager.log.path` names."""
        return cls(Path(configuration[LOG_PATH]) if LOG_PATH in configuration else None)

    def list(self) -> tuple[LogFile, ...]:
        """All of them, by name."""
        return tuple(LogFile.at(path) for path in self._paths())

    def read(self, name: str, offset: int, most: int = MAX_PIECE_BYTES) -> bytes:
        """Some bytes of a file, at most 1 MB; fewer at its end.

        Raises:
            LogFileNotFoundError: there is none of that name.
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
        found = (path for path in self._directory.iterdir() if path.suffix in _SUFFIXES or path.name in _NAMES)
        return tuple(sorted(path for path in found if path.is_file() and not path.is_symlink()))
