"""Watermark alignment of sources: `WatermarkStrategy.with_watermark_alignment`.

Flink: `SourceCoordinator.announceCombinedWatermark`, and the pausing in `SourceOperator`. In Flink a reader pauses once
its watermark is too far ahead. Here the input of a batch is fixed before it runs, so the watermark's advance per
element is measured, and a batch reads as many elements as are likely to stay within the drift. The update interval has
no effect, because limits are computed for each batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.task.batch_plan import SubtaskReport

_FIRST_ELEMENTS = 1000
"""Number of elements that a reader reads before the advance of its watermark per element is known."""

Reader = tuple[str, int]
"""(source vertex, subtask)."""


@dataclass(slots=True)
class _Progress:
    """The progress of one reader: watermark, elements given since, and watermark advance per element (ms)."""

    watermark: int | None = None
    given: int = 0
    pace: float | None = None


class WatermarkAligner:
    """The limits of aligned sources: how many elements each reader may read next.

    Args:
        alignments: `WatermarkAlignment` of the sources that have one, by vertex id.
    """

    def __init__(self, alignments: Mapping[str, Any]) -> None:
        self._group = {vertex: alignment.watermark_group for vertex, alignment in alignments.items()}
        self._drift = {v: alignment.max_allowed_watermark_drift.to_millis() for v, alignment in alignments.items()}
        self._readers: dict[Reader, _Progress] = {}
        self._slowest: dict[str, list[tuple[int, Reader]]] = {}

    def observe(self, reports: Iterable[SubtaskReport]) -> None:
        """Update the watermarks after a batch; a reader without one (idle, ended) holds no other reader back."""
        for report in reports:
            if report.vertex_id in self._group:
                progress = self._progress((report.vertex_id, report.subtask_index))
                before, after = progress.watermark, report.source_watermark
                if progress.given and before is not None and after is not None:
                    progress.pace = (after - before) / progress.given
                # While the watermark stands still, elements are added up: the pace is that over several batches.
                if after != before:
                    progress.given = 0
                progress.watermark = after

    def begin_plan(self, reading: Collection[Reader]) -> None:
        """Find the two slowest readers of each group among those that have, or may get, something to read."""
        self._slowest = {}
        for reader, progress in self._readers.items():
            if progress.watermark is not None and reader in reading:
                slowest = self._slowest.setdefault(self._group[reader[0]], [])
                slowest.append((progress.watermark, reader))
                slowest.sort()
                # Two are enough: for each reader the slowest of the others is one of them.
                del slowest[2:]

    def limit(self, reader: Reader, elements: int) -> int:
        """Return how many of these elements the reader may read now; 0 makes it wait for the others."""
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
        # At the limit itself it may read on: two readers at one watermark would wait for each other with a drift of 0.
        if left < 0:
            return 0
        if progress.pace is None:
            return min(elements, _FIRST_ELEMENTS)
        # At least one element: if a single one may overstep the limit, the reader would otherwise stop for ever.
        return elements if progress.pace <= 0 else min(elements, int(left / progress.pace) + 1)

    def give(self, reader: Reader, elements: int) -> None:
        """Note that the reader reads `elements` in the next batch."""
        if reader[0] in self._group:
            self._progress(reader).given += elements

    def _progress(self, reader: Reader) -> _Progress:
        return self._readers.setdefault(reader, _Progress())
