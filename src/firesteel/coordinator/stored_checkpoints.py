"""Stored checkpoints of a job: restored by a new job, and kept or removed when the job ends.

Why: `docs/decisions/0025-checkpoints-in-object-stores.md`.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, RemotePath, remove_tree
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_RETENTION
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_IGNORE_UNCLAIMED, RECOVERY_PATH
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import set_max_parallelism
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.task.checkpoint_metadata import (
    METADATA,
    CheckpointMetadata,
    checkpoint_directory,
    checkpoints_in,
    read_metadata,
)
from firesteel.task.job_place import JobPlace
from firesteel.task.restore import adopt_max_parallelism, plan_restore, write_restore_plan
from firesteel.task.state_file import StateFileError, UnverifiedStateError, verify_state_file
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_transfer import missing_file

_JOB = "_job"
"""Name of the object that stands for a job in an object store, where a directory can't be removed for good."""


_KEPT_AFTER: dict[str, frozenset[JobStatus]] = {
    "RETAIN_ON_CANCELLATION": frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
    "DELETE_ON_CANCELLATION": frozenset({JobStatus.FAILED}),
    "NO_EXTERNALIZED_CHECKPOINTS": frozenset(),
}
"""The job statuses after which checkpoints are retained, by retention mode."""


def keeps_checkpoints(job_graph: JobGraph, status: JobStatus) -> bool:
    """Return whether the checkpoints of a job with this terminal status are retained.

    Raises:
        ValueError: the configured retention mode does not exist.
    """
    return status in _KEPT_AFTER[CHECKPOINTING_RETENTION.of(job_graph.configuration)]


def restore_job(
    job_graph: JobGraph,
    options: Mapping[str, str],
    directory: Path,
    store: AnyPath | None = None,
    seal: StateSeal = UNSEALED,
) -> None:
    """Prepare a new job to start from the checkpoint or savepoint in its configuration, and create its directory.

    Its vertices adopt the max parallelism of their state, others get a default. A job with its own checkpoints resumes
    from those, as the initial one may be gone by now.

    Args:
        job_graph: The job.
        options: The options that the job runs with.
        directory: The job's directory on this host.
        store: The directory of its checkpoints; None if it is the same.
        seal: Verifies the state, unless the job's configuration allows unverified state, and signs the plan.

    Raises:
        CheckpointNotFoundError: the checkpoint does not exist.
        StateFileError: a file of it is missing or damaged; the error names the newest intact one of its job.
        UnverifiedStateError: a file of it is not signed with the cluster's secret.
        StateRestoreError: its state does not fit the job.
        InvalidProgramError: a vertex has more subtasks than key groups.
        ValueError: the configured claim mode does not exist.
    """
    make_directory(directory, mode=PRIVATE_DIRECTORY)
    named = RECOVERY_PATH.of(job_graph.configuration)
    if named is not None:
        _restore_from(named, job_graph, options, JobPlace(directory, directory if store is None else store), seal)
    set_max_parallelism(job_graph)  # only now: state would be refused at another one


def _restore_from(
    named: str, job_graph: JobGraph, options: Mapping[str, str], place: JobPlace, seal: StateSeal
) -> None:
    RECOVERY_CLAIM_MODE.of(job_graph.configuration)  # so that an unknown mode is reported before any file is read
    own = checkpoints_in(place.store)
    if own:
        adopt_max_parallelism(read_metadata(own[0], seal), job_graph)
        return
    source = checkpoint_directory(named, Files(options))
    found = seal.allowing(job_graph.configuration)
    metadata = _intact(source, found)
    allow = RECOVERY_IGNORE_UNCLAIMED.of(job_graph.configuration)
    plan = plan_restore(metadata, source, job_graph, allow, found, temporary_directory(options))
    write_restore_plan(place, plan, seal)


def _intact(directory: AnyPath, seal: StateSeal) -> CheckpointMetadata:
    """Verify all files of a checkpoint and return its metadata."""
    return _offering_others(directory, _check, seal)


def readable(directory: AnyPath, seal: StateSeal) -> CheckpointMetadata:
    """Read the metadata of a checkpoint; its other files are verified when the slots read them."""
    return _offering_others(directory, read_metadata, seal)


def _offering_others(
    directory: AnyPath, read: Callable[[AnyPath, StateSeal], CheckpointMetadata], seal: StateSeal
) -> CheckpointMetadata:
    """Read a checkpoint; if it is damaged, the error names an alternative.

    There is no automatic fallback to it, because the damaged checkpoint may have been committed.
    """
    try:
        return read(directory, seal)
    except UnverifiedStateError:
        raise
    except StateFileError as error:
        others = [path for path in checkpoints_in(directory.parent) if path != directory and _is_intact(path, seal)]
        offer = f"the newest intact checkpoint is {others[0]}" if others else "no other checkpoint of the job is intact"
        raise StateFileError(error.path, f"{error.problem}; checkpoint {directory} can't be used, {offer}") from None


def _check(directory: AnyPath, seal: StateSeal) -> CheckpointMetadata:
    metadata = read_metadata(directory, seal)
    base = metadata.base_of(directory)
    if isinstance(base, RemotePath):
        # File contents are verified when they are read, as downloading all of them here would take too long.
        missing = missing_file(base, metadata.chains.values())
        if missing is not None:
            raise StateFileError(*missing)
        return metadata
    for path in metadata.files():
        verify_state_file(base / path, seal)
    return metadata


def _is_intact(directory: AnyPath, seal: StateSeal) -> bool:
    try:
        _check(directory, seal)
    except StateFileError:
        return False
    return True


def mark_as_running(store: RemotePath) -> None:
    """Write the object whose removal tells JobManagers which were deposed that the job has ended.

    Only the submission of a job writes it: a leader that starts late would bring back a job that has ended.
    """
    (store / _JOB).write_bytes(b"")


def check_not_ended(store: AnyPath) -> None:
    """Check that a job's directory was not removed, which in an object store does not keep anyone from writing to it.

    Raises:
        FileNotFoundError: it was removed, so the job has ended.
    """
    if isinstance(store, RemotePath) and (store / _JOB).size() is None:
        raise FileNotFoundError(f"{store} was removed: another JobManager has ended the job")


def remove_job_directory(directory: AnyPath) -> None:
    """Remove a job's directory; it is renamed first, so that nobody can decide anything there any more.

    In an object store the object that stands for the job is removed first: a deposed JobManager that takes a checkpoint
    later misses it and withdraws the checkpoint. Then the checkpoints are removed, from oldest to newest, so that no
    broken one remains.
    """
    if isinstance(directory, RemotePath):
        (directory / _JOB).unlink()
        for checkpoint in reversed(checkpoints_in(directory)):
            remove_tree(checkpoint)
        remove_tree(directory)
        return
    removed = directory.with_name(f".removed-{directory.name}-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        directory.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def remove_all_but_checkpoints(store: RemotePath, seal: StateSeal) -> None:
    """Remove the files that none of its checkpoints needs from the remote directory of a job that has ended."""
    checkpoints = checkpoints_in(store)
    needed = {path for checkpoint in checkpoints for path in read_metadata(checkpoint, seal).files()}
    needed |= {f"{checkpoint.name}/{METADATA}" for checkpoint in checkpoints}
    store.remote.remove([f"{store}/{path}" for path in store.files() if path not in needed])


def remove_checkpoint(directory: AnyPath) -> None:
    """Remove a checkpoint or savepoint, and with a job's last checkpoint the files that they share."""
    remove_tree(directory)
    if directory.name.startswith("chk-") and not checkpoints_in(directory.parent):
        remove_job_directory(directory.parent)
