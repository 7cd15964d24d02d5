"""Rules of the data plane that are broken on purpose, see `core/mutations.py`."""

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
from tests.simulation.core.mutations import Mutations
from tests.simulation.data_plane.simulation import simulate

MUTATIONS = Mutations(simulate, "## Data plane")


@MUTATIONS.breaks("a stage gives one answer per attempt", StageServer, "serve")
def _runs_again(
    original: Any, self: StageServer, request: StageRequest, rows: Iterable[tuple[int, int, bytes]]
) -> Iterator[Row]:
    """A second copy of a task opens its stage anew and runs it again; what it writes has names of its own."""
    if self._at == request.at and self._answers.pop(request.stage, None) is not None and self._tasks is not None:
        self._tasks._store = _UnderOtherNames(self._tasks._store)
    yield from original(self, request, rows)


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


@MUTATIONS.breaks("a version file is named by its attempt and never overwritten", VersionStore, "write")
def _overwrites(original: Any, self: VersionStore, stage: int, at: BatchTry, *rest: Any, **options: Any) -> Chain:
    """Versions are named by their batch alone, and the last one to write it counts."""
    at = replace(at, number=1)
    for kind in ("full", "delta"):
        (self._parent(stage, at.run) / f"{at.batch_id}-1.{kind}").unlink(missing_ok=True)
    return original(self, stage, at, *rest, **options)


@MUTATIONS.breaks("a batch starts from the accepted version", SlotTasks, "run_stage")
def _goes_on_from_memory(
    original: Any, self: SlotTasks, stage: int, at: BatchTry, parent: Chain, *rest: Any, **options: Any
) -> Any:
    """Open tasks are taken to be at the version that the batch starts from."""
    if stage in self.stages and stage in self._at:
        self._at[stage] = parent
    return original(self, stage, at, parent, *rest, **options)


@MUTATIONS.breaks("a writer removes no undecided files", FileWriter, "restore_state")
def _removes_leftovers(original: Any, self: FileWriter, state: Any) -> None:
    """A writer that goes on from a version removes what it does not know, as if nobody else could."""
    original(self, state)
    known = {part.pending for part in self._parts.values()}
    for path in Path(self._base).glob(f".*{self._uid}-*.inprogress.*"):
        if str(path) not in known and f"-{self._writer}" not in path.name:
            path.unlink(missing_ok=True)


@MUTATIONS.breaks("leftovers of earlier runs are removed only after a decision", Checkpoints, "recover")
def _sweeps_at_once(original: Any, self: Checkpoints, enumerator: Any) -> Any:
    """A run that begins removes what earlier runs have not decided."""
    restored = original(self, enumerator)
    self._files.sweep(self.run, self.batch_id)
    return restored


@MUTATIONS.breaks("only one of two leaders takes the next checkpoint", CheckpointFiles, "write")
def _decides_anywhere(original: Any, self: CheckpointFiles, checkpoint_id: int, *rest: Any) -> CheckpointMetadata:
    """A checkpoint is written wherever it is to be, whoever has taken it or a later one."""
    shutil.rmtree(self.directory_of(checkpoint_id), ignore_errors=True)
    self._check_decided = lambda directory: None  # type: ignore[method-assign]
    return original(self, checkpoint_id, *rest)


@MUTATIONS.breaks("nothing is committed before it is decided", Checkpoints, "prepare")
def _commits_first(original: Any, self: Checkpoints, *rest: Any) -> Any:
    self._commit(list(self.protocol.pending))
    return original(self, *rest)


@MUTATIONS.breaks("files that a checkpoint needs are kept", version_files.VersionFiles, "_release")
def _release_at_once(_: Any, self: version_files.VersionFiles, paths: Iterable[str]) -> None:
    """What a batch replaces is removed, whether or not a checkpoint needs it."""
    for path in paths:
        (self._directory / path).unlink(missing_ok=True)


@MUTATIONS.breaks("a skipped slot keeps its position", IdleSlots, "report")
def _forgets_where_it_was(original: Any, self: IdleSlots, stage: int, slot: int, try_number: int) -> StageReport:
    """A slot that was left out begins anew."""
    return replace(original(self, stage, slot, try_number), chain=())


@MUTATIONS.breaks("a checkpoint waits for its uploads", PartUploads, "begin")
def _does_not_wait(original: Any, self: PartUploads, waiting: WaitingPart, *rest: Any) -> WaitingPart | None:
    """A checkpoint is decided although files of it are still being uploaded."""
    return original(self, replace(waiting, missing=set()), *rest)


@MUTATIONS.breaks("a checkpoint commits nothing of later ones", RegionCheckpoints, "directed")
def _commits_all(original: Any, self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """The first checkpoint to complete commits what belongs to later ones, too."""
    if directive.decided is not None and directive.decided.number > self._decided:
        everything = replace(directive.decided, committables=self._committed + len(self._pending))
        directive = replace(directive, decided=everything)
    return original(self, directive, now_s)


@MUTATIONS.breaks("files of pending checkpoints are kept", Checkpoints, "_drop_subsumed")
def _forgets_pending(original: Any, self: Checkpoints, part: CommitPart) -> None:
    """A decision releases the files of all checkpoints but the retained ones, even of those that are pending."""
    original(self, replace(part, batch_id=max(self._kept, default=part.batch_id)))


@MUTATIONS.breaks("objects that a checkpoint needs are kept", version_files.VersionFiles, "_release")
def _removes_from_store(original: Any, self: version_files.VersionFiles, paths: Iterable[str]) -> None:
    """What a batch replaces is removed from the object store, whether or not a checkpoint needs it."""
    paths = list(paths)
    self._garbage += [path for path in paths if path in self.stored and self._needed[path] > 1]
    original(self, paths)


@MUTATIONS.breaks("no run continues from a checkpoint of a later run", JobCheckpoints, "join")
def _joins_late(original: Any, self: JobCheckpoints, member: Any, run: int, newest_id: int | None = None) -> Any:
    """A run goes on although another leader has decided a checkpoint since its number was claimed."""
    return original(self, member, run)


@MUTATIONS.breaks("no leader decides after the end of a job", CheckpointFiles, "_check_decided")
def _decides_after_the_end(_: Any, self: CheckpointFiles, directory: AnyPath) -> None:
    """A checkpoint counts although its job has ended, and its objects were removed."""
    newest = checkpoints_in(self.store)
    if newest[:1] != [directory]:
        raise CheckpointExistsError(newest[0] if newest else directory)


@MUTATIONS.breaks("state survives a change of the parallelism", CheckpointFiles, "redistribute_state")
def _begins_empty(_: Any, self: CheckpointFiles, metadata: CheckpointMetadata, region: int) -> None:
    """A job with another parallelism goes on without the state of its former slots."""


@MUTATIONS.breaks("each change starts from the newest checkpoint", CheckpointFiles, "redistribute_state")
def _shares_old_state(original: Any, self: CheckpointFiles, metadata: CheckpointMetadata, region: int) -> None:
    """The plan by which slots share the state is written once, and not for each change of the parallelism."""
    if size_of(self.store / RESCALED) is None:
        original(self, metadata, region)


@MUTATIONS.breaks("a subtask that comes back uses no name again", FileWriter, "begin_after")
def _numbers_from_zero(_: Any, self: FileWriter, states: Sequence[Any]) -> None:
    """A subtask that comes back after a time of fewer subtasks gives its part files the names of its first ones."""


if __name__ == "__main__":
    raise SystemExit(MUTATIONS.main())
