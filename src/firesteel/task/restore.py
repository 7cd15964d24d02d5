"""Restoring the state of another job: the mapping of state to operators, and each subtask's share of it.

Flink: `runtime.checkpoint.StateAssignmentOperation`.

Why: `docs/decisions/0003-replay-from-version-files.md`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from firesteel.common.encoding import encoded_data
from firesteel.common.encoding.program_values import program_entries, program_value
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.common.files.temporary_directories import made_directory
from firesteel.common.keys.key_groups import key_group_range
from firesteel.errors import FiresteelError
from firesteel.functions.operator_descriptors import CollectSinkOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.operators.chain.subtask import described_operators, operators_of
from firesteel.operators.state.descriptions import NEXT_SUBTASK
from firesteel.operators.state.keyed_state_backend import Delta
from firesteel.task.checkpoint_metadata import CheckpointMetadata, VertexLayout
from firesteel.task.job_place import JobPlace, remote_store
from firesteel.task.state_file import read_state_file, replace_state_file, state_file_bytes
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_transfer import fetch_chain
from firesteel.task.state_types import load_metadata, load_sources
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
        chain = _chain(vertex, subtask, metadata.chains)
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


def read_restored_state(
    job_directory: Path, configuration: Mapping[str, str] | None = None, seal: StateSeal = UNSEALED, region: int = 0
) -> PlannedState | None:
    """Return the state that a region starts from: its own at another parallelism, or that of another job, or None.

    Args:
        job_directory: The job's directory on this host.
        configuration: The job's configuration, with its checkpoint directory and credentials of remote file systems.
        seal: Verifies the plan and, if the configuration does not allow unverified state, the files it refers to.
        region: Number of the region.

    Raises:
        StateFileError: the plan is damaged or cannot be verified.
    """
    options = configuration or {}
    store = remote_store(options, job_directory) or job_directory
    own = read_rescaled_state(store, job_directory, seal, region)
    # Its own state is the newer one: the region has run since the job was restored.
    if own is not None or size_of(store / RESTORED) is None:
        return own
    [content] = read_state_file(store / RESTORED, seal)
    plan = load_metadata(content)
    base = Files(options).path(plan.directory)
    return PlannedState(plan, base, job_directory / FETCHED, seal.allowing(options))


def read_rescaled_state(
    store: AnyPath, job_directory: Path, seal: StateSeal = UNSEALED, region: int = 0
) -> PlannedState | None:
    """Return the state that a region has had at another parallelism, or None.

    Args:
        store: The directory of the job's checkpoints.
        job_directory: The job's directory on this host, where its files have the same names.
        seal: Verifies the plan and the files that it refers to.
        region: Number of the region.
    """
    path = region_directory(store, region) / RESCALED
    if size_of(path) is None:
        return None
    [content] = read_state_file(path, seal)
    return PlannedState(load_metadata(content), store, job_directory, seal)


class PlannedState:
    """A reader of the state that a restore plan refers to.

    Args:
        plan: The plan.
        base: The directory that it refers to.
        fetched: The directory on this host for downloaded files.
        seal: Verifies the files that the plan refers to.
    """

    def __init__(self, plan: RestorePlan, base: AnyPath, fetched: Path, seal: StateSeal = UNSEALED) -> None:
        self._seal = seal
        self._plan = plan
        self._fetched = fetched
        self._base = base

    def keyed(self, operator_ids: Collection[str], key_groups: range) -> Iterator[tuple[str, Delta]]:
        """Yield the keyed state of operators in (at least) some key groups, each file read once.

        Returns:
            Ids of operators, and deltas to apply to them in order.
        """
        for layout, found in self._by_layout(operator_ids):
            for subtask in range(layout.parallelism):
                owned = key_group_range(subtask, layout.parallelism, layout.max_parallelism)
                if owned.start < key_groups.stop and key_groups.start < owned.stop:
                    # Subtasks may have described a state differently, which is found by comparing one after the other.
                    yield from ((operator_id, (NEXT_SUBTASK, {})) for operator_id in found)
                    yield from self._deltas_of(found, layout, subtask)

    def copied(self, operator_id: str, subtask: int) -> Iterator[Delta]:
        """Yield the broadcast state of an operator's subtask, as deltas to apply in order."""
        for layout, found in self._by_layout([operator_id]):
            yield from (delta for _, delta in self._deltas_of(found, layout, subtask % layout.parallelism))

    def _by_layout(self, operator_ids: Collection[str]) -> list[tuple[VertexLayout, list[str]]]:
        """Return the vertices that had the operators, each with its own; a new vertex may have some of several."""
        found: dict[str, tuple[VertexLayout, list[str]]] = {}
        for operator_id in operator_ids:
            layout = self._plan.operators.get(operator_id)
            if layout is not None:
                found.setdefault(layout.vertex_id, (layout, []))[1].append(operator_id)
        return list(found.values())

    def _deltas_of(self, operator_ids: list[str], layout: VertexLayout, subtask: int) -> Iterator[tuple[str, Delta]]:
        for vertex_id, found, state in self._frames(_chain(layout, subtask, self._plan.chains)):
            if vertex_id == layout.vertex_id and found in operator_ids:
                yield found, program_entries(state)

    def snapshots(self, operator_ids: Collection[str]) -> dict[str, list[Any]]:
        """Return the snapshots of all former subtasks of operators, in subtask order, by operator id."""
        snapshots: dict[str, list[Any]] = {operator_id: [] for operator_id in operator_ids}
        for layout, found in self._by_layout(operator_ids):
            for subtask in range(layout.parallelism):
                # Each file of a chain has all that is not keyed, so the last one counts.
                for vertex_id, operator_id, version in self._frames(_chain(layout, subtask, self._plan.chains)[-1:]):
                    if vertex_id == layout.vertex_id and operator_id is None:
                        for one in found:
                            snapshots[one].append(program_value(version["operators"][one][1]))
        return snapshots

    def _frames(self, chain: Chain) -> Iterator[Frame]:
        return read_any(self._base, chain, self._fetched, self._seal)


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


def _chain(layout: VertexLayout, subtask: int, chains: dict[tuple[int, int], Chain]) -> Chain:
    return chains[layout.stage, layout.first_slot + subtask]
