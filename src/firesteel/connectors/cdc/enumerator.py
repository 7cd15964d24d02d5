"""The enumerator of captured tables: chunks of a snapshot first, and the log when all of them were read.

A batch that reads chunks has ended before the log appears, so changes of a row come after the row itself, whichever
subtasks read them. Flink CDC: `HybridSplitAssigner`.
"""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.connectors.cdc.splits import Log, is_log, log_after
from firesteel.functions.source_reading import SourceEnumerator
from firesteel.functions.splits import Discovered, Known, Split

POLLING_MS = 50
"""Interval in ms at which the server is asked how far its log is."""


class CaptureEnumerator(SourceEnumerator):
    """Hands out chunks, then the log. A connector says how it finds them."""

    rediscover_ms: int | None = POLLING_MS

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the chunks to read, or the log with its end."""
        if known.is_first:
            return self.begin(parallelism), set()
        self.check(known)
        logs = [split for split in known.splits.values() if is_log(split.split_id)]
        if logs:
            return [self.grown(split) for split in logs], set()
        chunks = [split for split in known.splits.values() if split.end > split.start]
        more = self.more_chunks(parallelism, chunks, known)
        # The log begins in a batch of its own: within one, other subtasks may read changes before the rows they change.
        if chunks or more:
            return more, set(known.keys)
        self.end_snapshot()
        log, start = log_after(known.keys)
        return [self.log_split(log, start)], set()

    def begin(self, parallelism: int) -> list[Split]:
        """Return the first splits, in the first run of a job."""
        raise NotImplementedError

    def check(self, known: Known) -> None:
        """Check that the server still has what the splits need."""

    def more_chunks(self, parallelism: int, unread: Sequence[Split], known: Known) -> list[Split]:
        """Return chunks that are new or have changed.

        Args:
            parallelism: Number of subtasks.
            unread: The chunks that were not read yet.
            known: All splits.
        """
        raise NotImplementedError

    def end_snapshot(self) -> None:
        """Release what chunks have needed."""

    def log_split(self, log: Log, start: int) -> Split:
        """Return the split of the log from a position."""
        raise NotImplementedError

    def grown(self, split: Split) -> Split:
        """Return the split of the log with its present end."""
        raise NotImplementedError
