"""The shell around a job's `CheckpointCoordinator`: threads of regions report to it and carry out its actions.

Decisions are made under a lock and never wait; files are read and written outside of it, by the thread of the run that
an action names.

Why: `docs/decisions/0023-a-run-per-region.md`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import ParamSpec

from firesteel.common.files.remote_path import AnyPath, remove_tree
from firesteel.common.options.checkpointing_options import CHECKPOINTING_NUM_RETAINED
from firesteel.coordinator.checkpoint_coordinator import CheckpointCoordinator
from firesteel.coordinator.checkpoint_files import CheckpointFiles
from firesteel.coordinator.checkpoint_messages import (
    Answer,
    CheckpointAction,
    Complete,
    Directive,
    EndRun,
    GiveAnswer,
    JobAction,
    Part,
    ReadCheckpoints,
    RemoveCheckpoint,
    RemoveClaimed,
    Request,
    Restore,
    RunAction,
    RunId,
    RunIsOverError,
    Wake,
    WriteCheckpoint,
    WriteSavepoint,
)
from firesteel.coordinator.stored_checkpoints import remove_checkpoint
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.task.checkpoint_metadata import CheckpointExistsError, CheckpointMetadata
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_seal import UNSEALED, StateSeal

P = ParamSpec("P")


@dataclass(eq=False, slots=True)
class Member:
    """A run of a region, as seen by the checkpoints of its job.

    Attributes:
        id: The run.
        wake: Wakes up the run's thread.
        tell: Called for each checkpoint and savepoint taken.
        actions: What its thread has to do.
        run: Number of the run; 0 before it has begun.
        kept: The checkpoints retained when it began; None before.
    """

    id: RunId
    wake: Callable[[], None]
    tell: Callable[[CheckpointStats], None]
    actions: SimpleQueue[RunAction] = field(default_factory=SimpleQueue)
    run: int = 0
    kept: tuple[CheckpointMetadata, ...] | None = None


class JobCheckpoints:
    """The checkpoints of one job; its methods are thread-safe, as the threads of all regions call them.

    Args:
        plan: The stages of the job.
        options: The options that the job runs with.
        directory: The job's directory on this host, which exists.
        store: The directory of its checkpoints; None if it is the same.
        seal: Signs and verifies checkpoints; the job's configuration may allow unverified state to start with.
        ended: The regions that have ended already.

    Attributes:
        files: The files of the checkpoints.
    """

    def __init__(
        self,
        plan: StagePlan,
        options: Mapping[str, str],
        directory: Path,
        store: AnyPath | None = None,
        seal: StateSeal = UNSEALED,
        ended: Iterable[int] = (),
    ) -> None:
        self.plan = plan
        self.directory = directory
        self.files = CheckpointFiles(plan, options, directory if store is None else store, seal)
        self._claimed = self.files.claimed()
        retained = CHECKPOINTING_NUM_RETAINED.of(plan.job_graph.configuration)
        job_id, regions = plan.job_graph.job_id, len(plan.stages)
        self._coordinator = CheckpointCoordinator(job_id, regions, retained, self._claimed is not None, ended)
        self._members: dict[RunId, Member] = {}
        self._lock = threading.Lock()

    @property
    def store(self) -> AnyPath:
        """The directory of the checkpoints."""
        return self.files.store

    @property
    def is_idle(self) -> bool:
        """Whether no region is running."""
        return self._coordinator.is_idle

    @property
    def ended(self) -> frozenset[int]:
        """The regions that have ended."""
        return frozenset(self._coordinator.ended)

    # --- events ----------------------------------------------------------------------------------------------

    def enter(self, region: int, wake: Callable[[], None], tell: Callable[[CheckpointStats], None]) -> Member:
        """Register a run of a region that is about to begin; an earlier run of the region can't decide any more."""
        with self._lock:
            run_id, actions = self._coordinator.run_entered(region)
            member = self._members[run_id] = Member(run_id, wake, tell)
            others = self._hand_out(actions)
        self._carry_out(others)
        return member

    def join(self, member: Member, run: int, newest_id: int | None = None) -> tuple[CheckpointMetadata, ...]:
        """Return the retained checkpoints of this job, the newest of which a run resumes from.

        Args:
            member: The run.
            run: The number of the run.
            newest_id: The newest checkpoint before the number was claimed, if checkpoints are in an object store. If
            another JobManager has taken one since, its run may have a larger number, and would remove the files of this
            run as leftovers. In a directory, a run with a larger number removes the directory of this one.

        Raises:
            CheckpointExistsError: another JobManager has taken a checkpoint, so no region may continue here.
            RunIsOverError: the run was given up.
            StateFileError: the metadata is damaged.
        """
        member.run = run
        self._process(self._coordinator.run_begun, member.id, newest_id)
        # Blocks until the coordinator lets this run read, which may be after another run's checkpoint.
        while member.kept is None:
            self._perform(member, member.actions.get())
        return member.kept

    def report(self, member: Member, part: Part | None, settled: int) -> Directive:
        """Report the state of a run and do what the job needs: write a checkpoint, savepoints, answers.

        Args:
            member: The run.
            part: Its newest undecided part.
            settled: The number of the last part that it committed.

        Raises:
            CheckpointExistsError: another JobManager has taken a checkpoint.
            RunIsOverError: the run was given up.
        """
        self._process(self._coordinator.reported, member.id, part, settled)
        while not member.actions.empty():
            self._perform(member, member.actions.get())
        return self.directive(member)

    def directive(self, member: Member) -> Directive:
        """Return what a run has to know now.

        Raises:
            RunIsOverError: the run was given up.
        """
        with self._lock:
            directive = self._coordinator.directive(member.id)
        if directive is None:
            raise RunIsOverError(member.id.region)
        return directive

    def leave(self, member: Member, has_failed: bool) -> None:
        """End a run: discard its undecided part, and reject requests that need all regions."""
        self._process(self._coordinator.run_ended, member.id, has_failed)
        while not member.actions.empty():
            action = member.actions.get()
            # What else was to be done is done by others, or void; but statistics of a checkpoint that counts must not
            # be lost.
            if isinstance(action, Complete):
                self._perform(member, action)
        with self._lock:
            self._members.pop(member.id, None)

    def ask(self, request: Request) -> None:
        """Request a checkpoint or savepoint, which is taken as soon as all regions have prepared their parts."""
        self._process(self._coordinator.requested, request)

    def write_savepoint(self, parent: AnyPath) -> CheckpointStats:
        """Write a savepoint of the last checkpoint, which is fully committed.

        Raises:
            OSError: it could not be written; its files are removed.
        """
        return self.files.write_savepoint(parent, self._coordinator.kept[-1])

    # --- actions -------------------------------------------------------------------------------------------

    def _process(self, event: Callable[P, list[CheckpointAction]], *args: P.args, **kwargs: P.kwargs) -> None:
        with self._lock:
            others = self._hand_out(event(*args, **kwargs))
        self._carry_out(others)

    def _hand_out(self, actions: list[CheckpointAction]) -> list[JobAction]:
        """Give actions to the runs that they name, in order, and return the others."""
        others: list[JobAction] = []
        for action in actions:
            if isinstance(action, JobAction):
                others.append(action)
            elif action.run in self._members:
                self._members[action.run].actions.put(action)
        return others

    def _carry_out(self, actions: list[JobAction]) -> None:
        for action in actions:
            match action:
                case RemoveCheckpoint(checkpoint_id):
                    remove_tree(self.files.directory_of(checkpoint_id))
                case RemoveClaimed() if self._claimed is not None:
                    remove_checkpoint(self._claimed)
                case GiveAnswer(request, answer):
                    request.answer(answer)
                case Wake():
                    self._wake_all()

    def _wake_all(self) -> None:
        with self._lock:
            members = list(self._members.values())
        for member in members:
            member.wake()

    def _perform(self, member: Member, action: RunAction) -> None:
        match action:
            case ReadCheckpoints(_, in_full, _):
                self._process(self._coordinator.checkpoints_read, action, *self.files.read(in_full))
            case Restore(_, kept):
                member.kept = kept
            case EndRun(_, None):
                raise RunIsOverError(member.id.region)
            case EndRun(_, int(taken)):
                raise CheckpointExistsError(self.files.directory_of(taken))
            case WriteCheckpoint():
                self._write(member, action)
            case WriteSavepoint():
                self._save(member, action)
            case Complete(_, metadata, begun_s, written):
                directory = self.files.directory_of(metadata.checkpoint_id)
                member.tell(self.files.stats(metadata, directory, begun_s, written))

    def _write(self, member: Member, action: WriteCheckpoint) -> None:
        """Write a checkpoint; the coordinator is told in any case, as nothing is decided until it knows."""
        try:
            owner = f"{member.id.region}-{member.run}"
            metadata = self.files.write(action, owner)
        except BaseException:
            self._process(self._coordinator.checkpoint_not_written, action.checkpoint_id)
            raise
        self._process(self._coordinator.checkpoint_written, metadata)

    def _save(self, member: Member, action: WriteSavepoint) -> None:
        """Write a savepoint; no checkpoint is decided until the coordinator knows what has become of it."""
        answer: Answer = RuntimeError("it was interrupted")
        try:
            assert action.request.savepoint_parent is not None
            stats = self.files.write_savepoint(action.request.savepoint_parent, action.metadata)
            member.tell(stats)
            answer = stats.external_path
        except Exception as error:
            answer = error
        finally:
            self._process(self._coordinator.savepoint_written, action.request, answer)
