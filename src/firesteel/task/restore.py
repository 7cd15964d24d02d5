"""Restoring the state of another job: the mapping of state to operators. `restored_state` has each subtask's share.

Flink: `runtime.checkpoint.StateAssignmentOperation`.

Why: `docs/decisions/0003-replay-from-version-files.md`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from firesteel.common.encoding import encoded_data
from firesteel.common.files.remote_path import AnyPath
from firesteel.common.files.temporary_directories import made_directory
from firesteel.errors import FiresteelError
from firesteel.functions.operator_descriptors import CollectSinkOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.chain.subtask import described_operators, operators_of
from firesteel.task.checkpoint_metadata import CheckpointMetadata, VertexLayout
from firesteel.task.job_place import JobPlace
from firesteel.task.state_file import replace_state_file, state_file_bytes
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_transfer import fetch_chain
from firesteel.task.state_types import load_sources
from firesteel.task.version_chains import Frame
from firesteel.task.version_store import read_frames, region_directory
from firesteel.task.versions import Chain

FETCHED = "fetched"
"""Name of the directory in a job's directory for downloaded files of the state it is restored from."""

RESTORED = "restored"
"""Name of the file in a job's directory with its restore plan."""

RESCALED = "rescaled"
"""Name of the file in a region's directory with the plan by which it takes over its own state at another parallelism.

It is needed as long as the region has no version in its new slots.
"""


class StateRestoreError(FiresteelError):
    """The state of a checkpoint does not fit the program; the message names the operator and the reason."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The source of a job's initial state.

    Attributes:
        directory: The directory that paths of version files are relative to; a URI on a remote file system.
        chains: (stage, slot) -> the files of its version.
        operators: Operator id -> the vertex that it belonged to.
    """

    directory: str
    chains: dict[tuple[int, int], Chain]
    operators: dict[str, VertexLayout]


Read = Callable[[Chain], Iterator[Frame]]
"""Yields the frames of the files of a chain."""


def plan_restore(
    metadata: CheckpointMetadata,
    directory: AnyPath,
    job_graph: JobGraph,
    allow_non_restored: bool,
    seal: StateSeal = UNSEALED,
    temporary: str | None = None,
) -> RestorePlan:
    """Map the state of a checkpoint to the operators of a job, whose vertices adopt its max parallelism.

    Args:
        metadata: The checkpoint.
        directory: The directory of its metadata.
        job_graph: The job; vertices without a configured max parallelism adopt that of their state.
        allow_non_restored: Whether state that belongs to no operator of the job may be skipped.
        seal: Verifies the files of the checkpoint.
        temporary: The configured directory for temporary files; None for that of the system.

    Raises:
        StateRestoreError: state can't be mapped.
    """
    new = _vertices_of_operators(job_graph)
    base = metadata.base_of(directory)
    if not allow_non_restored:
        _check_nothing_is_left(metadata, new, partial(read_any, base, seal=seal, temporary=temporary))
    # After the check, so that a refused restore leaves the job graph as it was.
    adopt_max_parallelism(metadata, job_graph)
    kept = {
        operator_id: layout for operator_id, layout in _layouts_of_operators(metadata).items() if operator_id in new
    }
    return RestorePlan(str(base), metadata.chains, kept)


def adopt_max_parallelism(metadata: CheckpointMetadata, job_graph: JobGraph) -> None:
    """Set the max parallelism of a job's vertices to that with which their operators' state was written.

    Raises:
        StateRestoreError: a vertex configures another max parallelism, or has more subtasks than that.
    """
    layouts = _layouts_of_operators(metadata)
    for vertex in job_graph.vertices:
        for operator_id, _, operator in described_operators(vertex):
            # It has no state, and one subtask, which others in its vertex may not have.
            if operator_id in layouts and not isinstance(operator, CollectSinkOperator):
                adopt_layout(vertex, layouts[operator_id])


def _vertices_of_operators(job_graph: JobGraph) -> dict[str, object]:
    return {operator_id: vertex for vertex in job_graph.vertices for operator_id, _ in operators_of(vertex)}


def _layouts_of_operators(metadata: CheckpointMetadata) -> dict[str, VertexLayout]:
    return {operator_id: vertex for vertex in metadata.vertices for operator_id, _ in vertex.operators}


