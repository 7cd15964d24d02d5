"""Defects of the data plane, re-introduced on purpose; each has a seed that detects it.

`PYTHONHASHSEED=0 python -m tests.simulation.data_plane.mutations` looks for the first seed that finds each and writes
its part of docs/simulation.md anew; with `--check` it only holds the document against the code.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.connectors.files.writer import FileWriter
from firesteel.coordinator import version_files
from firesteel.coordinator.checkpoint_files import CheckpointFiles
from firesteel.coordinator.checkpoint_messages import CommitPart, Directive
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.part_uploads import PartUploads, WaitingPart
from firesteel.coordinator.region_checkpoints import RegionCheckpoints
from firesteel.spark.idle_slots import IdleSlots
from firesteel.task.batch_plan import StageReport
from firesteel.task.checkpoint_metadata import CheckpointExistsError, CheckpointMetadata, checkpoints_in
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.restore import RESCALED
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.stage_server import StageServer
from firesteel.task.version_store import VersionStore
from firesteel.task.versions import BatchTry, Chain
from tests.simulation.data_plane.simulation import simulate
from tests.simulation.mutations import Mutation, run_mutations

_serve = StageServer.serve


def _runs_again(self: StageServer, request: StageRequest, rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Row]:
    """A second copy of a task opens its stage anew and runs it again; what it writes has names of its own."""
    if self._at == request.at and self._answers.pop(request.stage, None) is not None and self._tasks is not None:
        self._tasks._store = _UnderOtherNames(self._tasks._store)
    yield from _serve(self, request, rows)


class _UnderOtherNames:
    """A store whose versions are of a try that is none."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.read, self.make_durable = store.read, store.make_durable
        self.send, self.close = store.send, store.close

    def check_try(self, stage: int, at: BatchTry) -> None:
        return None

    def write(self, stage: int, at: BatchTry, *rest: Any, **options: Any) -> Chain:
        return self._store.write(stage, replace(at, number=at.number + 1000), *rest, **options)


_write = VersionStore.write


def _overwrites(self: VersionStore, stage: int, at: BatchTry, *rest: Any, **options: Any) -> Chain:
    """Versions are named by their batch alone, and the last one to write it counts."""
    at = replace(at, number=1)
    for kind in ("full", "delta"):
        (self._parent(stage, at.run) / f"{at.batch_id}-1.{kind}").unlink(missing_ok=True)
    return _write(self, stage, at, *rest, **options)


_run_stage = SlotTasks.run_stage


def _goes_on_from_memory(self: SlotTasks, stage: int, at: BatchTry, parent: Chain, *rest: Any, **options: Any) -> Any:
    """Open tasks are taken to be at the version that the batch starts from."""
    if stage in self.stages and stage in self._at:
        self._at[stage] = parent
    return _run_stage(self, stage, at, parent, *rest, **options)


_restore_state = FileWriter.restore_state


def _removes_leftovers(self: FileWriter, state: Any) -> None:
    """A writer that goes on from a version removes what it does not know, as if nobody else could."""
    _restore_state(self, state)
    known = {part.pending for part in self._parts.values()}
    for path in Path(self._base).glob(f".*{self._uid}-*.inprogress.*"):
        if str(path) not in known and f"-{self._writer}" not in path.name:
            path.unlink(missing_ok=True)


_recover = Checkpoints.recover


def _sweeps_at_once(self: Checkpoints, enumerator: Any) -> Any:
    """A run that begins removes what earlier runs have not decided."""
    restored = _recover(self, enumerator)
    self._files.sweep(self.run, self.batch_id)
    return restored


def _decides_anywhere(self: CheckpointFiles, checkpoint_id: int, *rest: Any) -> CheckpointMetadata:
    """A checkpoint is written wherever it is to be, whoever has taken it or a later one."""
    shutil.rmtree(self.directory_of(checkpoint_id), ignore_errors=True)
    self._check_decided = lambda directory: None  # type: ignore[method-assign]
    return _write_metadata(self, checkpoint_id, *rest)


_write_metadata = CheckpointFiles.write


_prepare = Checkpoints.prepare


def _commits_first(self: Checkpoints, *rest: Any) -> Any:
    self._commit(list(self.protocol.pending))
    return _prepare(self, *rest)


def _release_at_once(self: version_files.VersionFiles, paths: Iterable[str]) -> None:
    """What a batch replaces is removed, whether or not a checkpoint needs it."""
    for path in paths:
        (self._directory / path).unlink(missing_ok=True)


_report = IdleSlots.report


def _forgets_where_it_was(self: IdleSlots, stage: int, slot: int, try_number: int) -> StageReport:
    """A slot that was left out begins anew."""
    return replace(_report(self, stage, slot, try_number), chain=())


