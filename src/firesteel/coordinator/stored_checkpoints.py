"""The checkpoints that a job has on disk: gone on from by a new job, kept or removed at its end."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from firesteel.common.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.task.checkpoint_metadata import (
    CheckpointMetadata,
    checkpoint_directory,
    checkpoints_in,
    read_metadata,
)
from firesteel.task.restore import adopt_max_parallelism, plan_restore, write_restore_plan
from firesteel.task.state_file import StateFileError, check_state_file

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


def readable(directory: Path) -> CheckpointMetadata:
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


def remove_job_directory(directory: Path) -> None:
    """Remove all that a job kept: first at once under its name, so that nobody can decide anything there any more."""
    removed = directory.with_name(f".removed-{directory.name}-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        directory.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def remove_checkpoint(directory: Path) -> None:
    """Remove a checkpoint or savepoint; with the last checkpoint of a job goes all that they share."""
    shutil.rmtree(directory, ignore_errors=True)
    if directory.name.startswith("chk-") and not checkpoints_in(directory.parent):
        remove_job_directory(directory.parent)
