"""One seed: the checkpoints of a job, whose messages are late, lost and doubled and whose runs and leaders fail."""

from __future__ import annotations

import random

from firesteel.common.options.checkpointing_options import (
    CHECKPOINTING_MAX_CONCURRENT,
    CHECKPOINTING_MIN_PAUSE,
    CHECKPOINTING_TIMEOUT,
    CHECKPOINTING_TOLERABLE_FAILURES,
)
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from tests.simulation.checkpoints.leader import Leader
from tests.simulation.checkpoints.world import Faults, ViolationError, World
from tests.simulation.seeds import Outcome, maybe

MOST_STEPS = 20_000
QUIET_AFTER_S = 20.0
"""Time after which nothing goes wrong any more, so that the job comes to its end."""


def simulate(seed: int) -> Outcome:
    """Run one seed; the same seed takes the same way."""
    run = _Run(seed)
    violations: tuple[str, ...] = ()
    try:
        run.run()
    except ViolationError as violation:
        violations = (str(violation),)
    except Exception as error:  # The protocol itself must not fail.
        violations = (f"{type(error).__name__}: {error}",)
    return Outcome(seed, violations, tuple(run.world.story), run.world.steps)


class _Run:
    def __init__(self, seed: int) -> None:
        self._chance = chance = random.Random(seed)
        lengths = tuple(chance.choice([0, 5, 20, 60]) for _ in range(chance.choice([1, 2, 2, 3])))
        self.world = World(chance, _faults(chance), lengths, retained=chance.choice([1, 1, 3]))
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

    def run(self) -> None:
        """Run until the job is over."""
        self._elect()
        self._befall()
        while not self.world.is_over:
            self.world.check_newest()
            if not self.world.step() or self.world.steps > MOST_STEPS:
                raise ViolationError(f"the job does not end within {self.world.steps} steps")
        for leader in self._leaders:
            leader.stop()
        while self.world.step():  # Requests that are under way are refused.
            pass
        self.world.check_end()

    def _elect(self) -> None:
        self.world.leaders += 1
        self._leaders.append(
            Leader(self.world, len(self._leaders), self._options, self._interval_s, uploads=self._uploads)
        )

    def _befall(self) -> None:
        """Let something happen, and again in a moment."""
        world, chance, leader = self.world, self._chance, self._leaders[-1]
        if world.is_over:
            return
        if world.now_s > QUIET_AFTER_S:
            world.faults = Faults()
            for former in self._leaders[:-1]:
                former.is_alive = False
            return
        faults = world.faults
        if self._ends is None and chance.random() < faults.kill_leader:
            leader.is_alive = False
            self._elect()
        elif self._ends is None and chance.random() < faults.depose:
            world.after(chance.choice([0.1, 1, 10]), lambda: setattr(leader, "is_alive", False))
            self._elect()
        if chance.random() < faults.give_up and leader.runs:
            leader.give_up(chance.choice(list(leader.runs.values())))
        if chance.random() < faults.request:
            after = chance.choice([None, AfterSavepoint.GO_ON, self._ends])
            leader.ask(after)
        world.after(0.1, self._befall)


def _faults(chance: random.Random) -> Faults:
    """Return the faults of a seed: some kinds, more or less often."""

    likely = maybe(chance)
    return Faults(
        lost=likely(0.1, 0.5),
        doubled=likely(0.1, 0.5),
        delay_s=chance.choice([0.002, 0.02, 0.1]),
        crash=likely(0.002, 0.02),
        upload=likely(0.1),
        give_up=likely(0.01),
        kill_leader=likely(0.005),
        depose=likely(0.005),
        request=likely(0.02, 0.2),
    )
