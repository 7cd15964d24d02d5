"""An archive of the classes that Spark loads, which halves the start time of its JVM.

Java calls it application class data sharing, and since version 25 an ahead-of-time cache. There is one archive per
Java, Spark and set of Java options, in the user's cache directory. It contains code, so it is used only if no other
user could have written it. Java ignores an archive that is truncated, fails its checksums, or does not fit Java or the
jars. It computes the checksums at the first use after a start of the machine, and whenever the file has changed.

Why: `docs/decisions/0022-an-archive-of-classes.md`.
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

from firesteel.common.files.trusted_directory import reason_for_distrust
from firesteel.spark.java import Java

CACHE_DIRECTORY = "XDG_CACHE_HOME"
"""The environment variable with the directory of the user's caches [~/.cache]."""

VERIFY = "-XX:+VerifySharedSpaces"
"""The option by which Java computes the checksums of its archive, in a twentieth of a second."""

_CACHES_WITHOUT_BASE = 25
"""The first Java version whose archives need no base archive, which the Java runtimes in Python packages lack."""

_RETRY_S = 24 * 3600.0
"""Time after which a failed attempt to create the archive is repeated."""

_UNUSED_S = 30 * 24 * 3600.0
"""Time after which unused archives are removed."""

_NOTED_S = 24 * 3600.0
"""How precisely the time of the last use is noted."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The location of an archive, which may not exist yet.

    Attributes:
        path: The path of the archive.
        java_version: The version of the Java that it is for.
    """

    path: Path
    java_version: int

    def options(self) -> list[str]:
        """Return the Java options that use the archive, or none if there is no trustworthy archive."""
        try:
            if reason_for_distrust(self.path, stat.S_IFREG) is not None:
                return []
        except OSError:
            return []
        with contextlib.suppress(OSError):
            if time.time() - self.path.stat().st_mtime > _NOTED_S:
                os.utime(self.path)  # The archive is in use.
        checks = () if self._is_verified else (VERIFY,)
        return [f"-XX:{self._option}={self.path}", *checks]

    @property
    def _is_verified(self) -> bool:
        """Whether Java has verified this very file since the machine was started."""
        try:
            return self._verified.read_text() == self._stamp()
        except OSError:
            return False

    def note_verified(self) -> None:
        """Note that Java has verified the archive, and uses it."""
        with contextlib.suppress(OSError):
            unfinished = self._verified.with_suffix(f".{os.getpid()}.unfinished")
            unfinished.write_text(self._stamp())
            unfinished.replace(self._verified)

    def _stamp(self) -> str:
        found = self.path.stat()
        return f"{_BOOT.read_text()} {found.st_ino} {found.st_size} {found.st_mtime_ns}"

    @property
    def _verified(self) -> Path:
        return self.path.with_suffix(".verified")

    def options_to_make(self, path: Path) -> list[str]:
        """Return the Java options that write an archive to a path when Java exits."""
        has_base = self.java_version < _CACHES_WITHOUT_BASE
        return [f"-XX:ArchiveClassesAtExit={path}" if has_base else f"-XX:AOTCacheOutput={path}"]

    @property
    def _option(self) -> str:
        return "SharedArchiveFile" if self.java_version < _CACHES_WITHOUT_BASE else "AOTCache"

    @property
    def is_wanted(self) -> bool:
        """Whether to create the archive: it does not exist, is writable, and was not attempted recently."""
        # The lock's time is that of the last attempt, so one that fails is not repeated at each start.
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
        """Provide a path for the new archive, which is renamed at the end; None if another process is creating it.

        The file is used only if the block ends without an error.
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
            # Synced before: after a power failure a truncated archive would cost each start its verification.
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
                    path.with_suffix(".verified").unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the archive after Java crashed with it."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def class_archive(java: Java, jars: Path, options: Sequence[str]) -> ClassArchive | None:
    """Return the archive for a Java, Spark's jars and Java options, or None if the user has no place for archives.

    The name depends on the Java and Spark files, so a new installation at the same path gets another archive.
    """
    directory = _directory()
    if directory is None:
        return None
    files = [Path(java.executable).resolve(), *sorted(jars.iterdir())]
    key = "\0".join([*options, *map(_stamp, files)])
    digest = hashlib.sha256(os.fsencode(key)).hexdigest()[:16]
    return ClassArchive(directory / f"spark-java{java.version}-{digest}.jsa", java.version)


def _stamp(path: Path) -> str:
    """Return the attributes of a jar that Java compares: its path, size and modification time."""
    found = path.stat()
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _directory() -> Path | None:
    """Return the directory of archives, created if necessary, or None if there is no trustworthy one."""
    try:
        directory = _caches() / "firesteel"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory if reason_for_distrust(directory) is None else None
    except (OSError, RuntimeError):
        return None


def _caches() -> Path:
    """Return the directory of the user's caches.

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
