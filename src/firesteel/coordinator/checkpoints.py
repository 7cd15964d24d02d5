"""The checkpoints of a job: taken after batches, gone on from after a failure, kept or removed.

A checkpoint is decided when its metadata is written, with all that sinks want to have committed. Only then it is
committed, and once more by whoever goes on from it: so what was decided gets committed, and nothing else.
"""

from __future__ import annotations

import pickle
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from firesteel.common.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.version_files import VersionFiles
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.buffers import pickled
from firesteel.operators.committables import Committable, check, remove_files
from firesteel.operators.subtask import operators_of
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.task.checkpoint_metadata import (
    CheckpointExistsError,
    CheckpointMetadata,
    VertexLayout,
    checkpoint_directory,
    checkpoints_in,
    named_directory,
    read_metadata,
    write_metadata,
    write_savepoint_metadata,
)
from firesteel.task.restore import adopt_max_parallelism, plan_restore, write_restore_plan
from firesteel.task.slot_tasks import StageReport, max_parallelism_of
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_file import StateFileError, check_state_file
from firesteel.task.version_store import chain_sizes, claim_run, link_chain
from firesteel.task.versions import BatchTry, Chain

NUM_RETAINED = "execution.checkpointing.num-retained"
RETENTION = "execution.checkpointing.externalized-checkpoint-retention"
RECOVERY_PATH = "execution.state-recovery.path"
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
CLAIM_MODE = "execution.state-recovery.claim-mode"
_CLAIM_MODES = ("NO_CLAIM", "CLAIM", "LEGACY")

_KEPT_AFTER: dict[str, frozenset[JobStatus]] = {
    "RETAIN_ON_CANCELLATION": frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
    "DELETE_ON_CANCELLATION": frozenset({JobStatus.FAILED}),
    "NO_EXTERNALIZED_CHECKPOINTS": frozenset(),
}
"""How a job ended whose checkpoints are kept."""


def keeps_checkpoints(job_graph: JobGraph, status: JobStatus) -> bool:
    """Whether the checkpoints of a job that ended so are kept.

    Raises:
        ValueError: the configuration asks for something that there is not.
    """
    name = job_graph.configuration.get(RETENTION, "NO_EXTERNALIZED_CHECKPOINTS").upper()
    if name not in _KEPT_AFTER:
        raise ValueError(f"{RETENTION} is {name!r}, allowed are {', '.join(_KEPT_AFTER)}")
    return status in _KEPT_AFTER[name]


def restore_job(job_graph: JobGraph, directory: Path) -> None:
    """Make a new job begin with the checkpoint or savepoint that its configuration names, and create its directory.

    Its vertices take over the max parallelism of their state. A job that has checkpoints of its own goes on from those:
    what it began with may be gone by now.

    Raises:
        CheckpointNotFoundError: there is none.
        StateFileError: a file of it is missing or damaged; the error names the newest intact one of its job.
        StateRestoreError: its state does not fit the job.
        ValueError: the configuration asks for something that there is not.
    """
    make_directory(directory, mode=PRIVATE_DIRECTORY)
    named = job_graph.configuration.get(RECOVERY_PATH)
    if named is None:
        return
    mode = job_graph.configuration.get(CLAIM_MODE, "NO_CLAIM")
    if mode.upper() not in _CLAIM_MODES:
        raise ValueError(f"{CLAIM_MODE} is {mode!r}, allowed are {', '.join(_CLAIM_MODES)}")
    own = checkpoints_in(directory)
    if own:
        adopt_max_parallelism(read_metadata(own[0]), job_graph)
        return
    source = checkpoint_directory(named)
    metadata = _intact(source)
    allow = job_graph.configuration.get(IGNORE_UNCLAIMED, "false").lower() == "true"
    plan = plan_restore(metadata, source, job_graph, allow)
    write_restore_plan(directory, plan)


def _intact(directory: Path) -> CheckpointMetadata:
    """The metadata of a checkpoint all of whose files are as they were written."""
    return _offering_others(directory, _check)