def _check_nothing_is_left(metadata: CheckpointMetadata, new: dict[str, object], read: Read) -> None:
    for vertex in metadata.vertices:
        for operator_id, name in vertex.operators:
            if operator_id not in new and has_state(metadata, vertex, operator_id, read):
                raise StateRestoreError(
                    f"cannot map the state of operator {name!r} ({operator_id}) to the new program, because the "
                    f"operator is not available in it: set the uid that it had, or skip its state "
                    f"with --allowNonRestoredState (-n)"
                )


def has_state(metadata: CheckpointMetadata, vertex: VertexLayout, operator_id: str, read: Read) -> bool:
    """Return whether a checkpoint has state of an operator, or positions of a source."""
    if any(operator_id in load_sources(state.sources) for state in metadata.states):
        return True
    for subtask in range(vertex.parallelism):
        # The metadata names operators, but only the files tell whether one has any state: one without may be left out.
        chain = chain_of(vertex, subtask, metadata.chains)
        for vertex_id, found, state in read(chain):
            if vertex_id == vertex.vertex_id and (
                found == operator_id or (found is None and state["operators"][operator_id][0])
            ):
                return True
    return False


def adopt_layout(vertex: Any, layout: VertexLayout) -> None:
    """Set the max parallelism of a vertex to that of the state of one of its operators, as `adopt_max_parallelism`."""
    if vertex.parallelism > layout.max_parallelism:
        raise StateRestoreError(
            f"the state for task {vertex.name!r} can not be restored: its max parallelism {layout.max_parallelism} is "
            f"lower than the requested parallelism {vertex.parallelism}; use at most {layout.max_parallelism}"
        )
    # It decides about the key group of each key, and so about the subtask that looks for the key's state.
    if vertex.max_parallelism > 0 and vertex.max_parallelism != layout.max_parallelism:
        raise StateRestoreError(
            f"max parallelism mismatch: the state of task {layout.name!r} was written with max parallelism "
            f"{layout.max_parallelism}, the new program sets {vertex.max_parallelism} for {vertex.name!r}; set it to "
            f"{layout.max_parallelism}, or remove the setting"
        )
    vertex.max_parallelism = layout.max_parallelism


def write_restore_plan(place: JobPlace, plan: RestorePlan, seal: StateSeal = UNSEALED) -> None:
    """Write the plan to the file where the job's slots read it."""
    place.work.mkdir(parents=True, exist_ok=True)
    _write_plan(place.store / RESTORED, plan, seal)


def write_rescale_plan(store: AnyPath, region: int, plan: RestorePlan, seal: StateSeal = UNSEALED) -> None:
    """Write the plan of a region that takes over its own state at another parallelism."""
    _write_plan(region_directory(store, region) / RESCALED, plan, seal)


def _write_plan(path: AnyPath, plan: RestorePlan, seal: StateSeal) -> None:
    frames = [encoded_data(plan)]
    if isinstance(path, Path):
        replace_state_file(path, frames, seal)
    else:
        path.write_bytes(state_file_bytes(frames, seal))


def read_any(
    base: AnyPath,
    chain: Chain,
    fetched: Path | None = None,
    seal: StateSeal = UNSEALED,
    temporary: str | None = None,
) -> Iterator[Frame]:
    """Yield the frames of the files of a chain, which are downloaded first if they are on a remote file system.

    Args:
        base: The directory that the paths of the files are relative to.
        chain: The files.
        fetched: The directory for downloaded files; if None, they are removed at the end.
        seal: Verifies the files.
        temporary: The configured directory for temporary files; None for that of the system.

    Raises:
        StateFileError: a file is missing, damaged, or cannot be verified.
    """
    if isinstance(base, Path):
        yield from read_frames(base, chain, seal)
    elif fetched is not None:
        fetch_chain(base, fetched, chain)
        yield from read_frames(fetched, chain, seal)
    else:
        with tempfile.TemporaryDirectory(prefix="firesteel-restore-", dir=made_directory(temporary)) as directory:
            yield from read_any(base, chain, Path(directory), seal)


def chain_of(layout: VertexLayout, subtask: int, chains: dict[tuple[int, int], Chain]) -> Chain:
    """Return the files of the version of a subtask."""
    return chains[layout.stage, layout.first_slot + subtask]
