"""The writer of file sinks: part files in buckets, hidden while they are in progress, shown once they are committed.

A part file in progress is `.<part>.inprogress.<subtask>`; the version of a batch remembers how far it was written, so a
batch that is fed again cuts off what it wrote before. Flink: `connector.file.sink.writer.FileWriter`.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from firesteel.datastream.connectors.file_sink import FileSinkSettings
from firesteel.operators.clock import now_ms
from firesteel.operators.file_format import bucket_at, encoder_of, rolling_of
from firesteel.operators.operator import Operator, Output, TaskInfo, Timestamps


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A part file that is complete; committing it moves `pending` to `final`, once."""

    pending: str
    final: str

    def commit(self) -> None:
        """Show the file under its final name; does nothing when that was done before."""
        if os.path.exists(self.pending):
            os.replace(self.pending, self.final)
        elif not os.path.exists(self.final):
            raise FileNotFoundError(f"FileSink: part file {self.pending} is gone before it was committed")


@dataclass(slots=True)
class _Part:
    """A part file in progress."""

    final: str
    pending: str
    created_ms: int
    modified_ms: int
    size: int = 0
    file: IO[bytes] | None = None

    def write(self, data: bytes, now: int) -> None:
        if self.file is None:
            if not self.size:
                # A file of that name that no version knows of is what a failed attempt left behind.
                Path(self.pending).unlink(missing_ok=True)
            self.file = open(self.pending, "ab")  # noqa: SIM115 - stays open from batch to batch
        self.file.write(data)
        self.size += len(data)
        self.modified_ms = now

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


class FileSinkRunner(Operator):
    """Writes the elements of one subtask to part files and hands finished parts to the committer."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        settings: FileSinkSettings,
        input_type: Any,
        commits_itself: bool = False,
    ) -> None:
        super().__init__(name, task, output)
        self._base = Path(settings.base_path.removeprefix("file://"))
        self._prefix = settings.output_file_config.part_prefix
        self._suffix = settings.output_file_config.part_suffix
        self._encode = encoder_of(settings, input_type)
        self._bucket_at = bucket_at(settings.bucket_assigner)
        self._rolling = rolling_of(settings.rolling_policy)
        self._commits_itself = commits_itself
        self._uid = ""
        self._counter = 0
        self._parts: dict[str, _Part] = {}
        self._finished: list[FinishedPart] = []

    def open(self) -> None:
        """Find the name that the parts begin with."""
        self._uid = _uid(self.task, self.operator_id)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Write the elements to the bucket of this moment."""
        now = now_ms()
        if not values:
            return
        encode = self._encode
        bucket = self._bucket_at(now)
        part = self._parts.get(bucket) or self._new_part(bucket, now)
        part.write(b"".join([encode(value) for value in values]), now)
        if part.size >= self._rolling.part_size:
            self._finish(bucket)

    def _new_part(self, bucket: str, now: int) -> _Part:
        directory = self._base / bucket
        directory.mkdir(parents=True, exist_ok=True)
        name = f"{self._prefix}-{self._uid}-{self._counter}{self._suffix}"
        self._counter += 1
        pending = directory / f".{name}.inprogress.{self.task.subtask_index}"
        part = self._parts[bucket] = _Part(str(directory / name), str(pending), now, now)
        return part

    def _finish(self, bucket: str) -> None:
        part = self._parts.pop(bucket)
        part.close()
        self._finished.append(FinishedPart(part.pending, part.final))

    def end_input(self, index: int) -> None:
        """All parts are complete."""
        for bucket in list(self._parts):
            self._finish(bucket)
        self._hand_over()

    def end_batch(self) -> None:
        """Finish the parts that the rolling policy says; make the rest durable so far."""
        now = now_ms()
        for bucket, part in list(self._parts.items()):
            if self._rolling.is_over(part.created_ms, part.modified_ms, now):
                self._finish(bucket)
            elif part.file is not None:
                part.file.flush()
        self._hand_over()

    def _hand_over(self) -> None:
        if not self._commits_itself:
            finished, self._finished = self._finished, []
            self.output.emit(finished, None)

    def committables(self) -> Sequence[Any]:
        """The finished parts, where no committer follows."""
        if not self._commits_itself:
            return ()
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Close the files in progress."""
        for part in self._parts.values():
            part.close()

    def snapshot(self) -> Any:
        """The parts in progress and how far they were written."""
        parts = {b: (p.final, p.pending, p.created_ms, p.modified_ms, p.size) for b, p in self._parts.items()}
        return self._uid, self._counter, parts

    def restore(self, snapshot: Any) -> None:
        """Cut the parts off where the version ends."""
        self._uid, self._counter, parts = snapshot
        self._parts = {bucket: _Part(*fields) for bucket, fields in parts.items()}
        for part in self._parts.values():
            if not os.path.exists(part.pending) and os.path.exists(part.final):
                os.replace(part.final, part.pending)
            os.truncate(part.pending, part.size)


def _uid(task: TaskInfo, operator_id: str) -> str:
    """What tells the parts of this writer apart from all others.

    In STREAMING mode a batch that is fed again gives its parts the same names, so those that were shown already are
    replaced. In BATCH mode two attempts may run at once, and the files of the one that loses are never shown.
    """
    if task.is_batch:
        return uuid.uuid4().hex
    writer = f"{task.job_id}/{task.vertex_id}/{operator_id}/{task.subtask_index}"
    return hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()
