"""The writer of file sinks: which element goes into which part file, and when a part is finished.

Writers remove nothing that others may need: what failed ones left is removed after a checkpoint was decided. A
savepoint finishes all parts, as the job that goes on may remove what is in progress. Flink:
`connector.file.sink.writer.FileWriter`, which finishes bulk parts only.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.common.file_systems import Files, join
from firesteel.common.local_path import local_path
from firesteel.datastream.connectors.base import SinkWriter, WriterInitContext
from firesteel.datastream.connectors.file_committer import FinishedPart
from firesteel.datastream.connectors.file_sink import FileSinkSettings
from firesteel.operators.file_compaction import Compactor
from firesteel.operators.file_format import (
    Finished,
    PartFile,
    PartFiles,
    PartFormat,
    WriterId,
    bucket_at,
    format_of,
    rolling_of,
)
from firesteel.operators.local_parts import LocalParts

_CLAIM_MODE = "execution.state-recovery.claim-mode"


class FileWriter(SinkWriter[Any]):
    """Writes the elements of one subtask to part files."""

    def __init__(self, settings: FileSinkSettings, context: WriterInitContext) -> None:
        self._prefix = settings.output_file_config.part_prefix
        self._suffix = settings.output_file_config.part_suffix
        self._format = format_of(settings, context.input_type)
        self._bucket_at = bucket_at(settings.bucket_assigner)
        self._rolling = rolling_of(settings.rolling_policy)
        self._now = context.processing_time
        self._is_checkpoint = context.is_checkpoint
        self._is_savepoint = context.is_savepoint
        self._uid = _uid(context)
        self._writer = uuid.uuid4().hex[:12]
        files = Files(context.configuration)
        base = files.resolve(settings.base_path)
        is_remote = files.remote(base) is not None
        self._base = base.rstrip("/") if is_remote else str(local_path(base))
        owns_state = context.configuration.get(_CLAIM_MODE, "").upper() == "CLAIM"
        writer = WriterId(self._base, self._uid, context.began, self._writer, owns_state)
        self._store: Any = (
            _remote_parts(self._format, writer, context) if is_remote else LocalParts(self._format, writer)
        )
        self._counter = 0
        self._parts: dict[str, PartFile] = {}
        self._finished: list[Any] = []
        self._compactor = None
        if settings.compaction is not None:
            if is_remote:
                raise NotImplementedError(f"FileSink: files on {self._base} can't be compacted; local ones can")
            self._compactor = Compactor(settings.compaction, self._format, writer.pending_name)
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
        self.write_to(self._bucket_at(now), elements, now)

    def write_to(self, bucket: str, elements: Sequence[Any], now: int) -> None:
        """Write elements to a bucket."""
        part = self._parts.get(bucket) or self._new_part(bucket, now)
        part.write(list(elements), now)
        if part.size >= self._rolling.part_size or part.is_full:
            self._finish(bucket)

    def _new_part(self, bucket: str, now: int) -> PartFile:
        directory = join(self._base, bucket) if bucket else self._base
        self._parts[bucket] = self._store.new(directory, self._next_name(), now)
        return self._parts[bucket]

    def _next_name(self) -> str:
        name = f"{self._prefix}-{self._uid}-{self._counter}{self._suffix}"
        self._counter += 1
        return name

    def _finish(self, bucket: str) -> None:
        part = self._parts.pop(bucket).finish()
        if self._compactor is None:
            self._finished.append(part)
        else:
            self._compactor.add(bucket, part)

    def flush(self, end_of_input: bool) -> None:
        """Finish the parts that the rolling policy says, or all; make the rest durable so far."""
        now, is_checkpoint = self._now(), self._is_checkpoint()
        finishes_all = end_of_input or self._is_savepoint() or (is_checkpoint and self._store.finishes_at_checkpoints)
        for bucket, part in list(self._parts.items()):
            is_over = is_checkpoint and self._rolling.is_over(part.created_ms, part.modified_ms, now)
            if finishes_all or is_over:
                self._finish(bucket)
            else:
                part.persist(is_checkpoint)
        if self._compactor is not None and (is_checkpoint or end_of_input):
            self._finished += self._compactor.checkpoint(finishes_all)
        self._finished += self._store.batch_ended()
        self._report_leftovers(end_of_input)

    def _report_leftovers(self, end_of_input: bool) -> None:
        """Have removed what earlier writers left: once, and at the end what nobody is going on with."""
        if self._reported_leftovers and not end_of_input:
            return
        self._reported_leftovers = True
        self._finished.append(self._store.leftovers(frozenset(self._needed()), end_of_input))

    def _needed(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        for part in self._parts.values():
            yield from part.hidden()
        waiting = () if self._compactor is None else self._compactor.waiting()
        for finished in (*self._finished, *waiting):
            if isinstance(finished, Finished):
                yield from finished.hidden()

    def prepare_commit(self) -> Sequence[Any]:
        """Return the parts that were finished, and what is to be removed with them."""
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Close the files in progress."""
        for part in self._parts.values():
            part.close()
        self._store.close()

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
            self._parts[bucket] = self._store.go_on_with(fields, is_own, self._next_name)
        self._take_waiting(waiting)

    def _take_waiting(self, waiting: dict[str, tuple[list[FinishedPart], int]]) -> None:
        """What waited to be put together goes on waiting; the sink may not put together any more."""
        if self._compactor is not None:
            self._compactor.restore(waiting)
        else:
            self._finished += [part for parts, _ in waiting.values() for part in parts]


def _remote_parts(part_format: PartFormat, writer: WriterId, context: WriterInitContext) -> PartFiles:
    from firesteel.operators.remote_parts import RemoteParts

    return RemoteParts(part_format, writer, context.configuration, context.spool_directory)


def _uid(context: WriterInitContext) -> str:
    """Return what tells the parts of this writer apart from all others: the same for all attempts of its subtask.

    Several attempts may write parts of the same final names; the one that is decided is shown.
    """
    writer = f"{context.job_id}/{context.sink_id}/{context.subtask_index}"
    return hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()
