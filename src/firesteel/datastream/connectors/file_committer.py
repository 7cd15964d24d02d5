"""Shows the finished part files of file sinks, and removes what is left of failed attempts to write them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.common.durability import sync_directory
from firesteel.datastream.connectors.base import CommitRequest, Committer
from firesteel.datastream.connectors.pending_files import PENDING, Began


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A part file that is complete (Flink: `FileSinkCommittable`).

    Attributes:
        pending: Where it is.
        final: Where it is to be seen.
        replaced: What earlier attempts wrote of it: not needed once it is committed.
    """

    pending: str
    final: str
    replaced: tuple[str, ...] = ()

    def commit(self) -> None:
        """Show the file under its final name; does nothing when that was done before.

        Raises:
            FileNotFoundError: it is under neither name.
        """
        try:
            os.replace(self.pending, self.final)
        except FileNotFoundError:
            if not os.path.exists(self.final):
                raise FileNotFoundError(
                    f"part file {self.pending} is gone before it was committed as {self.final}"
                ) from None
        else:
            sync_directory(os.path.dirname(self.final))
        for path in self.replaced:
            Path(path).unlink(missing_ok=True)

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        yield from (self.pending, *self.replaced)

    def check(self) -> None:
        """Check that the file is there.

        Raises:
            FileNotFoundError: it is not.
        """
        if not os.path.exists(self.pending) and not os.path.exists(self.final):
            raise FileNotFoundError(f"part file {self.pending} is gone, so it can't be committed as {self.final}")


@dataclass(frozen=True, slots=True)
class LeftoverParts:
    """Hidden part files that writers left which were killed, failed or superseded.

    They are removed when a checkpoint was decided that the writer's successor has taken part in: from then on no
    decision can refer to them. Before, nobody can know: another leader may be about to decide.

    Attributes:
        base: Below which they are.
        uid: Names the writer; it is in the names of its files.
        before: Files of writers that were made before this one are removed; None: those of all writers.
        needed: Files that are not to be removed.
    """

    base: str
    uid: str
    before: Began | None
    needed: frozenset[str]

    def covers(self, path: str, began: Began) -> bool:
        """Return whether a file of the writer is to be removed."""
        return path not in self.needed and (self.before is None or began < self.before)


class FileCommitter(Committer):
    """Commits part files: each appears under its final name at once and whole (Flink: `FileCommitter`)."""

    def __init__(self) -> None:
        self._configuration: Mapping[str, str] = {}

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Take the credentials of remote file systems."""
        self._configuration = configuration

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that all of them are there."""
        local, remote = _by_place(requests)
        for committable in local:
            if isinstance(committable, FinishedPart):
                committable.check()
        if remote:
            _remote_committer().check_remote(remote, self._configuration)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Show all of them, then remove what is left over."""
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
    """Return what is to be committed on the local file system, and on others."""
    committables = [request.committable for request in requests]
    local = [one for one in committables if isinstance(one, (FinishedPart, LeftoverParts))]
    return local, [one for one in committables if not isinstance(one, (FinishedPart, LeftoverParts))]


def _remote_committer() -> Any:
    from firesteel.datastream.connectors import remote_committer

    return remote_committer


def _remove(base: Path, leftovers: Sequence[LeftoverParts]) -> None:
    """Remove what is left over below a directory, which is read once for all writers."""
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
