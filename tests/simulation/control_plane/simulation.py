"""The simulation of one seed: a cluster, its jobs and faults, until the end of the last job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from firesteel.graph.job_graph import JobGraph
from tests.runtime.helpers import Input, job_graph
from tests.simulation.control_plane.cluster import JobManagerProcess, SimulatedCluster, TaskExecutorProcess
from tests.simulation.control_plane.invariants import check_always, check_ended, check_nothing_left, waiting_work
from tests.simulation.control_plane.network import Network, NetworkWeather
from tests.simulation.core.seed import Seed, simulation
from tests.simulation.core.virtual_time import run_in_virtual_time

MOST_STEPS = 100_000
FAULTS_S = 60.0
PATIENCE_S = 900.0
SETTLED_S = 40.0


@simulation
def simulate(seed: Seed) -> None:
    """A cluster, its jobs and faults."""
    seed.most_steps = MOST_STEPS
    run_in_virtual_time(seed, _Run(seed).run())


def _frames(awaited: Any) -> list[str]:
    """Return the pending waits."""
    names = []
    while awaited is not None:
        awaited = getattr(awaited, "coroutine", awaited)
        names.append(getattr(awaited, "__qualname__", repr(awaited)[:80]))
        awaited = getattr(awaited, "cr_await", None)
    return names


class _Run:
    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        self.chance = chance = seed.chance
        self.weather = NetworkWeather(
            delay_s=chance.choice([0.001, 0.02, 0.2]),
            reorders=chance.random() < 0.3,
            serializes=chance.random() < 0.1,
        )
        self.rough = replace(
            self.weather, lost=chance.choice([0, 0, 0.02, 0.1]), doubled=chance.choice([0, 0, 0.02, 0.1])
        )
        self.faults = [
            fault for fault in (self._kill, self._kill_at_step, self._cut, self._depose) if chance.random() < 0.5
        ]

    async def run(self) -> None:
        chance = self.chance
        network = Network(chance, self.weather)
        self.cluster = cluster = SimulatedCluster(self.seed, network, self._configuration())
        cluster.check = lambda: check_always(cluster)
        for number in range(chance.choice([1, 2, 3])):
            cluster.job_managers.append(JobManagerProcess(cluster, f"jm{number}"))
        sizes = [
            chance.randint(1, 3) for _ in range(chance.choice([1, 2, 3, 4, 8] if chance.random() < 0.995 else [200]))
        ]
        for number, slots in enumerate(sizes):
            cluster.task_executors.append(TaskExecutorProcess(cluster, f"tm{number}", slots))
        for one in [*cluster.job_managers, *cluster.task_executors]:
            one.start()
        watch = asyncio.ensure_future(self._watch())
        await asyncio.sleep(5)
        self.quiet = waiting_work(cluster)
        self._submit_jobs(sum(sizes))
        await self._rage()
        await self._calm_down()
        watch.cancel()

    def _configuration(self) -> dict[str, str]:
        return {
            "restart-strategy.type": self.chance.choice(["fixed-delay", "exponential-delay"]),
            # Jobs that wait for one another's slots give up in the end: Flink knows no other way out either.
            "restart-strategy.fixed-delay.attempts": "10",
            "restart-strategy.fixed-delay.delay": "1 s",
            "restart-strategy.exponential-delay.attempts-before-reset-backoff": "10",
            "restart-strategy.exponential-delay.max-backoff": "10 s",
            "jobmanager.execution.failover-strategy": self.chance.choice(["region", "full"]),
        }

    async def _watch(self) -> None:
        """Let the records flow, and check what must always hold."""
        while not self.seed.violations:
            check_always(self.cluster)
            self.cluster.tick(0.1)
            await asyncio.sleep(0.1)

    # --- what the cluster has to do ----------------------------------------------------------------------------------

    def _submit_jobs(self, slots: int) -> None:
        for index in range(self.chance.choice([1, 2, 3, 5, 8])):
            make_job = self._make_job(index, slots)
            cancelled = self.chance.random() * 20 if self.chance.random() < 0.15 else None
            delay_s = self.chance.random() * FAULTS_S / 2
            asyncio.get_running_loop().call_later(delay_s, self.cluster.client.submit, make_job, cancelled)

    def _make_job(self, index: int, slots: int) -> Callable[[], JobGraph]:
        """Return a job that a cluster with this number of slots can run."""
        widest = min(slots, self.chance.choice([1, 2, 4, 16]))
        vertices: list[tuple[str, int, list[Input]]] = []
        for number in range(self.chance.choice([1, 2, 3])):
            inputs = []
            if number and self.chance.random() < 0.8:
                pattern = self.chance.choice(["ALL_TO_ALL", "POINTWISE"])
                inputs = [(vertices[self.chance.randrange(number)][0], pattern, "PIPELINED_BOUNDED")]
            vertices.append((f"v{number}", self.chance.randint(1, widest), inputs))
        name = f"job{self.seed.number}-{index}"
        return lambda: job_graph(*vertices, name=name)

    # --- what befalls it ---------------------------------------------------------------------------------------------

    async def _rage(self) -> None:
        """Faults of the kinds that this seed has, for a while."""
        loop = asyncio.get_running_loop()
        self.cluster.network.weather = self.rough
        self.cluster.task_failures = self.chance.choice([0, 0, 0.002])
        end_s = loop.time() + FAULTS_S
        while loop.time() < end_s:
            await asyncio.sleep(self.chance.expovariate(1 / 5))
            if self.faults:
                self.chance.choice(self.faults)()

    def _victims(self) -> list[JobManagerProcess | TaskExecutorProcess]:
        everyone = [*self.cluster.job_managers, *self.cluster.task_executors]
        return [one for one in everyone if one.process.is_alive]

    def _kill(self) -> None:
        victims = self._victims()
        if victims:
            self.cluster.crash(self.chance.choice(victims))

    def _kill_at_step(self) -> None:
        self.cluster.kill_at_step = self.seed.steps + self.chance.randint(1, 300)

    def _cut(self) -> None:
        processes = [one.process for one in self._victims()] + [self.cluster.client.process]
        if len(processes) < 2:
            return
        pair = frozenset(self.chance.sample(processes, 2))
        self.seed.log(f"cut: {sorted(process.name for process in pair)}")
        self.cluster.network.cut.add(pair)
        heals_s = self.chance.choice([1, 8, 15, 40])
        asyncio.get_running_loop().call_later(heals_s, self.cluster.network.cut.discard, pair)

    def _depose(self) -> None:
        self.cluster.depose()

    # --- how it ends -------------------------------------------------------------------------------------------------

    def _tell_tasks(self, name: str) -> None:
        process = next(
            one.process for one in self.cluster.job_managers + self.cluster.task_executors if one.name == name
        )
        for task in process.tasks:
            self.seed.log(f"{name} waits in {' > '.join(_frames(task.get_coro()))}")

    async def _calm_down(self) -> None:
        """No more faults: all jobs end, then nothing of them is left."""
        cluster, loop = self.cluster, asyncio.get_running_loop()
        self.seed.log("calm")
        cluster.network.weather = self.weather
        cluster.network.cut.clear()
        cluster.kill_at_step = -1
        cluster.task_failures = 0.0
        end_s = loop.time() + PATIENCE_S
        while loop.time() < end_s and not self.seed.violations:
            await asyncio.sleep(5)
            if not cluster.client.process.tasks and not check_ended(cluster):
                break
        for text in check_ended(cluster):
            self.seed.violated(text)
        if cluster.client.process.tasks:
            self.seed.violated("a submission is still not acknowledged")
        await asyncio.sleep(SETTLED_S)
        if not self.seed.violations:
            check_nothing_left(cluster)
        for name, (tasks, timers) in waiting_work(cluster).items():
            # Any JobManager may lead now; heartbeats are under way at times.
            quiet = [one for other, one in self.quiet.items() if other[:2] == name[:2]]
            if tasks > max(one[0] for one in quiet) + 10 or timers > max(one[1] for one in quiet) + 15:
                self.seed.violated(
                    f"{name} has {tasks} tasks and {timers} timers left; before any job there were {quiet}"
                )
                self._tell_tasks(name)