_begin = PartUploads.begin


def _does_not_wait(self: PartUploads, waiting: WaitingPart, *rest: Any) -> WaitingPart | None:
    """A checkpoint is decided although files of it are still being uploaded."""
    return _begin(self, replace(waiting, missing=set()), *rest)


def _commits_all(self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """The first checkpoint to complete commits what belongs to later ones, too."""
    if directive.decided is not None and directive.decided.number > self._decided:
        everything = replace(directive.decided, committables=self._committed + len(self._pending))
        directive = replace(directive, decided=everything)
    return _directed(self, directive, now_s)


_directed = RegionCheckpoints.directed


def _forgets_pending(self: Checkpoints, part: CommitPart) -> None:
    """A decision releases the files of all checkpoints but the retained ones, even of those that are pending."""
    _drop_subsumed(self, replace(part, batch_id=max(self._kept, default=part.batch_id)))


_drop_subsumed = Checkpoints._drop_subsumed


_released = version_files.VersionFiles._release


def _removes_from_store(self: version_files.VersionFiles, paths: Iterable[str]) -> None:
    """What a batch replaces is removed from the object store, whether or not a checkpoint needs it."""
    paths = list(paths)
    self._garbage += [path for path in paths if path in self.stored and self._needed[path] > 1]
    _released(self, paths)


_join = JobCheckpoints.join


def _joins_late(self: JobCheckpoints, member: Any, run: int, newest_id: int | None = None) -> Any:
    """A run goes on although another leader has decided a checkpoint since its number was claimed."""
    return _join(self, member, run)


def _decides_after_the_end(self: CheckpointFiles, directory: AnyPath) -> None:
    """A checkpoint counts although its job has ended, and its objects were removed."""
    newest = checkpoints_in(self.store)
    if newest[:1] != [directory]:
        raise CheckpointExistsError(newest[0] if newest else directory)


def _begins_empty(self: CheckpointFiles, metadata: CheckpointMetadata, region: int) -> None:
    """A job with another parallelism goes on without the state of its former slots."""


def _shares_old_state(self: CheckpointFiles, metadata: CheckpointMetadata, region: int) -> None:
    """The plan by which slots share the state is written once, and not for each change of the parallelism."""
    if size_of(self.store / RESCALED) is None:
        _redistribute_state(self, metadata, region)


_redistribute_state = CheckpointFiles.redistribute_state


def _numbers_from_zero(self: FileWriter, states: Sequence[Any]) -> None:
    """A subtask that comes back after a time of fewer subtasks gives its part files the names of its first ones."""


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("a stage gives one answer per attempt", StageServer, "serve", _runs_again),
    Mutation("a version file is named by its attempt and never overwritten", VersionStore, "write", _overwrites),
    Mutation("a batch starts from the accepted version", SlotTasks, "run_stage", _goes_on_from_memory),
    Mutation("a writer removes no undecided files", FileWriter, "restore_state", _removes_leftovers),
    Mutation("leftovers of earlier runs are removed only after a decision", Checkpoints, "recover", _sweeps_at_once),
    Mutation("only one of two leaders takes the next checkpoint", CheckpointFiles, "write", _decides_anywhere),
    Mutation("nothing is committed before it is decided", Checkpoints, "prepare", _commits_first),
    Mutation("files that a checkpoint needs are kept", version_files.VersionFiles, "_release", _release_at_once),
    Mutation("a checkpoint waits for its uploads", PartUploads, "begin", _does_not_wait),
    Mutation("objects that a checkpoint needs are kept", version_files.VersionFiles, "_release", _removes_from_store),
    Mutation("files of pending checkpoints are kept", Checkpoints, "_drop_subsumed", _forgets_pending),
    Mutation("a checkpoint commits nothing of later ones", RegionCheckpoints, "directed", _commits_all),
    Mutation("no leader decides after the end of a job", CheckpointFiles, "_check_decided", _decides_after_the_end),
    Mutation("no run continues from a checkpoint of a later run", JobCheckpoints, "join", _joins_late),
    Mutation("a skipped slot keeps its position", IdleSlots, "report", _forgets_where_it_was),
    Mutation("state survives a change of the parallelism", CheckpointFiles, "redistribute_state", _begins_empty),
    Mutation("each change starts from the newest checkpoint", CheckpointFiles, "redistribute_state", _shares_old_state),
    Mutation("a subtask that comes back uses no name again", FileWriter, "begin_after", _numbers_from_zero),
)

_TITLE = "## Data plane"


if __name__ == "__main__":
    raise SystemExit(run_mutations(MUTATIONS, lambda seed: simulate(seed).violations, _TITLE))
