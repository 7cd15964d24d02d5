"""The files of a job's checkpoints and savepoints, which a `CheckpointCoordinator` decides."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from firesteel.common.encoding import encoded
from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, remove_tree
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_PATH
from firesteel.coordinator.checkpoint_messages import Sizes, WriteCheckpoint
from firesteel.coordinator.stored_checkpoints import (
    check_not_ended,
    readable,
)
from firesteel.graph.parallelism import max_parallelism_of
from firesteel.operators.chain.subtask import operators_of
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.task.checkpoint_metadata import (
    CheckpointExistsError,
    CheckpointMetadata,
    RegionState,
    VertexLayout,
    checkpoint_directory,
    checkpoints_in,
    id_of,
    named_directory,
    read_metadata,
    write_metadata,
    write_savepoint_metadata,
)
from firesteel.task.restore import plan_restore, write_rescale_plan
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_seal import StateSeal
from firesteel.task.state_transfer import copy_chain
from firesteel.task.version_store import chain_sizes


class CheckpointFiles:
    """Reads, writes and removes the metadata of a job's checkpoints; any thread may do so.

    Args:
        plan: The stages of the job.
        options: The options that the job runs with.
        store: The directory of its checkpoints.
        seal: Signs and verifies checkpoints; the job's configuration may allow unverified state to start with.
    """

    def __init__(self, plan: StagePlan, options: Mapping[str, str], store: AnyPath, seal: StateSeal) -> None:
        self.store = store
        self._job = plan.job_graph
        self._seal = seal
        self._named = Files(options)
        self._region_of = plan.region_of
        self._vertices = tuple(_layout(plan, vertex) for vertex in self._job.vertices)
        self._first_slots = _first_slots(self._vertices)

    def directory_of(self, checkpoint_id: int) -> AnyPath:
        """Return the directory of a checkpoint."""
        return self.store / f"chk-{checkpoint_id}"

    def claimed(self) -> AnyPath | None:
        """Return the checkpoint or savepoint that the job was started with, if the job has claimed it, else None."""
        options = self._job.configuration
        path = RECOVERY_PATH.of(options)
        if path is None or RECOVERY_CLAIM_MODE.of(options) != "CLAIM":
            return None
        claimed = named_directory(path, self._named)
        # A checkpoint of the job's own directory is removed as any other, once newer ones are retained.
        return claimed if claimed.parent != self.store else None

    def has_same_layout(self, metadata: CheckpointMetadata, region: int) -> bool:
        """Return whether a checkpoint of this job has a region's state in the slots in which the region runs now."""
        return self._places(metadata.vertices, region) == self._places(self._vertices, region)

    def _places(self, vertices: tuple[VertexLayout, ...], region: int) -> dict[str, tuple[int, int, int]]:
        of_region = [one for one in vertices if self._region_of.get(one.vertex_id) == region]
        return {one.vertex_id: (one.stage, one.first_slot, one.parallelism) for one in of_region}

    def redistribute_state(self, metadata: CheckpointMetadata, region: int) -> None:
        """Let the slots of a region take over the state that a checkpoint of this job has in other slots.

        Raises:
            StateRestoreError: a vertex has more subtasks than key groups.
        """
        source = self.directory_of(metadata.checkpoint_id)
        plan = plan_restore(metadata, source, self._job, allow_non_restored=True, seal=self._seal)
        write_rescale_plan(self.store, region, plan, self._seal)

    def newest_id(self) -> int:
        """Return the id of the newest checkpoint, 0 if there is none, before a run claims its number.

        Raises:
            FileNotFoundError: the job was removed from the object store, so it has ended.
        """
        check_not_ended(self.store)
        return max((id_of(path) for path in checkpoints_in(self.store)), default=0)

    def read(self, in_full: bool) -> tuple[int, tuple[CheckpointMetadata, ...] | None]:
        """Return the id of the newest checkpoint, 0 if there is none, and if `in_full` all checkpoints, newest last.

        Raises:
            StateFileError: the metadata is damaged.
        """
        own = checkpoints_in(self.store)
        newest = id_of(own[0]) if own else 0
        if not in_full:
            return newest, None
        # Only if the newest one is damaged an alternative helps, which `readable` names.
        older = [read_metadata(path, self._seal) for path in reversed(own[1:])]
        return newest, (*older, *(readable(path, self._seal) for path in own[:1]))

    def initial(self) -> tuple[CheckpointMetadata, AnyPath] | None:
        """Return the checkpoint that the job was started with and its directory, or None.

        Raises:
            StateFileError: the metadata is damaged.
        """
        named = RECOVERY_PATH.of(self._job.configuration)
        if named is None:
            return None
        source = checkpoint_directory(named, self._named)
        # The job's own checkpoints must be signed, whatever it allows for this one.
        return readable(source, self._seal.allowing(self._job.configuration)), source

    def write(self, action: WriteCheckpoint, owner: str) -> CheckpointMetadata:
        """Write the metadata; if two JobManagers both act as leader, only one takes the next checkpoint.

        Raises:
            CheckpointExistsError: another JobManager has taken this or a later checkpoint.
            FileNotFoundError: another JobManager has ended the job and removed its directory.
        """
        metadata = CheckpointMetadata(
            checkpoint_id=action.checkpoint_id,
            timestamp_ms=time.time_ns() // 1_000_000,
            job_id=self._job.job_id,
            job_name=self._job.name,
            is_savepoint=False,
            vertices=self._layouts(action),
            regions=action.regions,
        )
        directory = self.directory_of(action.checkpoint_id)
        write_metadata(directory, metadata, owner, self._seal)
        try:
            self._check_decided(directory)
        # Left in place, it would count as the newest checkpoint, or revive a job that has ended.
        except (CheckpointExistsError, FileNotFoundError):
            remove_tree(directory)
            raise
        return metadata

    def _layouts(self, action: WriteCheckpoint) -> tuple[VertexLayout, ...]:
        """Return where the state of each vertex is.

        The state of a region that took no part is where the last checkpoint has it: the job may have been rescaled
        since.
        """
        former = {} if action.former is None else {one.vertex_id: one for one in action.former.vertices}
        return tuple(
            one if self._region_of[one.vertex_id] in action.prepared else former.get(one.vertex_id, one)
            for one in self._vertices
        )

    def _check_decided(self, directory: AnyPath) -> None:
        """Check that a written checkpoint counts: none is newer, and the job has not ended."""
        # Looked at after writing, not before: two JobManagers that both look first would both see nothing and both
        # write.
        newest = checkpoints_in(self.store)
        if newest[:1] != [directory]:
            raise CheckpointExistsError(newest[0] if newest else directory)
        check_not_ended(self.store)

    def write_savepoint(self, parent: AnyPath, metadata: CheckpointMetadata) -> CheckpointStats:
        """Write a savepoint of a fully committed checkpoint, so that the savepoint has no committables.

        Args:
            parent: The directory in which its directory is created.
            metadata: The checkpoint.

        Raises:
            OSError: it could not be written; its files are removed.
        """
        begun_s = time.monotonic()
        directory = parent / f"savepoint-{self._job.job_id[:6]}-{secrets.token_hex(6)}"
        try:
            if isinstance(directory, Path):
                make_directory(directory, mode=PRIVATE_DIRECTORY)
            regions = tuple(None if state is None else self._copy(state, directory) for state in metadata.regions)
            savepoint = replace(metadata, is_savepoint=True, regions=regions)
            write_savepoint_metadata(directory, savepoint, self._seal)
        except BaseException:
            remove_tree(directory)
            raise
        return self.stats(savepoint, directory, begun_s)

    def _copy(self, state: RegionState, directory: AnyPath) -> RegionState:
        chains = {slot: copy_chain(self.store, directory, chain) for slot, chain in state.chains.items()}
        return replace(state, chains=chains, committables=encoded([]))

    def stats(
        self, metadata: CheckpointMetadata, directory: AnyPath, begun_s: float, written: Sizes | None = None
    ) -> CheckpointStats:
        """Return the statistics of a checkpoint that is complete now; of a savepoint, everything counts as written."""
        held: dict[str, dict[int, int]] = {}
        first_slots = _first_slots(metadata.vertices)
        for (_, slot), chain in metadata.chains.items():
            for operator_id, size in chain_sizes(chain).items():
                _add_size(held, operator_id, slot - first_slots[operator_id], size)
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

    def add_size(self, sizes: dict[str, dict[int, int]], operator_id: str, slot: int, size: int) -> None:
        """Add the bytes of an operator's state in a slot to the sizes by subtask."""
        _add_size(sizes, operator_id, slot - self._first_slots[operator_id], size)


def _add_size(sizes: dict[str, dict[int, int]], operator_id: str, subtask: int, size: int) -> None:
    of_subtasks = sizes.setdefault(operator_id, {})
    of_subtasks[subtask] = of_subtasks.get(subtask, 0) + size


def _first_slots(vertices: tuple[VertexLayout, ...]) -> dict[str, int]:
    """Return the slot of subtask 0 of each operator."""
    return {operator: layout.first_slot for layout in vertices for operator, _ in layout.operators}


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
