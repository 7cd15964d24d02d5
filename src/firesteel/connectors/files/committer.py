"""The committer of file sinks: publishes finished part files and removes leftovers of failed attempts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from firesteel.common.files.durability import sync_directory
from firesteel.connectors.files.pending_files import PENDING, Began
from firesteel.functions.connector_base import CommitRequest, Committer


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A complete part file (Flink: `FileSinkCommittable`).

    Attributes:
        pending: Its hidden path.
        final: Its final path.
        replaced: Files of earlier attempts, which are removed when it is committed.
    """

    pending: str
    final: str
    replaced: tuple[str, ...] = ()

    def commit(self) -> None:
        """Rename the file to its final name; does nothing if that was done before.

        Raises:
            FileNotFoundError: neither name exists.
        """
        try:
            os.replace(self.pending, self.final)
        except FileNotFoundError:
            if not os.path.exists(self.final):
                raise FileNotFoundError(
                    f"part file {self.pending} was removed before it was committed as {self.final}"
                ) from None
        else:
            sync_directory(os.path.dirname(self.final))
        for path in self.replaced:
            Path(path).unlink(missing_ok=True)

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        yield from (self.pending, *self.replaced)

    def check(self) -> None:
        """Check that the file exists.

        Raises:
            FileNotFoundError: it does not.
        """
        if not os.path.exists(self.pending) and not os.path.exists(self.final):
            raise FileNotFoundError(f"part file {self.pending} not found: cannot commit it as {self.final}")


@dataclass(frozen=True, slots=True)
class LeftoverParts:
    """Hidden part files of writers that were killed, failed or superseded.

    They are removed when a checkpoint with the writer's successor has been completed: from then on no checkpoint can
    refer to them. Before that, another leader may be about to complete a checkpoint that does.

    Attributes:
        base: The directory that contains them.
        uid: Id of the writer, which is part of the names of its files.
        before: Remove files of writers created before this one; None removes the files of all writers.
        needed: Files to keep.
    """

    base: str
    uid: str
    before: Began | None
    needed: frozenset[str]

    def covers(self, path: str, began: Began) -> bool:
        """Return whether a file of the writer is to be removed."""
        return path not in self.needed and (self.before is None or began < self.before)


class FileCommitter(Committer):
    """Commits part files, each of which appears atomically under its final name (Flink: `FileCommitter`)."""

    commits_data: ClassVar[bool] = True

    def __init__(self) -> None:
        self._configuration: Mapping[str, str] = {}

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Set the configuration, which contains the credentials of remote file systems."""
        self._configuration = configuration

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that all part files exist."""
        local, remote = _by_place(requests)
        for committable in local:
            if isinstance(committable, FinishedPart):
                committable.check()
        if remote:
            _remote_committer().check_remote(remote, self._configuration)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Publish all part files, then remove leftovers."""
        local, remote = _by_place(requests)
        leftovers: dict[str, list[LeftoverParts]] = {}
        for committable in local:
            if isinstance(committable, FinishedPart):
                committable.commit()
            else:
                leftovers.setdefault(committable.base, []).append(committable)
        for base, of_writers in leftovers.items():
            _remove(Path(base), of_writers)
        if remote:
            _remote_committer().commit_remote(remote, self._configuration)


def _by_place(requests: Sequence[CommitRequest]) -> tuple[list[FinishedPart | LeftoverParts], list[Any]]:
    """Return the committables of the local file system and those of remote ones."""
    committables = [request.committable for request in requests]
    local = [one for one in committables if isinstance(one, (FinishedPart, LeftoverParts))]
    return local, [one for one in committables if not isinstance(one, (FinishedPart, LeftoverParts))]


def _remote_committer() -> Any:
    from firesteel.connectors.files import remote_committer

    return remote_committer


def _remove(base: Path, leftovers: Sequence[LeftoverParts]) -> None:
    """Remove leftovers below a directory, which is listed once for all writers."""
    of_writer: dict[str, list[LeftoverParts]] = {}
    for one in leftovers:
        of_writer.setdefault(one.uid, []).append(one)
    for path in base.rglob(".*.inprogress.*"):
        found = PENDING.fullmatch(path.name)
        if found is None:
            continue
        began = (int(found[2]), int(found[3]), int(found[4]))
        if any(one.covers(str(path), began) for one in of_writer.get(found[1], ())):
            with suppress(OSError):
                path.unlink()
