"""The writer of file sinks: part files in buckets, hidden while they are in progress, shown once they are committed.

A part file in progress is `.<part>.inprogress.<run>-<batch>-<try>-<writer>`. The version of a batch remembers how far
it was written. A writer that goes on from a version copies the part so far into a file of its own: whatever an earlier
writer still writes, should it be alive, is never seen. Writers remove nothing: what failed ones left is removed after
a checkpoint was decided (`LeftoverParts`). A savepoint finishes all parts, as the job that goes on may remove what
is in progress. Flink: `connector.file.sink.writer.FileWriter`, which finishes bulk parts only.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from firesteel.common.durability import make_directory, sync_directory
from firesteel.common.local_path import local_path
from firesteel.datastream.connectors.base import SinkWriter, WriterInitContext
from firesteel.datastream.connectors.file_committer import FinishedPart, LeftoverParts, pending_name
from firesteel.datastream.connectors.file_sink import FileSinkSettings
from firesteel.operators.file_compaction import Compactor
from firesteel.operators.file_format import PartFormat, PartStream, bucket_at, format_of, rolling_of

_COPY_BYTES = 1 << 20
_CLAIM_MODE = "execution.state-recovery.claim-mode"


@dataclass(slots=True)
class _Part:
    """A part file in progress; `replaced` are the files of earlier attempts."""

    final: str
    pending: str
    created_ms: int
    modified_ms: int
    size: int = 0
    replaced: tuple[str, ...] = ()
    file: IO[bytes] | None = None
    stream: PartStream | None = None
    synced: int = 0

    def open(self, part_format: PartFormat) -> tuple[IO[bytes], PartStream]:
        if self.stream is None or self.file is None:
            self.file = open(self.pending, "ab")  # noqa: SIM115 - stays open from batch to batch
            self.stream = part_format.open(self.file)
        return self.file, self.stream

    def write(self, values: list[Any], now: int, part_format: PartFormat) -> None:
        file, stream = self.open(part_format)
        stream.write(values)
        self.size = file.tell()
        self.modified_ms = now

    def sync(self) -> None:
        """Make what was written outlive a crash of the machine."""
        if self.file is None or self.size == self.synced:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        if not self.synced:
            sync_directory(os.path.dirname(self.pending))
        self.synced = self.size

    def finish(self, part_format: PartFormat) -> FinishedPart:
        _, stream = self.open(part_format)
        shown = stream.finish()
        self.sync()
        self.close()
        if shown is None:
            return FinishedPart(self.pending, self.final, self.replaced)
        return FinishedPart(shown, self.final, (*self.replaced, self.pending))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = self.stream = None

    def fields(self) -> tuple[Any, ...]:
        return self.final, self.pending, self.created_ms, self.modified_ms, self.size, self.replaced


class FileWriter(SinkWriter):
    """Writes the elements of one subtask to part files."""

    def __init__(self, settings: FileSinkSettings, context: WriterInitContext) -> None:
        self._base = local_path(settings.base_path)
        self._prefix = settings.output_file_config.part_prefix
        self._suffix = settings.output_file_config.part_suffix
        self._format = format_of(settings, context.input_type)
        self._bucket_at = bucket_at(settings.bucket_assigner)
        self._rolling = rolling_of(settings.rolling_policy)
        self._now = context.processing_time
        self._is_checkpoint = context.is_checkpoint
        self._is_savepoint = context.is_savepoint
        self._uid = _uid(context)
        self._began = context.began
        self._writer = uuid.uuid4().hex[:12]
        self._owns_state = context.configuration.get(_CLAIM_MODE, "").upper() == "CLAIM"
        self._counter = 0
        self._parts: dict[str, _Part] = {}
        self._finished: list[FinishedPart | LeftoverParts] = []
        self._compactor = None
        if settings.compaction is not None:
            self._compactor = Compactor(settings.compaction, self._format, self._pending_name)
        # Nobody has written before the first try of the first batch of a job.
        self._reported_leftovers = context.began <= (1, 0, 1)

    def write(self, element: Any, timestamp: int | None) -> None:
        """Write one element to the bucket of this moment."""
        self.write_all([element], None)

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write elements to the bucket of this moment."""
        if not elements:
            return
        now = self._now()
        bucket = self._bucket_at(now)
        part = self._parts.get(bucket) or self._new_part(bucket, now)
        part.write(list(elements), now, self._format)
        if part.size >= self._rolling.part_size:
            self._finish(bucket)

    def _new_part(self, bucket: str, now: int) -> _Part:
        directory = self._base / bucket
        make_directory(directory)
        final = self._next_name(directory)
        part = self._parts[bucket] = _Part(final, self._pending_name(final), now, now)
        return part

    def _next_name(self, directory: Path) -> str:
        name = f"{self._prefix}-{self._uid}-{self._counter}{self._suffix}"
        self._counter += 1
        return str(directory / name)

    def _pending_name(self, final: str) -> str:
        return pending_name(final, self._began, self._writer)

    def _finish(self, bucket: str) -> None:
        part = self._parts.pop(bucket).finish(self._format)
        if self._compactor is None:
            self._finished.append(part)
        else:
            self._compactor.add(bucket, part)

    def flush(self, end_of_input: bool) -> None:
        """Finish the parts that the rolling policy says, or all; make the rest durable so far."""
        now, is_checkpoint = self._now(), self._is_checkpoint()
        finishes_all = end_of_input or self._is_savepoint()
        for bucket, part in list(self._parts.items()):
            is_over = is_checkpoint and self._rolling.is_over(part.created_ms, part.modified_ms, now)
            if finishes_all or is_over:
                self._finish(bucket)
            else:
                part.sync()
        if self._compactor is not None and (is_checkpoint or end_of_input):
            self._finished += self._compactor.checkpoint(finishes_all)
        self._report_leftovers(end_of_input)

    def _report_leftovers(self, end_of_input: bool) -> None:
        """Have removed what earlier writers left: once, and at the end what nobody is going on with."""
        if self._reported_leftovers and not end_of_input:
            return
        self._reported_leftovers = True
        before = None if end_of_input else self._began
        self._finished.append(LeftoverParts(str(self._base), self._uid, before, frozenset(self._needed())))

    def _needed(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        for part in self._parts.values():
            yield part.pending
        waiting = () if self._compactor is None else self._compactor.waiting()
        for finished in (*self._finished, *waiting):
            if isinstance(finished, FinishedPart):
                yield from (finished.pending, *finished.replaced)

    def prepare_commit(self) -> Sequence[FinishedPart | LeftoverParts]:
        """Return the parts that were finished, and what is to be removed with them."""
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Close the files in progress."""
        for part in self._parts.values():
            part.close()

    def snapshot_state(self) -> Any:
        """The next part's number, the parts in progress and how far they were written, and those that wait."""
        if not self._counter:
            return None
        waiting = {} if self._compactor is None else self._compactor.snapshot()
        return self._uid, self._counter, {bucket: part.fields() for bucket, part in self._parts.items()}, waiting

    def restore_state(self, state: Any) -> None:
        """Go on with those parts; several states come when another job takes them over with fewer subtasks."""
        uid, counter, parts, waiting = state
        is_own = uid == self._uid
        if is_own:
            self._counter = counter
        for bucket, fields in parts.items():
            if bucket in self._parts:
                self._finish(bucket)
            self._parts[bucket] = self._go_on_with(_Part(*fields), is_own)
        self._take_waiting(waiting)

    def _take_waiting(self, waiting: dict[str, tuple[list[FinishedPart], int]]) -> None:
        """What waited to be put together goes on waiting; the sink may not put together any more."""
        if self._compactor is not None:
            self._compactor.restore(waiting)
        else:
            self._finished += [part for parts, _ in waiting.values() for part in parts]

    def _go_on_with(self, part: _Part, is_own: bool) -> _Part:
        """Copy the part, as long as the version says, into a file of this writer.

        What another job has begun gets a name of this job, and stays where it is unless this job has claimed it: the
        other one may go on with it, too.
        """
        source = part.pending
        if not os.path.exists(source) and os.path.exists(part.final):
            if not self._format.is_appendable:
                raise OSError(
                    f"part file {part.final} was shown since the version was taken, and {self._format.name} files "
                    "can't be gone on from: start with a newer checkpoint, or with a savepoint"
                )
            source = part.final
        final = part.final if is_own else self._next_name(Path(part.final).parent)
        replaced = (*part.replaced, part.pending) if is_own or self._owns_state else ()
        pending = self._pending_name(final)
        _copy(source, pending, part.size)
        return _Part(final, pending, part.created_ms, part.modified_ms, part.size, replaced, synced=part.size)


def _copy(source: str, target: str, size: int) -> None:
    """Copy the first `size` bytes, so that they outlive a crash of the machine.

    Raises:
        OSError: the source is gone or shorter.
    """
    left = size
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while left:
            data = reader.read(min(left, _COPY_BYTES))
            if not data:
                raise OSError(f"part file {source} ends after {size - left} bytes, the version was taken at {size}")
            writer.write(data)
            left -= len(data)
        writer.flush()
        os.fsync(writer.fileno())
    sync_directory(os.path.dirname(target))


def _uid(context: WriterInitContext) -> str:
    """Return what tells the parts of this writer apart from all others: the same for all attempts of its subtask.

    Several attempts may write parts of the same final names; the one that is decided is shown.
    """
    writer = f"{context.job_id}/{context.sink_id}/{context.subtask_index}"
    return hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()
