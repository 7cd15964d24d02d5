"""The decisions about the checkpoints of one job; `docs/internals/checkpoints.md` draws its states."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from firesteel.common.encoding import encoded
from firesteel.coordinator.checkpoint_messages import (
    Answer,
    CheckpointAction,
    Complete,
    Directive,
    EndRun,
    GiveAnswer,
    Part,
    ReadCheckpoints,
    RemoveCheckpoint,
    RemoveClaimed,
    Request,
    Restore,
    RunId,
    Wake,
    WriteCheckpoint,
    WriteSavepoint,
)
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState

Actions = list[CheckpointAction]

_REMEMBERED = 1000
"""Number of answered requests that are remembered, for regions that have not heard of it; those that end a job stay."""


class Phase(enum.Enum):
    """The state of a job's checkpoints; at most one checkpoint is between its decision and its end."""

    COLLECTING = "parts are being prepared"
    WRITING = "the metadata is being written, which decides the checkpoint"
    COMMITTING = "it is decided, and the regions commit their parts"
    SAVING = "all regions have committed, and savepoints of it are being written"


TRANSITIONS: Mapping[tuple[Phase, Phase], str] = {
    (Phase.COLLECTING, Phase.WRITING): "all running regions have prepared",
    (Phase.WRITING, Phase.COMMITTING): "written",
    (Phase.WRITING, Phase.COLLECTING): "not written",
    (Phase.COMMITTING, Phase.COLLECTING): "all have committed",
    (Phase.COMMITTING, Phase.SAVING): "all have committed, a savepoint was asked for",
    (Phase.SAVING, Phase.COLLECTING): "savepoints written",
}
"""When each phase follows which."""


@dataclass(slots=True)
class _Run:
    """The current run of a region.

    Attributes:
        id: The run.
        newest_before: The newest checkpoint before it claimed its number; None if that does not matter.
        is_reading: Whether it wants to know the checkpoint that it resumes from.
        is_running: Whether it knows.
        number: The number of the newest part received.
        prepared: The part for the next checkpoint.
        decided: The decided part that it has not committed yet.
    """

    id: RunId
    newest_before: int | None = None
    is_reading: bool = False
    is_running: bool = False
    number: int = 0
    prepared: Part | None = None
    decided: Part | None = None


@dataclass(slots=True)
class _Checkpoint:
    """The checkpoint that is being decided, committed or saved; `owner` writes its metadata, then savepoints of it."""

    checkpoint_id: int
    owner: RunId
    parts: dict[RunId, Part]
    requests: list[Request]
    saving: set[Request] = field(default_factory=set)


