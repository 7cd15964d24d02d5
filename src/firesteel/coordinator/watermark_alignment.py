"""How far sources may run ahead of each other: `WatermarkStrategy.with_watermark_alignment`.

Flink: `SourceCoordinator.announceCombinedWatermark`, and the pausing in `SourceOperator`. Differs in when: there a
reader stops once its watermark is too far ahead; here what a batch reads is fixed before it runs, so how far the
watermark moves per element is measured, and a batch reads as many elements as are likely to keep the drift. The update
interval has no effect: all is decided anew for each batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.task.slot_tasks import SubtaskReport

_FIRST_ELEMENTS = 1000
"""What a reader reads before it is known how far that moves its watermark."""

Reader = tuple[str, int]
"""(source vertex, subtask)."""


@dataclass(slots=True)
class _Progress:
    """How far one reader is: its watermark, what it was given to read since, and watermark per element (ms)."""

    watermark: int | None = None
    given: int = 0
    pace: float | None = None


class WatermarkAligner:
    """Says how much each reader of an aligned source may read next.

    Args:
        alignments: `WatermarkAlignment` of the sources that have one, by vertex id.
    """

    def __init__(self, alignments: Mapping[str, Any]) -> None:
        self._group = {vertex: alignment.watermark_group for vertex, alignment in alignments.items()}
        self._drift = {v: alignment.max_allowed_watermark_drift.to_millis() for v, alignment in alignments.items()}
        self._readers: dict[Reader, _Progress] = {}
        self._slowest: dict[str, list[tuple[int, Reader]]] = {}

    def observe(self, reports: Iterable[SubtaskReport]) -> None:
        """Take the watermarks behind a batch; a reader without one (idle, ended) holds nobody back."""
        for report in reports:
            if report.vertex_id in self._group:
                progress = self._progress((report.vertex_id, report.subtask_index))
                before, after = progress.watermark, report.source_watermark
                if progress.given and before is not None and after is not None:
                    progress.pace = (after - before) / progress.given
                if after != before:
                    progress.given = 0
                progress.watermark = after

    def begin_plan(self, reading: Collection[Reader]) -> None:
        """Find the two slowest readers of each group among those that have something to read, or may get it."""
        self._slowest = {}
        for reader, progress in self._readers.items():
            if progress.watermark is not None and reader in reading:
                slowest = self._slowest.setdefault(self._group[reader[0]], [])
                slowest.append((progress.watermark, reader))
                slowest.sort()
                del slowest[2:]

    def limit(self, reader: Reader, elements: int) -> int:
        """How many of these elements the reader may read now; 0: it waits for the others."""
        vertex = reader[0]
        if vertex not in self._group:
            return elements
        progress = self._progress(reader)
        if progress.watermark is None:
            return min(elements, _FIRST_ELEMENTS)
        slowest = self._slowest.get(self._group[vertex], [])
        others = [watermark for watermark, other in slowest if other != reader]
        if not others:
            return elements
        left = others[0] + self._drift[vertex] - progress.watermark
        if left < 0:
            return 0
        if progress.pace is None:
            return min(elements, _FIRST_ELEMENTS)
        return elements if progress.pace <= 0 else min(elements, int(left / progress.pace) + 1)

    def give(self, reader: Reader, elements: int) -> None:
        """The reader reads so many elements in the next batch."""
        if reader[0] in self._group:
            self._progress(reader).given += elements

    def _progress(self, reader: Reader) -> _Progress:
        return self._readers.setdefault(reader, _Progress())
