"""Simulated JobManagers: each has a `CheckpointCoordinator`, and a run with `RegionCheckpoints` per region."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from firesteel.common.encoding import encoded
from firesteel.common.encoding.program_values import program_value
from firesteel.common.options.checkpointing_options import CHECKPOINTING_MAX_CONCURRENT, CHECKPOINTING_MIN_PAUSE
from firesteel.coordinator.checkpoint_coordinator import CheckpointCoordinator
from firesteel.coordinator.checkpoint_messages import (
    CheckpointAction,
    CommitPart,
    Complete,
    Directive,
    EndRun,
    GiveAnswer,
    Part,
    ReadCheckpoints,
    RemoveCheckpoint,
    Request,
    Restore,
    RunAction,
    RunId,
    WriteCheckpoint,
    WriteSavepoint,
)
from firesteel.coordinator.part_uploads import CheckpointFailedError
from firesteel.coordinator.region_checkpoints import RegionCheckpoints, Step
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState
from firesteel.task.state_transfer import Stored
from firesteel.task.versions import VersionFile
from tests.simulation.checkpoints.world import DRAINED, Item, World, position_of
from tests.simulation.core.seed import ViolationError


class RunFailedError(Exception):
    """The thread of a run ends."""


class Leader:
    """A JobManager that leads the job, or thinks so."""

    def __init__(self, world: World, number: int, options: Mapping[str, str], interval_s: float, uploads: bool) -> None:
        self.world = world
        self.number = number
        self.options, self.interval_s, self.uploads = options, interval_s, uploads
        self.coordinator = CheckpointCoordinator("job", len(world.lengths), world.retained)
        self.process = world.new_process(f"leader {number}")
        self.runs: dict[RunId, Run] = {}
        self.finished: set[int] = set()
        for region in range(len(world.lengths)):
            world.after(world.delay_s(), lambda region=region: self.start(region))  # type: ignore[misc]

    def start(self, region: int) -> None:
        """Start a run of a region; an earlier one may not have ended, as one waits for it for some time only."""
        if self.is_alive and not self.world.over.is_set():
            run_id, actions = self.coordinator.run_entered(region)
            self.runs[run_id] = Run(self, run_id)
            self._carry_out(actions)
            self.world.start(self.process, self.runs[run_id].thread())

    def ended(self, run: Run, has_failed: bool) -> None:
        """A run has ended; if it has failed, its region restarts after a while."""
        run.tell(self.coordinator.run_ended, run.id, has_failed)
        if has_failed:
            self.world.after(self.world.chance.choice([0.05, 0.5, 3.0]), lambda: self._restart(run))
        else:
            self.finished.add(run.id.region)
            if len(self.finished) == len(self.world.lengths):
                self.world.over.set()

    def _restart(self, run: Run) -> None:
        if self.runs.get(run.id) is run and run.is_current:
            run.is_current = False
            self.start(run.id.region)

    def give_up(self, run: Run) -> None:
        """Start another run of a region, although this one does not end."""
        if run.is_current and run.id.region not in self.finished:
            self.world.log(f"{run} is given up")
            self._restart(run)

    def stop(self) -> None:
        """End all runs, as the job is over."""
        for run_id in self.runs if self.is_alive else ():
            self._carry_out(self.coordinator.run_ended(run_id, has_failed=True))

    @property
    def is_alive(self) -> bool:
        """Whether it was not killed."""
        return self.process.is_alive

    def tell(self, event: Callable[..., list[CheckpointAction]], *args: object) -> None:
        """Bring an event to the coordinator."""
        if self.is_alive:
            self._carry_out(event(*args))

    def reported(self, run: Run, part: Part | None, settled: int) -> None:
        """Process the report of a run, and answer it."""
        if self.is_alive:
            self._carry_out(self.coordinator.reported(run.id, part, settled))
            directive = self.coordinator.directive(run.id)
            if directive is not None:
                self.world.send(lambda: run.directives.append(directive))

    def _carry_out(self, actions: Iterable[CheckpointAction]) -> None:
        world = self.world
        for action in actions:
            match action:
                case RemoveCheckpoint(checkpoint_id):
                    world.after(world.delay_s(), lambda one=checkpoint_id: world.stored.pop(one, None))  # type: ignore[misc]
                case GiveAnswer(request, answer):
                    is_success = not isinstance(answer, Exception)
                    world.answered(request, is_success)
                    is_last = is_success and request.after is not AfterSavepoint.GO_ON
                    current = [run for run in self.runs.values() if run.is_current]
                    if is_last and current and world.chance.random() < world.faults.give_up_last:
                        self.give_up(world.chance.choice(current))
                case _ if isinstance(action, RunAction):
                    self.runs[action.run].actions.append(action)

    def ask(self, after: AfterSavepoint | None) -> None:
        """Ask for a checkpoint, or a savepoint."""
        parent = None if after is None else "savepoints"
        request = Request(lambda _: None, parent, after or AfterSavepoint.GO_ON)  # type: ignore[arg-type]
        self.world.requests.append(request)
        self.world.send(lambda: self.tell(self.coordinator.requested, request), is_kept=True)


class Run:
    """A run of a region, as `Checkpoints` and `StreamingRun` are one: batches, files, commits."""

    def __init__(self, leader: Leader, run_id: RunId) -> None:
        self.id = run_id
        self.is_current = True
        self.directives: deque[Directive] = deque()
        self.actions: deque[RunAction] = deque()
        self._leader = leader
        self._world = leader.world
        self._protocol = RegionCheckpoints(leader.options, leader.interval_s)
        self._kept: dict[int, tuple[str, ...]] = {}
        self._point: tuple[CheckpointMetadata, ...] | None = None
        self._position = 0
        self._batch_id = -1
        self._has_ended = self._is_drained = False
        self._sent: set[str] = set()
        self._completed_s = float("-inf")
        self._told_s = 0.0

    def __str__(self) -> str:
        return f"run {self._leader.number}.{self.id.region}.{self.id.attempt}"

    def tell(self, event: Callable[..., list[CheckpointAction]], *args: object) -> None:
        """Bring an event of this thread to the coordinator: late, perhaps again, but in order and not lost."""
        world, leader = self._world, self._leader
        self._told_s = max(self._told_s, world.now_s + world.delay_s())
        world.after(self._told_s - world.now_s, lambda: leader.tell(event, *args))
        if self._chance < world.faults.doubled:
            world.after(self._told_s - world.now_s + world.delay_s(), lambda: leader.tell(event, *args))

    @property
    def _chance(self) -> float:
        return self._world.chance.random()

    async def thread(self) -> None:
        """Run until the end of the input, or a failure; a killed JobManager does nothing more."""
        try:
            await self._run()
        except (RunFailedError, CheckpointFailedError) as error:
            self._world.log(f"{self} fails: {error}")
            has_failed = True
        else:
            has_failed = False
        await asyncio.sleep(self._world.delay_s())
        self._leader.ended(self, has_failed)

    async def _run(self) -> None:
        await asyncio.sleep(self._world.delay_s())
        self.tell(self._leader.coordinator.run_begun, self.id, None)
        while self._point is None:
            await asyncio.sleep(0.01)
            await self._act()
        await self._restore(self._point)
        while (step := self._protocol.next_step(self._has_ended)) is not Step.FINISH:
            if step is Step.RESTART:
                raise RunFailedError("its sources were ended for a savepoint")
            if step is not Step.WAIT:
                await self._batch(step)
            await self._settle()
            self._may_crash("between batches")

    def _may_crash(self, when: str) -> None:
        if self._chance < self._world.faults.crash:
            raise RunFailedError(f"crash {when}")

    # --- what Checkpoints does ---------------------------------------------------------------------------------

    async def _restore(self, kept: tuple[CheckpointMetadata, ...]) -> None:
        states = [state for metadata in kept if (state := metadata.regions[self.id.region]) is not None]
        self._kept = {state.batch_id: _files(state) for state in states}
        last = kept[-1].regions[self.id.region] if kept else None
        if last is not None:
            self._position, self._batch_id, self._is_drained = (
                position_of(last),
                last.batch_id,
                last.next_time == DRAINED,
            )
            self._has_ended = self._is_drained
            self._sent = {*_files(last)}
            await asyncio.sleep(self._world.delay_s())
            self._may_crash("before it commits again")
            self._world.commit(program_value(last.committables))

    async def _settle(self) -> None:
        part, settled = self._protocol.part, self._protocol.settled
        self._world.send(lambda: self._leader.reported(self, part, settled))
        await asyncio.sleep(0.02)
        await self._act()
        while self.directives:
            for decided in self._protocol.directed(self.directives.popleft(), self._world.now_s):
                await self._commit(decided)

    async def _commit(self, decided: CommitPart) -> None:
        self._completed_s = self._world.now_s
        await asyncio.sleep(self._world.delay_s())
        self._may_crash("before it commits")
        self._world.commit(list(decided.committables))
        self._may_crash("after it has committed")
        for batch_id in [kept for kept in self._kept if kept not in decided.needed and kept <= decided.batch_id]:
            self._world.removed_files.update(self._kept.pop(batch_id))
        self._protocol.committed()

    async def _act(self) -> None:
        while self.actions:
            match self.actions.popleft():
                case ReadCheckpoints() as action:
                    await asyncio.sleep(self._world.delay_s())
                    found = tuple(self._world.stored[one] for one in sorted(self._world.stored))
                    newest = found[-1].checkpoint_id if found else 0
                    await asyncio.sleep(self._world.delay_s())
                    kept = found if action.in_full else None
                    self.tell(self._leader.coordinator.checkpoints_read, action, newest, kept)
                case Restore(_, kept):
                    self._point = kept
                case EndRun():
                    raise RunFailedError("it is over")
                case WriteCheckpoint() as action:
                    await self._write(action)
                case WriteSavepoint() as action:
                    await self._save(action)
                case Complete(_, metadata):
                    self._world.log(f"chk-{metadata.checkpoint_id} is complete")

    async def _write(self, action: WriteCheckpoint) -> None:
        metadata = CheckpointMetadata(action.checkpoint_id, 0, "job", "job", False, (), action.regions)
        is_written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        # The request takes effect even if this process is killed meanwhile.
        if self._chance >= self._world.faults.crash:
            self._world.after(self._world.delay_s(), lambda: is_written.set_result(self._world.write(metadata)))
        else:
            is_written.set_result(False)
        await is_written
        await asyncio.sleep(self._world.delay_s())
        coordinator = self._leader.coordinator
        if not is_written.result():
            self.tell(coordinator.checkpoint_not_written, action.checkpoint_id)
            raise RunFailedError(f"chk-{action.checkpoint_id} can't be written")
        self.tell(coordinator.checkpoint_written, metadata)

    async def _save(self, action: WriteSavepoint) -> None:
        await asyncio.sleep(self._world.delay_s())
        answer: str | Exception = OSError("no space")
        if self._chance >= self._world.faults.crash:
            self._world.save(action.request, action.metadata)
            answer = "savepoint"
        self.tell(self._leader.coordinator.savepoint_written, action.request, answer)

    # --- what StreamingRun does ----------------------------------------------------------------------------------

    async def _batch(self, step: Step) -> None:
        now_s, protocol = self._world.now_s, self._protocol
        end = self._world.lengths[self.id.region]
        count = 0 if step is not Step.GO_ON else min(self._world.chance.randrange(4), end - self._position)
        self._is_drained |= step is Step.DRAIN
        has_ended = self._is_drained or self._position + count == end
        asked = protocol.asked
        is_due = not (asked or has_ended) and protocol.is_due(now_s, 0.05)
        if is_due:
            self._check_limits(now_s)
        await asyncio.sleep(self._world.chance.choice([0.01, 0.05, 0.3]))
        self._may_crash("in a batch")
        self._batch_id += 1
        self._has_ended |= has_ended
        name = f"{self}.{self._batch_id}"
        items: list[Item] = [(self.id.region, number, name) for number in range(self._position, self._position + count)]
        self._position += count
        waits = bool(asked) or has_ended
        protocol.batch_ended(items, [self._uploaded(name if waits else None)], self._world.now_s)
        protocol.processed(bool(asked or has_ended or is_due), count == 0, False)
        if asked or has_ended or is_due:
            chains = {(0, 0): (VersionFile(name, 1, {}),)}
            position, pending = encoded(self._position), encoded(list(protocol.pending))
            state = RegionState(self._batch_id, chains, position, pending, DRAINED if self._is_drained else None)
            self._kept[self._batch_id] = _files(state)
            missing = {name} - self._sent if self._leader.uploads else set()
            protocol.take(Part(state, asked, now_s, {}), missing, self._has_ended, self._world.now_s)

    def _uploaded(self, awaited: str | None) -> Stored:
        """Upload some of the files that checkpoints wait for."""
        if not self._leader.uploads:
            return Stored()
        wanted = [path for paths in self._protocol.uploads.missing().values() for path in paths]
        failed = [path for path in wanted if self._chance < self._world.faults.upload]
        sent = {path for path in wanted if path not in failed and self._chance < 0.4}
        sent |= {awaited} if awaited is not None and self._chance >= self._world.faults.upload else set()
        self._sent |= sent
        return Stored(frozenset(sent), tuple((path, "no space") for path in failed))

    def _check_limits(self, now_s: float) -> None:
        """A checkpoint that nobody has asked for keeps to the pause and to the number of pending ones."""
        pause_s = CHECKPOINTING_MIN_PAUSE.of(self._leader.options)
        if now_s - self._completed_s < pause_s:
            raise ViolationError(
                f"a checkpoint begins {now_s - self._completed_s:.3f} s after the last, not {pause_s} s"
            )
        if len(self._protocol.uploads._waiting) >= CHECKPOINTING_MAX_CONCURRENT.of(self._leader.options):
            raise ViolationError("a checkpoint begins although as many as allowed are pending")


def _files(state: RegionState) -> tuple[str, ...]:
    return tuple(file.path for chain in state.chains.values() for file in chain)
