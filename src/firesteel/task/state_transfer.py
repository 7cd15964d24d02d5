"""Transfer of state files between a host's disk and a remote file system: uploaded once, downloaded on demand.

A file has the same path, relative to the job's directory, in both places. Files are never changed, so a file with the
expected size is the same.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from firesteel.common.files.durability import make_directory, sync_directory, sync_file
from firesteel.common.files.remote_files import RemoteFileNotFoundError
from firesteel.common.files.remote_path import AnyPath, RemotePath, size_of
from firesteel.task.state_file import StateFileError, check_state_file
from firesteel.task.versions import Chain, VersionFile

__all__ = ["NOTHING_STORED", "StateUploads", "Stored", "copy_chain", "fetch_chain", "missing_file"]

_AT_ONCE = 8


class Stored(NamedTuple):
    """The files that are in the store, and those whose upload failed, each with the reason."""

    paths: frozenset[str] = frozenset()
    failures: tuple[tuple[str, str], ...] = ()


NOTHING_STORED = Stored()


class StateUploads:
    """Background uploads of this host's state files to a store.

    Args:
        directory: The job's directory on this host.
        store: The job's checkpoint directory on the remote file system.
    """

    def __init__(self, directory: Path, store: RemotePath) -> None:
        self._directory = directory
        self._store = store
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="state-upload")
        self._uploads: dict[str, Future[None]] = {}

    def send(self, paths: Iterable[str]) -> None:
        """Upload files, unless they were uploaded or are being uploaded."""
        for path in paths:
            if path not in self._uploads:
                self._uploads[path] = self._threads.submit(self._send, path)

    def _send(self, path: str) -> None:
        self._store.remote.upload(self._directory / path, f"{self._store}/{path}")

    def sent_of(self, paths: Iterable[str], waits_for: Collection[str] = ()) -> Stored:
        """Return which of some files this process has uploaded by now.

        A failed upload is retried the next time the file is requested.

        Args:
            paths: The files.
            waits_for: Those for whose upload to wait.
        """
        sent, failures = set(), []
        for path in paths:
            upload = self._uploads.get(path)
            if upload is not None and (path in waits_for or upload.done()):
                try:
                    upload.result()
                except Exception as error:
                    # So that `send` begins it anew: a failure of the store may be over by the next checkpoint.
                    del self._uploads[path]
                    failures.append((path, str(error)))
                else:
                    sent.add(path)
        return Stored(frozenset(sent), tuple(failures))

    def forget(self, paths: Iterable[str]) -> None:
        """Forget uploaded files; uploads in progress continue."""
        for path in paths:
            self._uploads.pop(path, None)

    def close(self) -> None:
        """Cancel the uploads that have not started."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def fetch_chain(store: RemotePath, directory: Path, chain: Chain) -> None:
    """Download the files of a chain that are not on this host, several at once.

    Raises:
        StateFileError: a file is missing in the store.
    """
    missing = [file for file in chain if not _is_intact(directory / file.path, file)]
    if missing:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda file: _fetch(store, directory, file), missing))


def _is_intact(path: Path, file: VersionFile) -> bool:
    """Return whether a file is undamaged; without sync, a crash of the machine may have damaged it."""
    if size_of(path) != file.size:
        return False
    try:
        check_state_file(path, file.checksum)
    except StateFileError:
        return False
    return True


def _fetch(store: RemotePath, directory: Path, file: VersionFile) -> None:
    target = directory / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    # Several slots of a host may fetch the same file; each has a name of its own until its download is complete.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        store.remote.download(f"{store}/{file.path}", temporary)
    except RemoteFileNotFoundError:
        temporary.unlink(missing_ok=True)
        raise StateFileError(store / file.path, "is missing") from None
    temporary.replace(target)


def missing_file(directory: AnyPath, chains: Iterable[Chain]) -> tuple[AnyPath, str] | None:
    """Return a file of some chains that is missing or incomplete in a remote directory, and its problem."""
    assert isinstance(directory, RemotePath)
    there = directory.files()
    for chain in chains:
        for file in chain:
            found = there.get(file.path)
            if found != file.size:
                problem = "is missing" if found is None else f"has {found} bytes, but {file.size} were written"
                return directory / file.path, problem
    return None


def copy_chain(source: AnyPath, target: AnyPath, chain: Chain) -> Chain:
    """Copy the files of a chain into another directory and return the chain of the copies.

    Local files are hard-linked if possible, and objects are copied within their store.
    """
    copy = _copier(source, target)
    copied = []
    for number, file in enumerate(chain):
        # Files of a chain come from several runs and may have equal names; the number makes them unique in the copy.
        _, stage, slot, name = f"/{file.path}".rsplit("/", 3)
        path = f"versions/{stage}/{slot}/{number}-{name}"
        copied.append((file.path, replace(file, path=path)))
    if isinstance(source, Path) and isinstance(target, Path):
        for path, new in copied:
            copy(path, new.path)
    else:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda pair: copy(pair[0], pair[1].path), copied))
    if isinstance(target, Path):
        for directory in {(target / new.path).parent for _, new in copied}:
            sync_directory(directory)
    return tuple(new for _, new in copied)


def _copier(source: AnyPath, target: AnyPath) -> Callable[[str, str], None]:
    """Return a function (source path, target path) that copies a file between the directories."""
    if isinstance(target, RemotePath):
        if isinstance(source, RemotePath):
            return lambda old, new: target.remote.copy_from(source.remote, f"{source}/{old}", f"{target}/{new}")
        return lambda old, new: target.remote.upload(source / old, f"{target}/{new}")
    if isinstance(source, RemotePath):

        def download(old: str, new: str) -> None:
            make_directory((target / new).parent)
            source.remote.download(f"{source}/{old}", target / new)
            sync_file(target / new)

        return download
    return lambda old, new: _link(source / old, target / new)


def _link(source: Path, target: Path) -> None:
    make_directory(target.parent)
    try:
        # State files are never changed, so a second name is as good as a copy, and costs no disk.
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    # Linked files, too: a job without a directory for checkpoints keeps them in a temporary one, without any sync.
    sync_file(target)
