"""Shows the finished part files of file sinks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firesteel.datastream.connectors.base import CommitRequest, Committer


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
        if os.path.exists(self.pending):
            os.replace(self.pending, self.final)
            sync_directory(os.path.dirname(self.final))
        elif not os.path.exists(self.final):
            raise FileNotFoundError(f"part file {self.pending} is gone before it was committed as {self.final}")
        for path in self.replaced:
            Path(path).unlink(missing_ok=True)


class FileCommitter(Committer):
    """Commits part files: each appears under its final name at once and whole (Flink: `FileCommitter`)."""

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Show all of them."""
        for request in requests:
            request.committable.commit()


def sync_directory(path: str) -> None:
    """Make the names in a directory outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
