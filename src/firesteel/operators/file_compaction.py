"""Puts the finished part files of one writer together before they are committed.

Flink: `connector.file.sink.compactor.operator`. Differs in that each subtask puts its own files together: no operators
are added behind the writer. Until then the files are hidden, as in Flink.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from firesteel.datastream.connectors.file_committer import FinishedPart
from firesteel.datastream.connectors.file_sink import FileCompaction
from firesteel.operators.file_format import PartFormat

COMPACTED_PREFIX = "compacted-"


@dataclass(slots=True)
class _Waiting:
    """The finished parts of one bucket, their size in bytes, and how many checkpoints there were with them."""

    parts: list[FinishedPart] = field(default_factory=list)
    size: int = 0
    checkpoints: int = 0


class Compactor:
    """Keeps finished parts until they are enough for one file.

    Args:
        compaction: What was set on the sink.
        part_format: Of the files.
        pending_name: Gives the hidden name of a file, which no other writer uses.

    Raises:
        ValueError: files of the format can't be put one behind the other.
    """

    def __init__(self, compaction: FileCompaction, part_format: PartFormat, pending_name: Callable[[str], str]) -> None:
        self._strategy = compaction.strategy
        self._concatenates = compaction.compactor.kind == "concat"
        self._delimiter = compaction.compactor.file_delimiter or b""
        if self._concatenates and not part_format.is_appendable:
            raise ValueError(
                f"FileSink.enable_compact: {part_format.name} files can't be put one behind the other; use "
                "FileCompactor.identical_file_compactor() or no compaction"
            )
        self._pending_name = pending_name
        self._waiting: dict[str, _Waiting] = {}

    def add(self, bucket: str, part: FinishedPart) -> None:
        """Take a finished part."""
        waiting = self._waiting.setdefault(bucket, _Waiting())
        waiting.parts.append(part)
        waiting.size += os.path.getsize(part.pending)

    def waiting(self) -> Iterator[FinishedPart]:
        """Yield the parts that wait."""
        for waiting in self._waiting.values():
            yield from waiting.parts

    def checkpoint(self, takes_all: bool) -> list[FinishedPart]:
        """Return the files to commit with a checkpoint: those of buckets that have enough, or of all."""
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
        """What waits in each bucket, and for how many checkpoints."""
        return {bucket: (list(waiting.parts), waiting.checkpoints) for bucket, waiting in self._waiting.items()}

    def restore(self, snapshot: dict[str, tuple[list[FinishedPart], int]]) -> None:
        """Go on from there."""
        for bucket, (parts, checkpoints) in snapshot.items():
            for part in parts:
                self.add(bucket, part)
            self._waiting[bucket].checkpoints = checkpoints


def _append(target: IO[bytes], path: str) -> None:
    with open(path, "rb") as source:
        shutil.copyfileobj(source, target, 1 << 20)
