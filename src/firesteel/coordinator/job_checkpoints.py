"""The checkpoints of a job: each consists of one part per pipelined region, and is decided when all are prepared.

Regions share no records, so any combination of their parts is consistent. While a region restarts, checkpoints contain
the part that it will be restored from. A decided checkpoint is committed region by region, by the thread that runs the
region.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, RemotePath, remove_tree
from firesteel.common.options.checkpointing_options import CHECKPOINTING_NUM_RETAINED
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_PATH
from firesteel.coordinator.checkpoint_parts import Answer, Member, Part, Request, RestorePoint, RunIsOverError, Sizes
from firesteel.coordinator.stored_checkpoints import (
    check_not_ended,
    mark_as_running,
    readable,
    remove_checkpoint,
)
from firesteel.operators.chain.subtask import operators_of
from firesteel.operators.exchange.buffers import pickled
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
from firesteel.task.slot_tasks import max_parallelism_of
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_transfer import copy_chain
from firesteel.task.version_store import chain_sizes


@dataclass(slots=True)
class _Taken:
    """A checkpoint that is decided but not settled by all regions."""

    metadata: CheckpointMetadata
    begun_s: float
    written: Sizes
    requests: list[Request] = field(default_factory=list)


class JobCheckpoints:
    """The checkpoints of one job; its methods are thread-safe, as the threads of all regions call them.

    Args:
        plan: The stages of the job.
        options: The options that the job runs with.
        directory: The job's directory on this host, which exists.
        store: The directory of its checkpoints; None if it is the same.
        seal: Signs and verifies checkpoints; the job's configuration may allow unverified state to start with.
    """

    def __init__(
        self,
        plan: StagePlan,
        options: Mapping[str, str],
        directory: Path,
        store: AnyPath | None = None,
        seal: StateSeal = UNSEALED,
    ) -> None:
        self._seal = seal
        self.plan = plan
        self.directory = directory
        self.store = directory if store is None else store
        self._job = plan.job_graph
        self._named = Files(options)
        self._vertices = tuple(_layout(plan, vertex) for vertex in self._job.vertices)
        self._first_slots = {
            operator: layout.first_slot for layout in self._vertices for operator, _ in layout.operators
        }
        self._retained = CHECKPOINTING_NUM_RETAINED.of(self._job.configuration)
        self._kept: deque[CheckpointMetadata] = deque()
        self._joined_id = 0
        self._is_marked = False
        self._claimed = self._claim()
        self._members: dict[int, Member] = {}
        self._requests: list[Request] = []
        self._taken: _Taken | None = None
        self._settled: set[int] = set()
        self._lock = threading.RLock()

    def _claim(self) -> AnyPath | None:
        """Return the checkpoint or savepoint that the job was started with, if the job has claimed it, else None."""
        options = self._job.configuration
        path = RECOVERY_PATH.of(options)
        if path is None or RECOVERY_CLAIM_MODE.of(options) != "CLAIM":
            return None
        claimed = named_directory(path, self._named)
        return claimed if claimed.parent != self.store else None

    # --- runs ----------------------------------------------------------------------------------------------

    def enter(self, member: Member) -> None:
        """Register a run of a region that is about to begin; an earlier run of the region can't decide any more."""
        with self._lock:
            self._members[member.region] = member

    @property
    def is_idle(self) -> bool:
        """Whether no region is running."""
        return not self._members

    def _check(self, member: Member) -> None:
        if self._members.get(member.region) is not member:
            raise RunIsOverError(member.region)

    def newest_id(self) -> int:
        """Return the id of the newest checkpoint, 0 if there is none, before a run claims its number.

        Raises:
            FileNotFoundError: the job was removed from the object store since its first run here, so it has ended.
        """
        if isinstance(self.store, RemotePath) and not self._is_marked:
            mark_as_running(self.store)
            self._is_marked = True
        check_not_ended(self.store)
        return max((id_of(path) for path in checkpoints_in(self.store)), default=0)

    def join(self, member: Member, run: int, newest_id: int | None = None) -> RestorePoint | None:
        """Return the checkpoint that a run resumes from, or None if it starts from the beginning.

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
        with self._lock:
            self._check(member)
            own = checkpoints_in(self.store)
            if any(other.run for other in self._members.values()):
                if own and own[0] != self._directory_of(self._id):
                    raise CheckpointExistsError(own[0])
            else:
                self._settled.clear()
                self._kept = deque(
                    [
                        *(read_metadata(path, self._seal) for path in reversed(own[1:])),
                        *(readable(path, self._seal) for path in own[:1]),
                    ]
                )
                self._joined_id = self._id
            if newest_id is not None and newest_id < self._joined_id:
                raise CheckpointExistsError(own[0])
            member.run = run
            if own:
                return RestorePoint(self._kept[-1], own[0], is_own=True)
            named = RECOVERY_PATH.of(self._job.configuration)
            if named is None:
                return None
            source = checkpoint_directory(named, self._named)
            return RestorePoint(readable(source, self._seal.allowing(self._job.configuration)), source, is_own=False)

    @property
    def _id(self) -> int:
        return self._kept[-1].checkpoint_id if self._kept else 0

    def leave(self, member: Member, has_failed: bool) -> None:
        """End a run: discard its undecided part, and reject requests that need all regions."""
        with self._lock:
            if self._members.get(member.region) is not member:
                return
            del self._members[member.region]
            for request in list(self._requests):
                if not self._members or (has_failed and request.is_savepoint):
                    self._refuse(request)
            taken = self._all_settled()
        self._serve(taken, member)

    def _refuse(self, request: Request) -> None:
        what, why = "savepoint" if request.is_savepoint else "checkpoint", "a region of it failed"
        if not self._members:
            why = "it ended"
        self._requests.remove(request)
        request.give(RuntimeError(f"job {self._job.job_id}: {why} before the {what} was taken"))

    def _wake_all(self) -> None:
        for member in self._members.values():
            member.wake()

    # --- requests -------------------------------------------------------------------------------------

    def ask(self, request: Request) -> None:
        """Request a checkpoint or savepoint, which is taken as soon as all regions have prepared their parts."""
        with self._lock:
            self._requests.append(request)
            if not self._members:
                self._refuse(request)
            self._wake_all()

    def asked_of(self, member: Member) -> frozenset[Request]:
        """Return the requests for which a region has not prepared a part yet."""
        with self._lock:
            return frozenset(self._requests) - (frozenset() if member.part is None else member.part.covers)

    def wants_part_of(self, member: Member) -> bool:
        """Return whether a request or another region waits for the part of a region."""
        with self._lock:
            others = (other.part for other in self._members.values() if other is not member)
            return bool(self.asked_of(member)) or (member.part is None and any(others))

    # --- decisions ---------------------------------------------------------------------------------------------

    def prepare(self, member: Member, part: Part) -> None:
        """Set a region's prepared part, which replaces an undecided one.

        Raises:
            RunIsOverError: the run was given up.
        """
        with self._lock:
            self._check(member)
            covers = part.covers if member.part is None else part.covers | member.part.covers
            member.part = replace(part, covers=covers)
            self._wake_all()

    def decide(self, member: Member) -> Part | None:
        """Decide the next checkpoint if all parts are prepared; return the part that a region must settle, or None.

        Raises:
            CheckpointExistsError: another JobManager has taken a checkpoint.
            RunIsOverError: the run was given up.
        """
        with self._lock:
            self._check(member)
            if self._is_prepared():
                self._decide(owner=f"{member.region}-{member.run}")
            return member.decided

    def _is_prepared(self) -> bool:
        """Return whether all running regions have prepared a part that covers all requests."""
        running = [member for member in self._members.values() if member.run]
        parts = [member.part for member in running if member.part is not None]
        asked = set(self._requests)
        return len(parts) == len(running) > 0 and self._taken is None and all(asked <= part.covers for part in parts)

    def _decide(self, owner: str) -> None:
        parts = {number: member.part for number, member in self._members.items() if member.part is not None}
        states = self._states() | {number: part.state for number, part in parts.items()}
        metadata = self._metadata([states.get(number) for number in range(len(self.plan.stages))])
        self._write(metadata, owner)
        written: dict[str, Mapping[int, int]] = {}
        for number, part in parts.items():
            self._members[number].part, self._members[number].decided = None, part
            self._settled.discard(number)
            written |= part.written
        self._kept.append(metadata)
        self._taken = _Taken(metadata, min(part.begun_s for part in parts.values()), written, list(self._requests))
        self._subsume()
        self._wake_all()

    def _states(self) -> dict[int, RegionState]:
        """Return the last decided state of each region, without committables that are known to be committed."""
        regions = self._kept[-1].regions if self._kept else ()
        return {
            number: replace(state, committables=pickled([])) if number in self._settled else state
            for number, state in enumerate(regions)
            if state is not None
        }

    def _metadata(self, regions: list[RegionState | None]) -> CheckpointMetadata:
        return CheckpointMetadata(
            checkpoint_id=self._id + 1,
            timestamp_ms=time.time_ns() // 1_000_000,
            job_id=self._job.job_id,
            job_name=self._job.name,
            is_savepoint=False,
            vertices=self._vertices,
            regions=tuple(regions),
        )

    def _write(self, metadata: CheckpointMetadata, owner: str) -> None:
        """Write the metadata; if two JobManagers both act as leader, only one takes the next checkpoint.

        Raises:
            CheckpointExistsError: another JobManager has taken this or a later checkpoint.
            FileNotFoundError: another JobManager has ended the job and removed its directory.
        """
        directory = self._directory_of(metadata.checkpoint_id)
        write_metadata(directory, metadata, owner, self._seal)
        newest = checkpoints_in(self.store)
        if newest[:1] != [directory]:
            remove_tree(directory)
            raise CheckpointExistsError(newest[0] if newest else directory)
        try:
            check_not_ended(self.store)
        except FileNotFoundError:
            remove_tree(directory)
            raise

    def _directory_of(self, checkpoint_id: int) -> AnyPath:
        return self.store / f"chk-{checkpoint_id}"

    def _subsume(self) -> None:
        """Remove checkpoints beyond the retained number; the regions remove their files."""
        while len(self._kept) > self._retained:
            remove_tree(self._directory_of(self._kept.popleft().checkpoint_id))
        if self._claimed is not None and len(self._kept) == self._retained and None not in self._kept[0].regions:
            remove_checkpoint(self._claimed)
            self._claimed = None

    def states_of(self, region: int) -> list[RegionState]:
        """Return the distinct states of a region in the retained checkpoints."""
        with self._lock:
            states = [state for metadata in self._kept if (state := metadata.regions[region]) is not None]
            return list({state.batch_id: state for state in states}.values())

    def settled(self, member: Member) -> None:
        """Note that a region has committed; after the last one, write savepoints and answer requests."""
        with self._lock:
            member.decided = None
            self._settled.add(member.region)
            taken = self._all_settled()
        self._serve(taken, member)

    def _all_settled(self) -> _Taken | None:
        """Return the checkpoint that all regions have settled, once; else None."""
        if any(member.decided is not None for member in self._members.values()):
            return None
        taken, self._taken = self._taken, None
        return taken

    def _serve(self, taken: _Taken | None, member: Member) -> None:
        if taken is not None:
            directory = self._directory_of(taken.metadata.checkpoint_id)
            member.tell(self._stats(taken.metadata, directory, taken.begun_s, taken.written))
        for request in () if taken is None else taken.requests:
            answer = self._answer(request, taken.metadata, member)  # type: ignore[union-attr]
            with self._lock:
                if request in self._requests:
                    self._requests.remove(request)
                    request.give(answer)
        with self._lock:
            self._wake_all()

    def _answer(self, request: Request, metadata: CheckpointMetadata, member: Member) -> Answer:
        if request.savepoint_parent is None:
            return metadata.checkpoint_id
        try:
            stats = self.write_savepoint(request.savepoint_parent, metadata)
        except Exception as error:
            return error
        member.tell(stats)
        return stats.external_path

    def write_savepoint(self, parent: AnyPath, metadata: CheckpointMetadata | None = None) -> CheckpointStats:
        """Write a savepoint of a fully committed checkpoint, so that the savepoint has no committables.

        Args:
            parent: The directory in which its directory is created.
            metadata: The checkpoint; None for the last one.

        Raises:
            OSError: it could not be written; its files are removed.
        """
        begun_s, metadata = time.monotonic(), metadata or self._kept[-1]
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
        return self._stats(savepoint, directory, begun_s)

    def _copy(self, state: RegionState, directory: AnyPath) -> RegionState:
        chains = {slot: copy_chain(self.store, directory, chain) for slot, chain in state.chains.items()}
        return replace(state, chains=chains, committables=pickled([]))

    # --- statistics ----------------------------------------------------------------------------------

    def _stats(
        self, metadata: CheckpointMetadata, directory: AnyPath, begun_s: float, written: Sizes | None = None
    ) -> CheckpointStats:
        held: dict[str, dict[int, int]] = {}
        for (_, slot), chain in metadata.chains.items():
            for operator_id, size in chain_sizes(chain).items():
                self.add_size(held, operator_id, slot, size)
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
        of_subtasks = sizes.setdefault(operator_id, {})
        subtask = slot - self._first_slots[operator_id]
        of_subtasks[subtask] = of_subtasks.get(subtask, 0) + size


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
