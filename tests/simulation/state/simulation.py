"""One seed: the job runs with failures of slots and of the job, savepoints and rescales, while clocks are set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from firesteel.operators.chain.clock import SteadyClock, use_time_source
from firesteel.testing.local_job import Fault, _LocalJob
from tests.simulation.core.seed import Seed, merging_early, simulation
from tests.simulation.state import job as simulated

MOST_BATCHES = 1_500
HOUR_MS = 3_600_000


@simulation
def simulate(seed: Seed) -> None:
    """A job, one batch after the other."""
    try:
        with (
            seed.directory() as directory,
            merging_early(25),
            mock.patch("firesteel.operators.state.timer_queue._SLACK", 4),  # Rebuild queues after a few deletions.
            mock.patch("firesteel.operators.state.timers_on_disk._FEWEST", 3),
        ):
            _Run(seed, directory).run()
    finally:
        use_time_source(None)


class _Clocks:
    """The wall clock, which is set now and then, and elapsed time."""

    def __init__(self) -> None:
        self.step_ms = self.suspended_ms = 0

    def wall_ns(self) -> int:
        return self.steady_ns() + (self.step_ms + 10 * HOUR_MS) * 1_000_000

    def steady_ns(self) -> int:
        return (simulated.WORLD.now_ms + self.suspended_ms) * 1_000_000


class _Run:
    def __init__(self, seed: Seed, directory: Path) -> None:
        self._seed = seed
        seed.most_steps = MOST_BATCHES
        seed.now = lambda: f"{simulated.WORLD.now_ms} ms:"
        self._chance = seed.chance
        self._directory = directory
        self._clocks = _Clocks()
        self._lines: list[str] = []
        self._jobs = 0
        self._wall_of_job_ms = 0
        self._follows_step = False
        self._options = {
            "state.backend.type": self._chance.choice(["hashmap", "hashmap", "rocksdb"]),
            "state.backend.rocksdb.memory.fixed-per-slot": "2kb",
            "execution.state-recovery.path": "",
        }
        simulated.WORLD = simulated.make_world(self._chance)

    def run(self) -> None:
        """Run jobs one after the other, each from the last one's savepoint or checkpoints, until the input ends."""
        checkpoint, savepoint = self._new_directory(), None
        while checkpoint is not None:
            checkpoint, savepoint = self._run_job(checkpoint, savepoint)
        for text in self._wrong_lines():
            self._seed.violated(text)

    def _new_directory(self) -> Path:
        self._jobs += 1
        return self._directory / f"job-{self._jobs}"

    def _run_job(self, checkpoint: Path, savepoint: Path | None) -> tuple[Path | None, Path | None]:
        """Run a job until it ends or is killed; return where the next one starts, or None at the end."""
        chance = self._chance
        options = {k: v for k, v in self._options.items() if v} | (
            {} if savepoint is None else {"execution.state-recovery.path": str(savepoint)}
        )
        is_new = not checkpoint.exists()
        self._parallelism = chance.choice([1, 2, 3]) if is_new else self._parallelism
        checkpoint.mkdir(exist_ok=True)
        self._maybe_set_the_clock(0.2)
        # A job follows the wall clock when it starts, and so do its timers, as in Flink.
        self._follows_step |= self._clocks.step_ms != self._wall_of_job_ms
        self._wall_of_job_ms = self._clocks.step_ms
        clock = SteadyClock(self._clocks.wall_ns, self._clocks.steady_ns)
        use_time_source(lambda: clock.now_ms() * 1_000_000)
        graph = simulated.job_graph(self._parallelism, options)
        self._seed.log(f"job {self._jobs} starts with parallelism {self._parallelism}, from {savepoint or checkpoint}")
        with closing(_LocalJob(graph, checkpoint, (), chance.choice([1, 3, 20, 1_000]))) as job:
            job.recover()
            ends_after = chance.choice([10, 60, 200, MOST_BATCHES])
            for number in range(ends_after):
                if job.has_ended:
                    self._take_lines(job)
                    return None, None
                self._run_batch(job, number)
                self._take_lines(job)
            if chance.random() < 0.5:
                self._seed.log("the job is killed")
                return checkpoint, savepoint if is_new and ends_after == 0 else None
            job.take_savepoint(self._directory / "savepoints")
            self._take_lines(job)
            self._seed.log("the job is stopped with a savepoint")
            return self._new_directory(), job.result.savepoint

    def _run_batch(self, job: Any, number: int) -> None:
        chance = self._chance
        self._seed.step()
        self._maybe_set_the_clock(0.01)
        if chance.random() < 0.05:
            at = job._regions[0].checkpoints.next_batch().batch_id
            fault = Fault(at, chance.choice([0, 1]), chance.randrange(self._parallelism), chance.randrange(3))
            job._faults[fault.batch, fault.stage, fault.slot] = fault.after_rows
            self._seed.log(f"a slot dies: {fault}")
        job.run_next_batch([number] if chance.random() < 0.02 else ())
        takes_ms = chance.choice([5, 5, 20, 50]) if chance.random() < 0.97 else chance.choice([5_000, 30_000])
        self._pass(takes_ms)
        waits_ms = chance.choice([0, 10, 50, 200])
        paused_ms = 10_000 if chance.random() < 0.01 else 0
        self._pass(waits_ms + paused_ms)
        suspended_ms = chance.choice([0] * 50 + [20_000])
        if suspended_ms:
            self._seed.log("the machine, and all that sends to it, is suspended")
            self._clocks.suspended_ms += suspended_ms
        for region in job._regions:
            region.enumerator.batch_took((takes_ms + suspended_ms) / 1000, takes_ms / 1000)
            region.enumerator.waited((waits_ms + paused_ms) / 1000, at_most_s=waits_ms / 1000)

    def _maybe_set_the_clock(self, likely: float) -> None:
        if self._chance.random() < likely:
            step_ms = self._chance.choice([-HOUR_MS, HOUR_MS, -5_000])
            self._clocks.step_ms += step_ms
            self._seed.log(f"the wall clock is set by {step_ms} ms")

    def _pass(self, milliseconds: int) -> None:
        simulated.WORLD.now_ms += milliseconds

    def _take_lines(self, job: Any) -> None:
        self._lines += job.result.lines
        job.result.lines.clear()

    def _wrong_lines(self) -> Iterator[str]:
        """Yield the lines that must not be there, and those that are missing."""
        # Subtasks are numbered only if there are several.
        found = Counter(re.sub(r"^(\w)(:\d)?> ", r"\1> ", line) for line in self._lines)
        wanted = simulated.expected(simulated.WORLD)
        if self._follows_step:
            found, wanted = (
                Counter({t: n for t, n in lines.items() if " timer " not in t}) for lines in (found, wanted)
            )
        yield from (f"unexpected: {line}" for line in sorted(found - wanted))
        yield from (f"missing: {line}" for line in sorted(wanted - found))
