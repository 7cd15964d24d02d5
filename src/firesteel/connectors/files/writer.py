"""The writer of file sinks: it assigns elements to part files and finishes the parts.

Writers never remove files that others may need: the leftovers of failed writers are removed after a checkpoint is
complete. A savepoint finishes all parts, because the job that continues may remove parts in progress. Flink:
`connector.file.sink.writer.FileWriter`, which finishes bulk parts only.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.common.files.file_systems import Files, join
from firesteel.common.files.local_path import local_path
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE
from firesteel.connectors.files.committer import FinishedPart
from firesteel.connectors.files.compaction import Compactor
from firesteel.connectors.files.local_parts import LocalParts
from firesteel.connectors.files.sink_settings import FileSinkSettings
from firesteel.connectors.files.writer_settings import (
    Finished,
    PartFile,
    PartFiles,
    PartFormat,
    WriterId,
    bucket_at,
    format_of,
    rolling_of,
)
from firesteel.functions.connector_base import SinkWriter, WriterInitContext


class FileWriter(SinkWriter[Any]):
    """A writer of the elements of one subtask to part files.

    Args:
        settings: The settings of the sink.
        context: The context of the writer.
        part_format: The format of the files; None: that of the settings.
    """

    def __init__(
        self, settings: FileSinkSettings, context: WriterInitContext, part_format: PartFormat | None = None
    ) -> None:
        self._prefix = settings.output_file_config.part_prefix
        self._suffix = settings.output_file_config.part_suffix
        self._format = part_format or format_of(settings, context.input_type)
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
        owns_state = RECOVERY_CLAIM_MODE.of(context.configuration) == "CLAIM"
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
        # The first attempt of a job's first batch finds no leftovers, as nothing wrote before it.
        self._reported_leftovers = context.began <= (1, 0, 1)

    def write(self, element: object, timestamp: int | None) -> None:
        """Write one element to the current bucket."""
        self.write_all([element], None)

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write elements to the current bucket."""
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
        """Finish the parts that the rolling policy selects, or all of them; make the others durable."""
        now, is_checkpoint = self._now(), self._is_checkpoint()
        rolls = self._rolling.at_checkpoints or self._store.finishes_at_checkpoints
        finishes_all = end_of_input or self._is_savepoint() or (is_checkpoint and rolls)
        for bucket, part in list(self._parts.items()):
            if finishes_all or self._over_ms(part) <= now:
                self._finish(bucket)
            else:
                part.persist(is_checkpoint)
        if self._compactor is not None and (is_checkpoint or end_of_input):
            self._finished += self._compactor.checkpoint(finishes_all)
        self._finished += self._store.batch_ended()
        self._report_leftovers(end_of_input)

    def _over_ms(self, part: PartFile) -> float:
        return self._rolling.over_ms(part.created_ms, part.modified_ms)

    def next_flush_ms(self) -> int | None:
        """Return when the next part must be finished even if no elements come, in ms, or None."""
        first = min(map(self._over_ms, self._parts.values()), default=math.inf)
        return None if first == math.inf else int(first)

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether parts wait for a number of checkpoints before they are compacted."""
        return self._compactor is not None and self._compactor.counts_checkpoints

    def _report_leftovers(self, end_of_input: bool) -> None:
        """Schedule the removal of leftovers of earlier writers: once at the start, and at the end of input."""
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
        """Return the finished parts and the removals to carry out with them."""
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Close the files in progress."""
        for part in self._parts.values():
            part.close()
        self._store.close()

    def snapshot_state(self) -> object:
        """Return the next part number, the parts in progress and the parts that wait for compaction."""
        if not self._counter:
            return None
        waiting = {} if self._compactor is None else self._compactor.snapshot()
        return self._uid, self._counter, {bucket: part.fields() for bucket, part in self._parts.items()}, waiting

    def begin_after(self, states: Sequence[tuple[str, int, object, object]]) -> None:
        """Let the part numbers go on after those of all former writers."""
        self._counter = max((counter for _, counter, _, _ in states), default=0)

    def restore_state(self, state: Any) -> None:
        """Resume the parts of a snapshot; after a rescale to fewer subtasks there may be several snapshots."""
        uid, counter, parts, waiting = state
        is_own = uid == self._uid
        if is_own:
            self._counter = max(self._counter, counter)
        for bucket, fields in parts.items():
            if bucket in self._parts:
                self._finish(bucket)
            self._parts[bucket] = self._store.go_on_with(fields, is_own, self._next_name)
        self._take_waiting(waiting)

    def _take_waiting(self, waiting: dict[str, tuple[list[FinishedPart], int]]) -> None:
        """Restore parts that wait for compaction, or finish them if the sink no longer compacts."""
        if self._compactor is not None:
            self._compactor.restore(waiting)
        else:
            self._finished += [part for parts, _ in waiting.values() for part in parts]


def _remote_parts(part_format: PartFormat, writer: WriterId, context: WriterInitContext) -> PartFiles:
    from firesteel.connectors.files.remote_parts import RemoteParts

    return RemoteParts(part_format, writer, context.configuration, context.spool_directory)


def _uid(context: WriterInitContext) -> str:
    """Return the id of the parts of this writer, which is the same for all attempts of its subtask.

    Several attempts may write parts with the same final name; only the committed one becomes visible.
    """
    writer = f"{context.job_id}/{context.sink_id}/{context.subtask_index}"
    return hashlib.md5(writer.encode(), usedforsecurity=False).hexdigest()