class CheckpointCoordinator:
    """The checkpoints of one job. Pure: events in, actions out. Flink: `runtime.checkpoint.CheckpointCoordinator`.

    A checkpoint has one part per region. It is written when each running region has prepared one that covers all
    requests. Regions share no records, so any combination of their parts is consistent: for a region that does not run,
    it has the part that the region will be restored from. Events may be late or repeated; runs repeat lost reports.

    Args:
        job_id: For messages.
        regions: Number of regions.
        retained: Number of checkpoints to keep.
        has_claimed: Whether the job owns the checkpoint that it was started with.
        ended: The regions that have ended already.

    Attributes:
        ended: The regions that have ended; all their output is committed.
    """

    def __init__(
        self, job_id: str, regions: int, retained: int, has_claimed: bool = False, ended: Iterable[int] = ()
    ) -> None:
        self._job_id = job_id
        self._region_count = regions
        self._retained = retained
        self._has_claimed = has_claimed
        self._phase = Phase.COLLECTING
        self._current: _Checkpoint | None = None
        self._decisions = 0
        self._kept: list[CheckpointMetadata] = []
        self._joined_id = 0
        self._runs: dict[int, _Run] = {}
        self._failed: set[int] = set()
        self.ended = set(ended)
        self._settled: set[int] = set()
        self._requests: list[Request] = []
        self._outcomes: dict[Request, bool] = {}
        self._attempts = itertools.count(1)
        self._serials = itertools.count(1)

    @property
    def is_idle(self) -> bool:
        """Whether no region is running."""
        return not self._runs

    @property
    def kept(self) -> tuple[CheckpointMetadata, ...]:
        """The retained checkpoints, the newest last."""
        return tuple(self._kept)

    @property
    def _id(self) -> int:
        return self._kept[-1].checkpoint_id if self._kept else 0

    # --- runs ----------------------------------------------------------------------------------------------

    def run_entered(self, region: int) -> tuple[RunId, Actions]:
        """Register a run that is about to begin; an earlier one of the region fails and can't decide any more."""
        before = self._runs.get(region)
        actions: Actions = [] if before is None else [*self._end(before.id, has_failed=True), EndRun(before.id)]
        # It runs again, so requests that need all regions need not be refused any more.
        self._failed.discard(region)
        self.ended.discard(region)
        run = self._runs[region] = _Run(RunId(region, next(self._attempts)))
        return run.id, actions

    def run_begun(self, run_id: RunId, newest_before: int | None) -> Actions:
        """Let a run that has claimed its number find the checkpoint that it resumes from."""
        run = self._run_of(run_id)
        if run is None:
            return [EndRun(run_id)]
        run.newest_before, run.is_reading = newest_before, True
        return self._reads()

    def _reads(self) -> Actions:
        """Let runs read the checkpoints, unless one is being written, whose outcome they must know."""
        if self._phase is Phase.WRITING:
            return []
        reading = [run for run in self._runs.values() if run.is_reading]
        for run in reading:
            run.is_reading = False
        in_full = not any(run.is_running for run in self._runs.values())
        return [ReadCheckpoints(run.id, in_full, self._decisions) for run in reading]

    def checkpoints_read(
        self, read: ReadCheckpoints, newest: int, kept: tuple[CheckpointMetadata, ...] | None
    ) -> Actions:
        """Process what a run has found.

        Args:
            read: What was to be read; if another checkpoint was taken meanwhile, it is repeated.
            newest: The id of the newest checkpoint, 0 if there is none.
            kept: All checkpoints, the newest last, if they were read in full.
        """
        run = self._run_of(read.run)
        if run is None:
            return [EndRun(read.run)]
        # The event came twice, or the run was told meanwhile to read again.
        if run.is_running or run.is_reading:
            return []
        # Determined anew: the run that made a full read unnecessary may have ended since.
        is_first = not any(other.is_running for other in self._runs.values())
        if read.decisions != self._decisions or (is_first and kept is None):
            run.is_reading = True
            return self._reads()
        is_other = newest != self._id
        if is_first and kept is not None:
            self._kept = list(kept)
            # Another JobManager may have written them, so nobody here knows what was committed; a repetition does no
            # harm.
            self._settled.clear()
            self._joined_id = self._id
            is_other = False
        # No region may continue from the checkpoint of another JobManager while others here know nothing of it. And a
        # run with a larger number than this one would remove its files as leftovers.
        is_late = run.newest_before is not None and run.newest_before < self._joined_id
        if is_other or is_late:
            return [EndRun(run.id, max(newest, self._id))]
        run.is_running = True
        return [Restore(run.id, tuple(self._kept))]

    def run_ended(self, run_id: RunId, has_failed: bool) -> Actions:
        """Process that the thread of a run has ended, which does nothing more of what it was to do.

        Its undecided part is void, and requests that need all regions are refused.
        """
        is_owner = self._current is not None and self._current.owner == run_id
        # The write died with its thread; who was to be told would otherwise wait for it without end.
        actions = self.checkpoint_not_written(self._id + 1) if is_owner else []
        return [*actions, *self._end(run_id, has_failed)]

    def _end(self, run_id: RunId, has_failed: bool) -> Actions:
        if self._run_of(run_id) is None:
            return []
        del self._runs[run_id.region]
        (self._failed if has_failed else self.ended).add(run_id.region)
        if not has_failed:
            self._settled.add(run_id.region)
        actions: Actions = []
        for request in list(self._requests):
            if not self._runs:
                actions.append(self._refuse(request, "it ended"))
            elif has_failed and request.needs_all_regions:
                actions.append(self._refuse(request, "a region of it failed"))
        if self._phase is Phase.SAVING and self._current is not None and self._current.owner == run_id:
            self._current.saving.clear()  # Unlike a decision, a savepoint need not be waited for if its thread hangs.
            actions += self._end_or_save()
        others = [run.id for run in self._runs.values() if run.is_running]
        if others or not self._runs:  # Otherwise nobody can write savepoints yet; the next report completes it.
            actions += self._complete(others[0] if others else run_id)
        return [*actions, Wake()]

    def _run_of(self, run_id: RunId) -> _Run | None:
        run = self._runs.get(run_id.region)
        return run if run is not None and run.id == run_id else None

    # --- requests -------------------------------------------------------------------------------------

    def requested(self, request: Request) -> Actions:
        """Take a checkpoint or savepoint as soon as all regions have prepared parts for it.

        A savepoint needs all regions, as in Flink: what a failed one has not committed yet would be missing in it. So
        does a checkpoint from which the job goes on with another parallelism.
        """
        if request in self._requests or request in self._outcomes:
            return []
        self._requests.append(request)
        if not self._runs:
            return [self._refuse(request, "it ended")]
        if request.needs_all_regions and self._failed:
            return [self._refuse(request, f"region {min(self._failed)} of it failed and has not restarted")]
        return [Wake()]

    def _refuse(self, request: Request, why: str) -> GiveAnswer:
        what = "savepoint" if request.is_savepoint else "checkpoint"
        return self._answer(request, RuntimeError(f"job {self._job_id}: {why} before the {what} was taken"))

    def _answer(self, request: Request, answer: Answer) -> GiveAnswer:
        self._requests.remove(request)
        self._outcomes[request] = not isinstance(answer, Exception)
        # Dicts keep the order of insertion, so the first one is the oldest.
        old = next(iter(self._outcomes))
        if len(self._outcomes) > _REMEMBERED and old.after is AfterSavepoint.GO_ON:
            del self._outcomes[old]
        return GiveAnswer(request, answer)

    # --- decisions ---------------------------------------------------------------------------------------------

    def reported(self, run_id: RunId, part: Part | None, settled: int) -> Actions:
        """Process the state of a run: its newest undecided part, and the number of the last part that it committed."""
        run = self._run_of(run_id)
        if run is None or not run.is_running:
            return [EndRun(run_id)]
        actions: Actions = []
        # Reports are repeated until they are answered, and a late one must not bring back an older part.
        if part is not None and part.number > run.number:
            run.number, run.prepared = part.number, part
            actions.append(Wake())
        if run.decided is not None and settled >= run.decided.number:
            run.decided = None
            self._settled.add(run_id.region)
        actions += self._complete(run_id)
        if self._phase is Phase.COLLECTING and self._is_prepared:
            actions.append(self._write(run_id))
        return actions

    def directive(self, run_id: RunId) -> Directive | None:
        """Return what a run has to know now; None if it is over."""
        run = self._run_of(run_id)
        if run is None:
            return None
        in_progress = set() if self._current is None else {*self._current.requests}
        others = (other for other in self._runs.values() if other is not run)
        part = run.prepared
        asked = [request for request in self._requests if part is None or not part.covers_all([request])]
        states = (metadata.regions[run_id.region] for metadata in self._kept)
        return Directive(
            next(self._serials),
            run.decided,
            frozenset(state.batch_id for state in states if state is not None),
            frozenset(asked) - in_progress,
            part is None and any(other.prepared is not None for other in others),
            {request: succeeded for request, succeeded in self._outcomes.items() if request.needs_all_regions},
        )

    @property
    def _is_prepared(self) -> bool:
        """Whether all running regions have prepared parts that cover all requests, and no request has ended the job.

        A region that restarts after such a request does not know of it yet, and must not get further than it.
        """
        if any(
            succeeded and request.after is not AfterSavepoint.GO_ON for request, succeeded in self._outcomes.items()
        ):
            return False
        running = [run for run in self._runs.values() if run.is_running]
        parts = [run.prepared for run in running if run.prepared is not None]
        # A region that restarts is not running yet, and its uncommitted part would be missing in a savepoint.
        has_all = {run.id.region for run in running} | self.ended >= set(range(self._region_count))
        has_all |= not any(request.needs_all_regions for request in self._requests)
        return has_all and len(parts) == len(running) > 0 and all(part.covers_all(self._requests) for part in parts)

    def _write(self, run_id: RunId) -> WriteCheckpoint:
        parts = {run.id: run.prepared for run in self._runs.values() if run.prepared is not None}
        states: list[RegionState | None] = [self._last_state(region) for region in range(self._region_count)]
        for run, part in parts.items():
            states[run.region] = part.state
        self._current = _Checkpoint(self._id + 1, run_id, parts, list(self._requests))
        self._go_to(Phase.WRITING)
        prepared = frozenset(run.region for run in parts)
        former = self._kept[-1] if self._kept else None
        return WriteCheckpoint(run_id, self._id + 1, tuple(states), prepared, former)

    def _last_state(self, region: int) -> RegionState | None:
        """Return the last decided state of a region, without committables that are known to be committed."""
        state = self._kept[-1].regions[region] if self._kept else None
        return replace(state, committables=encoded([])) if state is not None and region in self._settled else state

    def checkpoint_written(self, metadata: CheckpointMetadata) -> Actions:
        """Decide a checkpoint, whatever has become of the runs meanwhile: those that resume will find it."""
        current = self._writing(metadata.checkpoint_id)
        if current is None:
            return []
        self._kept.append(metadata)
        for run_id, part in current.parts.items():
            # Also if the run has ended: its part counts without having been committed, so the next checkpoint repeats
            # it.
            self._settled.discard(run_id.region)
            run = self._run_of(run_id)
            if run is not None and run.prepared is not None:
                run.decided = part
                # The run may have reported a newer part during the write.
                run.prepared = run.prepared if run.prepared.number > part.number else None
        self._go_to(Phase.COMMITTING)
        return [*self._subsume(), *self._reads(), Wake()]

    def checkpoint_not_written(self, checkpoint_id: int) -> Actions:
        """Process that a checkpoint could not be written, for which the run that tried fails; others try again."""
        if self._writing(checkpoint_id) is None:
            return []
        self._current = None
        self._go_to(Phase.COLLECTING)
        return [*self._reads(), Wake()]

    def _writing(self, checkpoint_id: int) -> _Checkpoint | None:
        """Return the checkpoint that is being written; None if it is not this one, as the event was repeated."""
        is_current = self._current is not None and self._current.checkpoint_id == checkpoint_id
        return self._current if is_current and self._phase is Phase.WRITING else None

    def _subsume(self) -> Actions:
        actions: Actions = []
        while len(self._kept) > self._retained:
            actions.append(RemoveCheckpoint(self._kept.pop(0).checkpoint_id))
        # Until then a region may have to start from it again.
        if self._has_claimed and len(self._kept) == self._retained and None not in self._kept[0].regions:
            self._has_claimed = False
            actions.append(RemoveClaimed())
        return actions

    def _complete(self, run_id: RunId) -> Actions:
        """If all regions have committed, answer requests, or let the run write savepoints first."""
        current = self._current
        is_pending = any(run.decided is not None for run in self._runs.values())
        if self._phase is not Phase.COMMITTING or is_pending or current is None:
            return []
        metadata, begun_s = self._kept[-1], min(part.begun_s for part in current.parts.values())
        written = {operator: sizes for part in current.parts.values() for operator, sizes in part.written.items()}
        requests = [request for request in current.requests if request in self._requests]
        current.owner = run_id
        current.saving = {request for request in requests if request.is_savepoint}
        actions: Actions = [Complete(run_id, metadata, begun_s, written)]
        actions += [
            self._answer(request, metadata.checkpoint_id)
            for request in requests
            if not request.is_savepoint and request.after is AfterSavepoint.GO_ON
        ]
        actions += [WriteSavepoint(run_id, request, metadata) for request in requests if request in current.saving]
        return [*actions, *self._end_or_save()]

    def savepoint_written(self, request: Request, answer: Answer) -> Actions:
        """Process the path of a savepoint, or why it could not be written; a refused request stays refused."""
        if self._current is None or request not in self._current.saving:
            return []
        self._current.saving.discard(request)
        actions: Actions = [self._answer(request, answer)] if request in self._requests else []
        return [*actions, *self._end_or_save()]

    def _end_or_save(self) -> Actions:
        if self._current is not None and self._current.saving:
            if self._phase is Phase.COMMITTING:
                self._go_to(Phase.SAVING)
            return []
        held = self._held(self._current) if self._current is not None else []
        self._current = None
        self._go_to(Phase.COLLECTING)
        return [*held, Wake()]

    def _held(self, current: _Checkpoint) -> Actions:
        """Answer requests to hold the job; not before savepoints are written, whose runs would be stopped then."""
        waiting = [one for one in current.requests if not one.is_savepoint and one in self._requests]
        ends = any(
            request.is_savepoint and request.after is not AfterSavepoint.GO_ON and self._outcomes.get(request)
            for request in current.requests
        )
        if ends:  # The regions are about to end, and must not begin again.
            return [self._refuse(request, "it ends with a savepoint") for request in waiting]
        return [self._answer(request, current.checkpoint_id) for request in waiting]

    def _go_to(self, phase: Phase) -> None:
        assert (self._phase, phase) in TRANSITIONS, f"{self._phase.name} -> {phase.name}"
        if Phase.WRITING in (self._phase, phase):
            self._decisions += 1  # What was read before is not valid any more.
        self._phase = phase
