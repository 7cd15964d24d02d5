"""An archive of the classes that Spark loads, which makes its JVM start in half the time.

Java calls it application class data sharing, and since version 25 an ahead-of-time cache. There is one archive per
Java, Spark and set of Java options, in the user's cache directory. It is code, so only a file that no other user could
have written is used. Java ignores an archive that is truncated, fails its checksums, or does not fit Java or the jars.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.trusted_directory import reason_for_distrust
from firesteel.spark.java import Java

CACHE_DIRECTORY = "XDG_CACHE_HOME"
"""The environment variable that names the directory of all the user's caches [~/.cache]."""

_CACHES_WITHOUT_BASE = 25
"""Since this version Java makes archives that need no base archive, which Java runtimes of Python packages lack."""

_RETRY_S = 24 * 3600.0
"""An attempt to make the archive is not repeated earlier."""

_UNUSED_S = 30 * 24 * 3600.0
"""Archives that were not used for so long are removed."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The place of an archive, which may not exist yet.

    Attributes:
        path: Where it is.
        java_version: Of the Java that it is for.
    """

    path: Path
    java_version: int

    def options(self) -> list[str]:
        """Return the options of Java that use the archive; none if there is none, or none that can be trusted."""
        try:
            if reason_for_distrust(self.path, stat.S_IFREG) is not None:
                return []
        except OSError:
            return []
        with contextlib.suppress(OSError):
            os.utime(self.path)  # It is in use.
        return [f"-XX:{self._option}={self.path}", "-XX:+VerifySharedSpaces"]

    def options_to_make(self, path: Path) -> list[str]:
        """Return the options of Java that write an archive to a path when Java ends."""
        has_base = self.java_version < _CACHES_WITHOUT_BASE
        return [f"-XX:ArchiveClassesAtExit={path}" if has_base else f"-XX:AOTCacheOutput={path}"]

    @property
    def _option(self) -> str:
        return "SharedArchiveFile" if self.java_version < _CACHES_WITHOUT_BASE else "AOTCache"

    @property
    def is_wanted(self) -> bool:
        """Whether it is worth making: it does not exist, could be written, and was not tried lately."""
        if self.path.exists() or not os.access(self.path.parent, os.W_OK):
            return False
        try:
            return abs(time.time() - self._lock.stat().st_mtime) > _RETRY_S
        except FileNotFoundError:
            return True

    @property
    def _lock(self) -> Path:
        return self.path.with_suffix(".lock")

    @contextlib.contextmanager
    def making(self) -> Iterator[Path | None]:
        """Give a path to write the archive to, None if another process does it; then it gets its name.

        What is at that path counts only if the block ends without an error.
        """
        with open(self._lock, "a", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
                return
            os.utime(self._lock)
            self._remove_unfinished()
            try:
                unfinished = self.path.with_suffix(".unfinished")
                yield unfinished
                self._finish(unfinished)
            finally:
                self._remove_unfinished()

    def _finish(self, unfinished: Path) -> None:
        if unfinished.exists():
            unfinished.chmod(0o600)
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            unfinished.replace(self.path)
            self._remove_unused()

    def _remove_unfinished(self) -> None:
        for path in self.path.parent.glob(f"{self.path.stem}.unfinished*"):
            path.unlink(missing_ok=True)

    def _remove_unused(self) -> None:
        for path in self.path.parent.glob("spark-*.jsa"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _UNUSED_S:
                    path.unlink()
                    path.with_suffix(".lock").unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the archive: Java crashed with it."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def class_archive(java: Java, jars: Path, options: Sequence[str]) -> ClassArchive | None:
    """Return the archive for a Java, Spark's jars and options of Java; None if this user has no place for archives.

    Another Java or Spark has an archive with another name, also if it was installed at the same place.
    """
    directory = _directory()
    if directory is None:
        return None
    files = [Path(java.executable).resolve(), *sorted(jars.iterdir())]
    key = "\0".join([*options, *map(_stamp, files)])
    digest = hashlib.sha256(os.fsencode(key)).hexdigest()[:16]
    return ClassArchive(directory / f"spark-java{java.version}-{digest}.jsa", java.version)


def _stamp(path: Path) -> str:
    """Return what Java compares of a jar: its name, size and time of change."""
    found = path.stat()
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _directory() -> Path | None:
    """Return the directory of archives, created if necessary; None if there is none that can be trusted."""
    try:
        directory = _caches() / "firesteel"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory if reason_for_distrust(directory) is None else None
    except (OSError, RuntimeError):
        return None


def _caches() -> Path:
    """Return the directory of all the user's caches.

    Raises:
        OSError: it would be in the home of another user, as with `sudo`.
        RuntimeError: the user has no home.
    """
    named = Path(os.environ.get(CACHE_DIRECTORY, ""))
    if named.is_absolute():
        return named
    home = Path.home()
    if home.stat().st_uid != os.getuid():
        raise PermissionError(f"{home} belongs to another user")
    return home / ".cache"
