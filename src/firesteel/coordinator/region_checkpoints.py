"""The part of one run of a region in its job's checkpoints: when it takes part, with what, and what it commits."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from firesteel.coordinator.checkpoint_messages import CommitPart, Directive, Part, Request
from firesteel.coordinator.checkpoint_schedule import CheckpointSchedule
from firesteel.coordinator.part_uploads import PartUploads, WaitingPart
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.state_transfer import Stored


class Step(enum.Enum):
    """What a region does next."""

    GO_ON = "process what has arrived"
    TAKE_NOTHING = "take a part after a batch without input, for a savepoint"
    DRAIN = "end all sources, and take a part, for a savepoint that drains"
    WAIT = "wait for the other regions, or until it is stopped"
    FINISH = "end"
    RESTART = "fail, and return to the last checkpoint"


class RegionCheckpoints:
    """The counterpart of the `CheckpointCoordinator` in one run of a region. Pure: events in, actions out.

    A run reports its newest complete part and what it has committed, again and again; each answer is a directive. So
    any of these messages may be late, lost or repeated.

    Args:
        configuration: The options of the job.
        interval_s: The checkpoint interval in seconds; with 0 a checkpoint is due after each batch.

    Attributes:
        uploads: Holds back parts until their files are in the remote store.
        part: The newest complete part that is not decided yet.
        settled: Number of the last part that was committed.
    """

    def __init__(self, configuration: Mapping[str, str], interval_s: float = 0.0) -> None:
        self.uploads = PartUploads(configuration)
        self.part: Part | None = None
        self.settled = 0
        self._schedule = CheckpointSchedule(interval_s)
        self._directive = Directive()
        self._numbers = self._decided = 0
        self._pending: list[object] = []
        self._committed = 0
        self._savepoints: set[Request] = set()
        self._has_new = False

    # --- parts ---------------------------------------------------------------------------------------------

    @property
    def pending(self) -> Sequence[Any]:
        """The durable committables that no decided part contains."""
        return tuple(self._pending)

    def batch_ended(self, committables: Sequence[Any], stored: Sequence[Stored], now_s: float) -> None:
        """Add the committables of a batch, and process the uploads reported with it.

        Raises:
            CheckpointFailedError: an upload failed or timed out, and no more checkpoints may fail.
        """
        self._pending += committables
        self._complete(self.uploads.take(stored, now_s))

    def take(self, part: Part, missing: set[str], has_ended: bool, now_s: float) -> None:
        """Take a part after the last batch; it is complete when its missing files are stored.

        Raises:
            CheckpointFailedError: no more checkpoints may fail, or files of the last one could not be stored.
        """
        self._schedule.taken(part.begun_s, now_s)
        self._savepoints |= {request for request in part.covers if request.needs_all_regions}
        self._numbers += 1
        count = self._committed + len(self._pending)
        # Counted since the run began, not since the last part: an older part may be decided after this one was taken.
        part = replace(part, number=self._numbers, committables=count, is_final=has_ended)
        # The batch of a part that was asked for has waited for the uploads.
        has_waited = bool(part.covers) or has_ended
        self._complete(self.uploads.begin(WaitingPart(part, missing), has_waited, has_ended, now_s))

    def _complete(self, waiting: WaitingPart | None) -> None:
        """Report a part whose files are in the store, if there is one, instead of an older one."""
        if waiting is not None:
            # The older part is never decided now, and a request that it covered would wait for ever.
            before = frozenset() if self.part is None else self.part.covers
            self.part = replace(waiting.part, covers=waiting.part.covers | before)

    def directed(self, directive: Directive, now_s: float) -> list[CommitPart]:
        """Process the answer to a report; a newly decided part is to be committed, once."""
        # An answer that was overtaken by a later one, or came twice.
        if directive.serial <= self._directive.serial:
            return []
        self._directive = directive
        decided = directive.decided
        if decided is None or decided.number <= self._decided:
            return []
        self._decided = decided.number
        if self.part is not None and self.part.number <= decided.number:
            self.part = None
        # A later part may be complete already; it is not decided yet.
        count, self._committed = decided.committables - self._committed, decided.committables
        committed, self._pending = self._pending[:count], self._pending[count:]
        self.uploads.decided(now_s)
        return [CommitPart(tuple(committed), decided.state.batch_id, directive.needed)]

    def committed(self) -> None:
        """Process that the decided part is committed."""
        self.settled = self._decided

    # --- when ------------------------------------------------------------------------------------------------

    @property
    def asked(self) -> frozenset[Request]:
        """The requests for which the region has no complete part yet."""
        part = self.part
        return frozenset(r for r in self._directive.asked if part is None or not part.covers_all([r]))

    @property
    def is_wanted(self) -> bool:
        """Whether a request or another region waits for a part, and none is being uploaded."""
        others_wait = self._directive.is_wanted and self.part is None
        return not self.uploads.is_busy and (bool(self.asked) or others_wait)

    def is_due(self, begun_s: float, expected_s: float) -> bool:
        """Return whether the batch that begins should end with a checkpoint, besides the last one."""
        is_due = self.is_wanted or self._schedule.is_due(begun_s, expected_s)
        # Requests ignore the limits of periodic checkpoints, as forced ones in Flink's `CheckpointRequestDecider`.
        return bool(self.asked) or (is_due and self.uploads.may_begin(begun_s))

    def due_in_s(self, now_s: float) -> float:
        """Return the time in seconds until the next checkpoint is due, infinite if there is nothing for it."""
        # A failed checkpoint is made up for even if nothing has come since.
        if not self._has_new and not self.uploads.needs_another:
            return math.inf
        return max(self._schedule.due_in_s(now_s), self.uploads.pause_left_s(now_s))

    def processed(self, is_checkpoint: bool, was_idle: bool, has_more: bool) -> None:
        """Note whether a batch leaves something for a later checkpoint.

        Args:
            is_checkpoint: Whether it ended with a checkpoint.
            was_idle: Whether it had nothing to do.
            has_more: Whether a sink has something to show with a later checkpoint, even if there is no input.
        """
        self._has_new = has_more or (not is_checkpoint and (self._has_new or not was_idle))

    def next_step(self, has_ended: bool) -> Step:
        """Return what the region does next, given whether its input has ended."""
        outcomes = self._directive.outcomes
        is_pending = any(request not in outcomes for request in self._savepoints)
        after = {request.after for request, succeeded in outcomes.items() if succeeded}
        if AfterSavepoint.HOLD in after:
            return Step.WAIT
        if not after.isdisjoint({AfterSavepoint.STOP, AfterSavepoint.DRAIN}):
            return Step.FINISH
        if any(request.after is AfterSavepoint.DRAIN and request in outcomes for request in self._savepoints):
            return Step.RESTART  # Its sources have ended, and the job has not.
        if has_ended:
            return Step.WAIT if is_pending or self.part is not None else Step.FINISH
        asked = {request.after for request in self.asked if request.needs_all_regions}
        if asked or is_pending:
            # Something else may be asked for while a savepoint is being taken, which needs another part.
            without_input = Step.WAIT if is_pending and not self.asked else Step.TAKE_NOTHING
            return Step.DRAIN if AfterSavepoint.DRAIN in asked else without_input
        return Step.GO_ON