def _readable(directory: Path) -> CheckpointMetadata:
    """Read the metadata of a checkpoint; its other files are checked when the slots read them."""
    return _offering_others(directory, read_metadata)


def _offering_others(directory: Path, read: Callable[[Path], CheckpointMetadata]) -> CheckpointMetadata:
    """Read a checkpoint; the error, if it is damaged, names another one.

    There is no going back to it without being told to: what the damaged one decided may have been committed.
    """
    try:
        return read(directory)
    except StateFileError as error:
        others = [path for path in checkpoints_in(directory.parent) if path != directory and _is_intact(path)]
        offer = f"the newest intact one is {others[0]}" if others else "there is no other one beside it"
        raise StateFileError(error.path, f"{error.problem}; checkpoint {directory} can't be used, {offer}") from None


def _check(directory: Path) -> CheckpointMetadata:
    metadata = read_metadata(directory)
    base = metadata.base_of(directory)
    for path in metadata.files():
        check_state_file(base / path)
    return metadata


def _is_intact(directory: Path) -> bool:
    try:
        _check(directory)
    except StateFileError:
        return False
    return True


class IncompleteBatchError(FiresteelError):
    """The reports of a batch are not one of each slot and stage; the arguments are the batch, and what is wrong."""

    def __str__(self) -> str:
        return f"batch {self.args[0]} is incomplete: {self.args[1]}"


