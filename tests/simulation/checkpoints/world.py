"""What the simulated runs share: unreliable messages, a store of checkpoints, and sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.encoding.program_values import program_value
from firesteel.coordinator.checkpoint_messages import Request
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState
from tests.simulation.core.seed import Seed, ViolationError
from tests.simulation.core.virtual_time import SimulatedProcess, give_up, later
from tests.simulation.core.weather import Weather

DRAINED = 1
"""`next_time` of a region whose sources were ended for a savepoint."""

Item = tuple[int, int, str]
"""Region, number, and the batch that has put it out; a repeated batch is another one."""


@dataclass
class Faults(Weather):
    """How likely is what: per message, per step of a run, or per second.

    Attributes:
        give_up_last: The chance that a run is given up just when a savepoint has ended the job.
    """

    crash: float = 0.0
    upload: float = 0.0
    give_up: float = 0.0
    give_up_last: float = 0.0
    kill_leader: float = 0.0
    depose: float = 0.0
    request: float = 0.0


def positions_in(metadata: CheckpointMetadata) -> list[int]:
    """Return up to which number each region has read its input."""
    return [0 if state is None else position_of(state) for state in metadata.regions]


def position_of(state: RegionState) -> int:
    """Return up to which number a region has read its input."""
    found: int = program_value(state.sources)
    return found


@dataclass
class World:
    """A job and all that is outside its leaders; the invariants are checked where something becomes visible."""

    seed: Seed
    faults: Faults
    lengths: tuple[int, ...]
    retained: int
    stored: dict[int, CheckpointMetadata] = field(default_factory=dict)
    ids_taken: set[int] = field(default_factory=set)
    removed_files: set[str] = field(default_factory=set)
    decided: set[Item] = field(default_factory=set)
    committed: dict[tuple[int, int], str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    saved: dict[Request, list[int]] = field(default_factory=dict)
    answers: dict[Request, bool] = field(default_factory=dict)
    ends_with: list[int] | None = None
    leaders: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.chance = self.seed.chance
        self.log = self.seed.log

    @property
    def now_s(self) -> float:
        """The time."""
        return asyncio.get_running_loop().time()

    def delay_s(self) -> float:
        """Return how long a message or request takes: mostly little, sometimes long."""
        return self.faults.delay(self.chance) * self.chance.choice([1, 1, 1, 20])

    def after(self, delay_s: float, call: Callable[[], object]) -> None:
        """Call later."""

        def event() -> None:
            self.seed.step()
            self.check_newest()
            call()

        later(delay_s, event)

    def send(self, deliver: Callable[[], object], is_kept: bool = False) -> None:
        """Bring a message late, twice, or unless it `is_kept` not at all."""
        for _ in range(self.faults.copies(self.chance, is_kept)):
            self.after(self.delay_s(), deliver)

    def new_process(self, name: str) -> SimulatedProcess:
        """Return a process, whose threads stop when the job is over."""
        return SimulatedProcess(self.seed, name, self._on_step)

    def _on_step(self, _: SimulatedProcess) -> None:
        if self.over.is_set():
            raise asyncio.CancelledError
        self.check_newest()

    def start(self, process: SimulatedProcess, thread: Coroutine[Any, Any, None]) -> None:
        """Run a thread in a process; it must not fail."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                give_up(self.seed, error)

        process.start(thread).add_done_callback(ended)

    # --- the store and the sinks -------------------------------------------------------------------------------

    def write(self, metadata: CheckpointMetadata) -> bool:
        """Decide a checkpoint, unless its id was taken."""
        if metadata.checkpoint_id in self.ids_taken:
            return False
        self.log(f"chk-{metadata.checkpoint_id} at {positions_in(metadata)}")
        if any(position > end for position, end in zip(positions_in(metadata), self.ends_with or (), strict=False)):
            raise ViolationError(f"chk-{metadata.checkpoint_id} goes beyond the savepoint that has ended the job")
        self.ids_taken.add(metadata.checkpoint_id)
        self.stored[metadata.checkpoint_id] = metadata
        for state in metadata.states:
            self.decided.update(program_value(state.committables))
        return True

    def check_newest(self) -> None:
        """The retained checkpoints have their files, and the newest one loses no output, while the job runs."""
        if self.over.is_set():
            return
        newest = sorted(self.stored)[-self.retained :]
        for checkpoint_id in newest:
            lost = {path for path in self.stored[checkpoint_id].files() if path in self.removed_files}
            if lost:
                raise ViolationError(f"chk-{checkpoint_id} lacks {min(lost)}")
        if not newest and self.ids_taken:
            raise ViolationError("no checkpoint is retained")
        for region, state in enumerate(self.stored[newest[-1]].regions if newest else ()):
            if state is not None:
                pending = {number for _, number, _ in program_value(state.committables)}
                self._check_output(region, position_of(state), pending, f"chk-{newest[-1]}")

    def save(self, request: Request, metadata: CheckpointMetadata) -> None:
        """A savepoint has no committables, so all output before it must be committed."""
        self.saved[request] = positions_in(metadata)
        for region, position in enumerate(self.saved[request]):
            self._check_output(region, position, set(), "a savepoint")

    def _check_output(self, region: int, position: int, pending: set[int], what: str) -> None:
        for number in range(position):
            if number not in pending and (region, number) not in self.committed:
                raise ViolationError(f"{what} lacks output {number} of region {region}")

    def commit(self, items: list[Item]) -> None:
        """Commit what was decided; sinks recognise what they have committed before."""
        for item in items:
            region, number, batch = item
            if item not in self.decided:
                raise ViolationError(f"{item} is committed and was never decided")
            if self.committed.setdefault((region, number), batch) != batch:
                raise ViolationError(f"{item} is committed twice: by batch {self.committed[region, number]}, too")

    def answered(self, request: Request, is_success: bool) -> None:
        """A request is answered once."""
        self.log(f"{'savepoint' if request.is_savepoint else 'checkpoint'}: {'done' if is_success else 'refused'}")
        if request in self.answers:
            raise ViolationError("a request is answered twice")
        self.answers[request] = is_success
        if is_success and request.after is not AfterSavepoint.GO_ON:
            self.ends_with = self.ends_with or self.saved[request]
            if request.after is AfterSavepoint.HOLD:
                self.over.set()

    def check_end(self) -> None:
        """All has been put out, or what was before the savepoint that has ended the job; and all is answered."""
        newest = self.stored[max(self.stored)].regions if self.stored else ()
        drained = {n: position_of(s) for n, s in enumerate(newest) if s is not None and s.next_time == DRAINED}
        for region, length in enumerate(self.lengths):
            end = self.ends_with[region] if self.ends_with else drained.get(region, length)
            found = {number for of_region, number in self.committed if of_region == region}
            lost, more = sorted({*range(end)} - found)[:5], sorted(found - {*range(end)})[:5]
            if lost or more:
                raise ViolationError(f"region {region} lacks output {lost}, and has {more} beyond its end")
        if self.leaders == 1 and len(self.answers) != len(self.requests):
            raise ViolationError(f"{len(self.requests) - len(self.answers)} requests are not answered")
