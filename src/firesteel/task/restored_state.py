"""Reading the state that a restore plan refers to: each subtask's share of it.

Flink: `runtime.checkpoint.StateAssignmentOperation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from firesteel.common.encoding.program_values import program_entries, program_value
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.common.keys.key_groups import key_group_range
from firesteel.operators.state.descriptions import NEXT_SUBTASK
from firesteel.operators.state.entries import Delta
from firesteel.task.checkpoint_metadata import VertexLayout
from firesteel.task.job_place import remote_store
from firesteel.task.restore import FETCHED, RESCALED, RESTORED, RestorePlan, chain_of, read_any
from firesteel.task.state_file import read_state_file
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_types import load_metadata
from firesteel.task.version_chains import Frame
from firesteel.task.version_store import region_directory
from firesteel.task.versions import Chain


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
            # Each subtask had the same broadcast state, so any of them serves a new one, and reading is spread over
            # all.
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
        for vertex_id, found, state in self._frames(chain_of(layout, subtask, self._plan.chains)):
            if vertex_id == layout.vertex_id and found in operator_ids:
                yield found, program_entries(state)

    def snapshots(self, operator_ids: Collection[str]) -> dict[str, list[Any]]:
        """Return the snapshots of all former subtasks of operators, in subtask order, by operator id."""
        snapshots: dict[str, list[Any]] = {operator_id: [] for operator_id in operator_ids}
        for layout, found in self._by_layout(operator_ids):
            for subtask in range(layout.parallelism):
                # Each file of a chain has all that is not keyed, so the last one counts.
                for vertex_id, operator_id, version in self._frames(chain_of(layout, subtask, self._plan.chains)[-1:]):
                    if vertex_id == layout.vertex_id and operator_id is None:
                        for one in found:
                            snapshots[one].append(program_value(version["operators"][one][1]))
        return snapshots

    def _frames(self, chain: Chain) -> Iterator[Frame]:
        return read_any(self._base, chain, self._fetched, self._seal)