class Checkpoints:
    """Takes the checkpoints of one run.

    Args:
        plan: The stages of the job.
        directory: The job's checkpoint directory, which exists.
        commit: Commits what sinks want to have committed.

    Attributes:
        run: Number of the run, once it has begun.
        batch_id: The last batch that ended; -1: none did.
        next_time: When the job has something to do again although nothing comes (ms), None: never.
    """

    def __init__(self, plan: StagePlan, directory: Path, commit: Callable[[list[Committable]], None]) -> None:
        self._job = plan.job_graph
        self._directory = directory
        self._commit = commit
        self._vertices = tuple(_layout(plan, vertex) for vertex in self._job.vertices)
        self._slots = {(stage, slot) for stage in range(plan.levels) for slot in range(plan.slots)}
        self._retained = int(self._job.configuration.get(NUM_RETAINED, "1"))
        self._kept: deque[CheckpointMetadata] = deque()
        self._files = VersionFiles(directory)
        self._claimed = self._claim()
        self._pending: list[Committable] = []
        self._first_slots = {
            operator: layout.first_slot for layout in self._vertices for operator, _ in layout.operators
        }
        self._written: dict[str, dict[int, int]] = {}
        self._id = 0
        self._has_leftovers = True
        self._is_alone = False
        self._may_have_decided = False
        self.run = 0
        self.batch_id = -1
        self.next_time: int | None = None

    def _claim(self) -> Path | None:
        """Return the checkpoint or savepoint that the job began with, if it is the job's own from then on."""
        options = self._job.configuration
        if options.get(CLAIM_MODE, "").upper() != "CLAIM" or RECOVERY_PATH not in options:
            return None
        claimed = named_directory(options[RECOVERY_PATH])
        return claimed if claimed.parent != self._directory else None

    def recover(self, enumerator: SplitEnumerator) -> RestoredCheckpoint | None:
        """Go on from the job's last checkpoint, else from the one that the job was told to begin with, if any.

        Raises:
            StateFileError: a file of it is missing or damaged.
            FileNotFoundError: the directory of the job is gone: the job is over.
        """
        self.run = claim_run(self._directory)
        self._files.remove_empty_runs_before(self.run)
        own = checkpoints_in(self._directory)
        named = self._job.configuration.get(RECOVERY_PATH)
        if not own and named is None:
            return None
        source = own[0] if own else checkpoint_directory(named or "")
        metadata = _readable(source)
        enumerator.restore(metadata.sources)
        self._id = metadata.checkpoint_id
        self.next_time = metadata.next_time
        self._commit(pickle.loads(metadata.committables))
        if own:
            self.batch_id = metadata.batch_id
            self._files.begin_with(metadata.chains)
            self._kept.extend([*(read_metadata(path) for path in reversed(own[1:])), metadata])
            for kept in self._kept:
                self._files.keep(kept.chains)
        now_ms = time.time_ns() // 1_000_000
        return RestoredCheckpoint(metadata.checkpoint_id, metadata.is_savepoint, str(source), now_ms)

    def next_batch(self) -> BatchTry:
        """Return the first try of the batch after the last one that ended."""
        return BatchTry(self.run, self.batch_id + 1)

    def parents(self, stage: int) -> tuple[Chain, ...]:
        """Return the version of each slot that a stage of the next batch starts from."""
        slots = sorted(slot for of_stage, slot in self._slots if of_stage == stage)
        return tuple(self._files.present.get((stage, slot), ()) for slot in slots)

    def batch_ended(self, batch_id: int, reports: Sequence[StageReport]) -> None:
        """Accept a batch: what sinks only show is shown, what they commit waits for the checkpoint.

        Raises:
            IncompleteBatchError: the reports are not one of each slot and stage, all of the same try.
        """
        self._check_complete(batch_id, reports)
        self.batch_id = batch_id
        self._has_leftovers |= reports[0].try_number > 1
        self.next_time = min((r.next_time for r in reports if r.next_time is not None), default=None)
        for report in reports:
            for file in self._files.advance({(report.stage, report.slot): report.chain}):
                for operator_id, size in file.state_sizes.items():
                    self._add(self._written, operator_id, report.slot, size)
        committables = [committable for report in reports for committable in report.committables]
        self._pending += [committable for committable in committables if committable.is_durable]
        shown = [committable for committable in committables if not committable.is_durable]
        self._commit(shown)
        remove_files(shown)

    def _check_complete(self, batch_id: int, reports: Sequence[StageReport]) -> None:
        found = [(report.stage, report.slot) for report in reports]
        tries = {report.try_number for report in reports}
        if len(found) != len(self._slots) or set(found) != self._slots or len(tries) != 1:
            raise IncompleteBatchError(batch_id, f"{len(found)} reports of tries {sorted(tries)}: {sorted(found)}")

    def complete(self, enumerator: SplitEnumerator, begun_s: float) -> CheckpointStats:
        """Take a checkpoint after the last batch, commit, and remove what no checkpoint needs any more.

        Raises:
            CheckpointExistsError: another JobManager has taken this checkpoint, or a later one.
            SinkCommitError: a sink refuses what it is to commit, so that nothing is decided, or could not commit.
        """
        check(self._pending)
        self._id += 1
        metadata = self._metadata(enumerator, self._pending)
        directory = self._directory / f"chk-{self._id}"
        self._decide(directory, metadata)
        pending, self._pending = self._pending, []
        self._commit(pending)
        self._kept.append(metadata)
        self._files.keep(metadata.chains)
        self._subsume()
        written, self._written = self._written, {}
        return self._stats(metadata, directory, begun_s, written)

    def _decide(self, directory: Path, metadata: CheckpointMetadata) -> None:
        """Write the metadata: of two JobManagers that think to lead the job, one takes the next checkpoint.

        Raises:
            CheckpointExistsError: another one has taken it, or a later one.
        """
        self._may_have_decided = True
        write_metadata(directory, metadata, owner=str(self.run))
        newest = checkpoints_in(self._directory)
        if newest[:1] != [directory]:
            shutil.rmtree(directory, ignore_errors=True)
            raise CheckpointExistsError(newest[0] if newest else directory)

    def _metadata(self, enumerator: SplitEnumerator, committables: list[Committable]) -> CheckpointMetadata:
        return CheckpointMetadata(
            checkpoint_id=self._id,
            batch_id=self.batch_id,
            timestamp_ms=time.time_ns() // 1_000_000,
            job_id=self._job.job_id,
            job_name=self._job.name,
            is_savepoint=False,
            vertices=self._vertices,
            chains=dict(self._files.present),
            sources=enumerator.snapshot(),
            committables=pickled(committables),
            next_time=self.next_time,
        )

    def end(self) -> None:
        """Remove what the run wrote if it ends before its first checkpoint, as restarts do that fail early."""
        if self.run and not self._may_have_decided:
            self._files.abandon(self.run)

    def _add(self, sizes: dict[str, dict[int, int]], operator_id: str, slot: int, size: int) -> None:
        of_subtasks = sizes.setdefault(operator_id, {})
        subtask = slot - self._first_slots[operator_id]
        of_subtasks[subtask] = of_subtasks.get(subtask, 0) + size

    def _stats(
        self,
        metadata: CheckpointMetadata,
        directory: Path,
        begun_s: float,
        written: Mapping[str, Mapping[int, int]] | None = None,
    ) -> CheckpointStats:
        held: dict[str, dict[int, int]] = {}
        for (_, slot), chain in metadata.chains.items():
            for operator_id, size in chain_sizes(chain).items():
                self._add(held, operator_id, slot, size)
        duration_ms = round((time.monotonic() - begun_s) * 1000)
        return CheckpointStats(
            checkpoint_id=metadata.checkpoint_id,
            is_savepoint=metadata.is_savepoint,
            trigger_timestamp_ms=metadata.timestamp_ms - duration_ms,
            duration_ms=duration_ms,
            external_path=str(directory),
            checkpointed_sizes=held if written is None else written,
            state_sizes=held,
        )

    def _subsume(self) -> None:
        """Remove the checkpoints that are not to be retained, and the files that none of the others needs."""
        while len(self._kept) > self._retained:
            subsumed = self._kept.popleft()
            shutil.rmtree(self._directory / f"chk-{subsumed.checkpoint_id}", ignore_errors=True)
            self._files.drop(subsumed.chains)
        if self._claimed is not None and len(self._kept) == self._retained:
            _remove_checkpoint(self._claimed)
            self._claimed = None
        if self._has_leftovers:
            self._has_leftovers = False
            self._files.sweep(self.run, self.batch_id)
        if not self._is_alone:
            self._is_alone = self._files.remove_runs_before(self.run)

    def savepoint(self, parent: Path, enumerator: SplitEnumerator) -> CheckpointStats:
        """Write a savepoint of the state after the last batch, with which a checkpoint was completed.

        What sinks had ready was committed with that checkpoint, so a savepoint has nothing to commit.

        Raises:
            OSError: it could not be written; nothing is left of it.
        """
        assert not self._pending, "a savepoint follows a checkpoint"
        begun_s = time.monotonic()
        directory = parent / f"savepoint-{self._job.job_id[:6]}-{secrets.token_hex(6)}"
        try:
            make_directory(directory, mode=PRIVATE_DIRECTORY)
            chains = {
                slot: link_chain(self._directory, directory, chain) for slot, chain in self._files.present.items()
            }
            metadata = replace(self._metadata(enumerator, []), is_savepoint=True, chains=chains)
            write_savepoint_metadata(directory, metadata)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return self._stats(metadata, directory, begun_s)


def remove_job_directory(directory: Path) -> None:
    """Remove all that a job kept: first at once under its name, so that nobody can decide anything there any more."""
    removed = directory.with_name(f".removed-{directory.name}-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        directory.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def _remove_checkpoint(directory: Path) -> None:
    """A checkpoint or savepoint; with the last checkpoint of a job goes all that they share."""
    shutil.rmtree(directory, ignore_errors=True)
    if directory.name.startswith("chk-") and not checkpoints_in(directory.parent):
        remove_job_directory(directory.parent)


def _layout(plan: StagePlan, vertex: Any) -> VertexLayout:
    return VertexLayout(
        vertex.id,
        vertex.name,
        plan.level_of[vertex.id],
        plan.base_of(vertex),
        vertex.parallelism,
        max_parallelism_of(vertex),
        tuple(operators_of(vertex)),
    )
