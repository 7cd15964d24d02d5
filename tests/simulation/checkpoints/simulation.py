"""One seed: the checkpoints of a job, whose messages are late, lost and doubled and whose runs and leaders fail."""

from __future__ import annotations

import asyncio

from firesteel.common.options.checkpointing_options import (
    CHECKPOINTING_MAX_CONCURRENT,
    CHECKPOINTING_MIN_PAUSE,
    CHECKPOINTING_TIMEOUT,
    CHECKPOINTING_TOLERABLE_FAILURES,
)
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from tests.simulation.checkpoints.leader import Leader
from tests.simulation.checkpoints.world import Faults, World
from tests.simulation.core.seed import Seed, simulation
from tests.simulation.core.virtual_time import give_up, run_in_virtual_time

MOST_STEPS = 20_000
QUIET_AFTER_S = 20.0
"""Time after which nothing goes wrong any more, so that the job comes to its end."""

LATEST_S = 3600.0
"""Time after which nothing is under way any more."""


@simulation
def simulate(seed: Seed) -> None:
    """A job, its checkpoints and faults."""
    seed.most_steps = MOST_STEPS
    run_in_virtual_time(seed, _Run(seed).run())


class _Run:
    def __init__(self, seed: Seed) -> None:
        self._seed = seed
        self._chance = chance = seed.chance
        lengths = tuple(chance.choice([0, 5, 20, 60]) for _ in range(chance.choice([1, 2, 2, 3])))
        self.world = World(seed, _faults(seed), lengths, retained=chance.choice([1, 1, 3]))
        self._options = {
            CHECKPOINTING_MAX_CONCURRENT.key: str(chance.choice([1, 2, 4])),
            CHECKPOINTING_MIN_PAUSE.key: f"{chance.choice([0, 0, 300])} ms",
            CHECKPOINTING_TOLERABLE_FAILURES.key: str(chance.choice([0, 5, 100])),
            CHECKPOINTING_TIMEOUT.key: f"{chance.choice([1, 600])} s",
        }
        self._interval_s = chance.choice([0.0, 0.1, 1.0])
        self._uploads = chance.random() < 0.5
        # Nobody knows of a savepoint with which the job ends but the leader that has taken it.
        self._ends = chance.choice([None, None, *AfterSavepoint])
        self._leaders: list[Leader] = []

    async def run(self) -> None:
        """Run until the job is over."""
        world, loop = self.world, asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: give_up(self._seed, context["exception"]))
        self._elect()
        while loop.time() < QUIET_AFTER_S and not world.over.is_set():
            self._befall()
            await asyncio.sleep(0.1)
        world.faults = Faults()
        for former in self._leaders[:-1]:
            former.process.is_alive = False
        await world.over.wait()
        for leader in self._leaders:
            leader.stop()
        await asyncio.sleep(LATEST_S)  # Requests that are under way are refused.
        world.check_end()

    def _elect(self) -> None:
        self.world.leaders += 1
        self._leaders.append(
            Leader(self.world, len(self._leaders), self._options, self._interval_s, uploads=self._uploads)
        )

    def _befall(self) -> None:
        """Let something happen."""
        world, chance, leader = self.world, self._chance, self._leaders[-1]
        faults = world.faults
        if self._ends is None and chance.random() < faults.kill_leader:
            leader.process.is_alive = False
            self._elect()
        elif self._ends is None and chance.random() < faults.depose:
            world.after(chance.choice([0.1, 1, 10]), lambda: setattr(leader.process, "is_alive", False))
            self._elect()
        if chance.random() < faults.give_up and leader.runs:
            leader.give_up(chance.choice(list(leader.runs.values())))
        if chance.random() < faults.request:
            after = chance.choice([None, AfterSavepoint.GO_ON, self._ends])
            leader.ask(after)


def _faults(seed: Seed) -> Faults:
    """Return the faults of a seed: some kinds, more or less often."""
    likely = seed.likely
    return Faults(
        lost=likely(0.1, 0.5),
        doubled=likely(0.1, 0.5),
        delay_s=seed.chance.choice([0.002, 0.02, 0.1]),
        crash=likely(0.002, 0.02),
        upload=likely(0.1),
        give_up=likely(0.01),
        give_up_last=likely(0.5, 1.0),
        kill_leader=likely(0.005),
        depose=likely(0.005),
        request=likely(0.02, 0.2),
    )
