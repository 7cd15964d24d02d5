"""Compaction of the finished part files of one writer before they are committed.

Flink: `connector.file.sink.compactor.operator`. Unlike Flink, each subtask compacts its own files, so no operators are
added after the writer. As in Flink, files are hidden until they are compacted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from firesteel.connectors.files.committer import FinishedPart
from firesteel.connectors.files.sink_settings import FileCompaction
from firesteel.connectors.files.writer_settings import PartFormat

COMPACTED_PREFIX = "compacted-"


@dataclass(slots=True)
class _Waiting:
    """The finished parts of one bucket, their size in bytes, and the number of checkpoints since the first of them."""

    parts: list[FinishedPart] = field(default_factory=list)
    size: int = 0
    checkpoints: int = 0


class Compactor:
    """A collector of finished parts that compacts them once there are enough.

    Args:
        compaction: The compaction settings of the sink.
        part_format: The format of the files.
        pending_name: Returns a hidden name for a file, unique to this writer.

    Raises:
        ValueError: files of the format can't be concatenated.
    """

    def __init__(self, compaction: FileCompaction, part_format: PartFormat, pending_name: Callable[[str], str]) -> None:
        self._strategy = compaction.strategy
        self._concatenates = compaction.compactor.kind == "concat"
        self._delimiter = compaction.compactor.file_delimiter or b""
        if self._concatenates and not part_format.is_appendable:
            raise ValueError(
                f"FileSink.enable_compact: {part_format.name} files can't be concatenated; use "
                "FileCompactor.identical_file_compactor() or no compaction"
            )
        self._pending_name = pending_name
        self._waiting: dict[str, _Waiting] = {}

    def add(self, bucket: str, part: FinishedPart) -> None:
        """Add a finished part."""
        waiting = self._waiting.setdefault(bucket, _Waiting())
        waiting.parts.append(part)
        waiting.size += os.path.getsize(part.pending)

    def waiting(self) -> Iterator[FinishedPart]:
        """Yield the parts that wait for compaction."""
        for waiting in self._waiting.values():
            yield from waiting.parts

    @property
    def counts_checkpoints(self) -> bool:
        """Whether parts wait that will be compacted after some checkpoints."""
        return bool(self._waiting) and self._strategy.num_checkpoints_before_compaction > 0

    def checkpoint(self, takes_all: bool) -> list[FinishedPart]:
        """Return the files to commit with a checkpoint, of buckets with enough parts or, if `takes_all`, of all."""
        ready: list[FinishedPart] = []
        for bucket, waiting in list(self._waiting.items()):
            waiting.checkpoints += 1
            if takes_all or self._is_enough(waiting):
                del self._waiting[bucket]
                ready += self._put_together(waiting.parts)
        return ready

    def _is_enough(self, waiting: _Waiting) -> bool:
        threshold, checkpoints = self._strategy.size_threshold, self._strategy.num_checkpoints_before_compaction
        return 0 <= threshold <= waiting.size or 0 < checkpoints <= waiting.checkpoints

    def _put_together(self, parts: list[FinishedPart]) -> list[FinishedPart]:
        if not self._concatenates:
            return parts
        directory, name = os.path.split(parts[0].final)
        final = os.path.join(directory, COMPACTED_PREFIX + name)
        pending = self._pending_name(final)
        with open(pending, "wb") as target:
            for position, part in enumerate(parts):
                if position:
                    target.write(self._delimiter)
                _append(target, part.pending)
            target.flush()
            os.fsync(target.fileno())
        replaced = tuple(path for part in parts for path in (part.pending, *part.replaced))
        return [FinishedPart(pending, final, replaced)]

    def snapshot(self) -> dict[str, tuple[list[FinishedPart], int]]:
        """Return the waiting parts of each bucket and for how many checkpoints they have waited."""
        return {bucket: (list(waiting.parts), waiting.checkpoints) for bucket, waiting in self._waiting.items()}

    def restore(self, snapshot: dict[str, tuple[list[FinishedPart], int]]) -> None:
        """Restore the waiting parts."""
        for bucket, (parts, checkpoints) in snapshot.items():
            for part in parts:
                self.add(bucket, part)
            self._waiting[bucket].checkpoints = checkpoints


def _append(target: IO[bytes], path: str) -> None:
    with open(path, "rb") as source:
        shutil.copyfileobj(source, target, 1 << 20)
