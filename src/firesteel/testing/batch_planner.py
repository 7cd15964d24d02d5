"""Which ranges of the sources each batch of a local run reads."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.errors import TranslationError
from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.operators.sources import Split, SplitRange, kind_of, source_of
from firesteel.task.slot_tasks import BatchPlan

Ranges = list[tuple[int, SplitRange]]
"""(subtask, range) pairs of one source and batch."""


def plan_batches(job_graph: JobGraph, batch_elements: int | None) -> list[BatchPlan]:
    """The batches that read all sources, at most `batch_elements` per split and batch; None reads all in one.

    A source's end is part of the batch that reads the last of it.

    Raises:
        TranslationError: a source never ends.
    """
    sources = {v.id: list(_batches_of(v, batch_elements)) for v in job_graph.vertices if not v.inputs}
    plans = []
    for number in range(max((len(batches) for batches in sources.values()), default=1)):
        ranges: dict[tuple[str, int], list[SplitRange]] = {}
        for vertex_id, batches in sources.items():
            for subtask, part in batches[number] if number < len(batches) else ():
                ranges.setdefault((vertex_id, subtask), []).append(part)
        ended = frozenset(vertex_id for vertex_id, batches in sources.items() if len(batches) == number + 1)
        plans.append(BatchPlan(ranges, ended))
    return plans


def _batches_of(vertex: JobVertex, batch_elements: int | None) -> Iterator[Ranges]:
    source = source_of(vertex.chain[0].operator)
    kind = kind_of(source)
    if kind.rediscover_ms(source) is not None:
        raise TranslationError(f"source {vertex.name!r} never ends: a local run needs bounded sources")
    splits = kind.discover(source, vertex.parallelism)
    for phase in sorted({split.source_index for split in splits}) or [0]:
        amount = None if batch_elements is None else batch_elements * kind.units_per_element
        yield from _batches_of_splits([s for s in splits if s.source_index == phase], amount)


def _batches_of_splits(splits: list[Split], amount: int | None) -> Iterator[Ranges]:
    """The same amount of each split per batch; compressed files are read whole."""
    longest = max((split.length for split in splits), default=0)
    step = max(longest, 1) if amount is None else amount
    for start in range(0, max(longest, 1), step):
        ranges: Ranges = []
        for split in splits:
            whole = split.path.endswith(".gz")
            end = split.length if whole else min(start + step, split.length)
            if start < end and not (whole and start > 0):
                ranges.append((split.subtask_index, SplitRange(split, start, end)))
        yield ranges
