"""What a batch has to do in the slots, and what they report of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firesteel.functions.splits import Idleness, SplitRange
from firesteel.task.state_transfer import NOTHING_STORED, Stored
from firesteel.task.versions import Chain


@dataclass(frozen=True, slots=True)
class SubtaskReport:
    """The progress of one subtask in this attempt.

    `source_watermark` is a source's event-time progress; None if other sources must not wait for it. `metrics` are
    measured at the end of a batch. `source_bytes` is the approximate number of bytes that a source read or sent in the
    batch.
    """

    vertex_id: str
    subtask_index: int
    records_in: int
    records_out: int
    has_ended: bool
    source_watermark: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    source_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StageReport:
    """The result of one stage of one batch in one slot.

    Attributes:
        stage: The stage.
        slot: The slot.
        subtasks: The subtasks of the stage.
        committables: The committables of the sinks for the batch.
        next_time: Time (ms) at which the slot has work to do even without input, or None.
        chain: The files of the slot's version after the batch; empty in BATCH mode, which keeps none.
        try_number: The try of the batch.
        stored: The files for checkpoints that are in the remote store by now, and the error of an upload, if any.
        awaits_checkpoint: Whether a sink has something to show with a later checkpoint, even if there is no input.
        state_s: Time in seconds for which the slot has written its version.
        noted_part: The part of the slot's memory for state on disk that entries took which the batch has changed.
    """

    stage: int
    slot: int
    subtasks: list[SubtaskReport]
    committables: list[Any]
    next_time: int | None
    chain: Chain
    try_number: int
    stored: Stored = NOTHING_STORED
    awaits_checkpoint: bool = False
    state_s: float = 0.0
    noted_part: float = 0.0


SlotOf = Callable[[str, int], int]
"""(vertex id, subtask) -> slot, see `StagePlan.slot_of`."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The input of one batch, fixed before the batch runs so that a replay reads the same.

    Attributes:
        ranges: (vertex id, subtask) -> ranges to read.
        ended: (vertex id, subtask) of the sources whose input ends with this batch.
        idle: (vertex id, subtask) -> the idle splits of a source, where they have changed.
        input_ms: The time of the region's input in ms (see `InputClock`) at the start of the batch, and at its end at
            the latest.
        now_ms: Processing time at the start of the batch, in ms; None leaves each slot its own.
        is_checkpoint: Whether a checkpoint follows the batch, so that sinks prepare their commits.
        in_full: Whether all keyed state is written after the batch, and not only its changes.
        is_savepoint: Whether a savepoint follows the checkpoint, so that sinks finish their files.
        to_store: (stage, slot) -> files of earlier batches to upload to the remote store for pending checkpoints.
        unstored: (stage, slot) -> files of the version before the batch that are not in the remote store; a checkpoint
            after the batch needs those that it does not merge.
        waits_for_store: Whether the batch waits for the uploads for this checkpoint.
    """

    ranges: dict[tuple[str, int], list[SplitRange]] = field(default_factory=dict)
    ended: frozenset[tuple[str, int]] = frozenset()
    idle: dict[tuple[str, int], Idleness] = field(default_factory=dict)
    input_ms: tuple[float, float] = (0.0, 0.0)
    now_ms: int | None = None
    is_checkpoint: bool = True
    in_full: bool = False
    is_savepoint: bool = False
    to_store: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    unstored: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    waits_for_store: bool = False

    def of_stage(self, stage: int, level_of: Mapping[str, int]) -> BatchPlan:
        """Return the plan of a stage, given the stage of each vertex: other stages read other ranges."""
        return replace(self, ranges={one: parts for one, parts in self.ranges.items() if level_of[one[0]] == stage})

    def without_slots(self) -> BatchPlan:
        """Return the plan of slots that are not busy (see `busy_slots`)."""
        return replace(self, ranges={}, ended=frozenset(), idle={}, to_store={}, unstored={})

    def busy_slots(self, stage: int, slot_of: SlotOf) -> set[int]:
        """Return the slots with something to read, to end or to upload, or with splits whose idleness has changed.

        Args:
            stage: The stage that the slots run.
            slot_of: Returns the slot of (vertex id, subtask).
        """
        readers = {slot_of(*reader) for reader in (*self.ranges, *self.ended, *self.idle)}
        return readers | {slot for of_stage, slot in (*self.to_store, *self.unstored) if of_stage == stage}

    def of_slots(self, stage: int, slot_of: SlotOf) -> dict[int, BatchPlan]:
        """Return the plan of each busy slot (see `busy_slots`), which contains only what that slot needs."""
        ranges: defaultdict[int, dict[tuple[str, int], list[SplitRange]]] = defaultdict(dict)
        for reader, parts in self.ranges.items():
            ranges[slot_of(*reader)][reader] = parts
        ended: defaultdict[int, set[tuple[str, int]]] = defaultdict(set)
        for reader in self.ended:
            ended[slot_of(*reader)].add(reader)
        idle: defaultdict[int, dict[tuple[str, int], Idleness]] = defaultdict(dict)
        for reader, idleness in self.idle.items():
            idle[slot_of(*reader)][reader] = idleness
        return {
            slot: replace(
                self,
                ranges=ranges[slot],
                ended=frozenset(ended[slot]),
                idle=idle[slot],
                to_store=_only(self.to_store, (stage, slot)),
                unstored=_only(self.unstored, (stage, slot)),
            )
            for slot in self.busy_slots(stage, slot_of)
        }


def _only(
    files: Mapping[tuple[int, int], tuple[str, ...]], key: tuple[int, int]
) -> dict[tuple[int, int], tuple[str, ...]]:
    return {key: files[key]} if key in files else {}
