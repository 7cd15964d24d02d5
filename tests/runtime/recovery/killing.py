"""Kills a JobManager process again and again while clients submit jobs, and checks that none is lost or run twice.

`python -m tests.runtime.recovery.killing filesystem 200` writes the figures to benchmarks/results.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway, DuplicateJobSubmissionError
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, JOBS
from firesteel.runtime.rpc import TcpRpcService
from tests.objects.server import Bucket, Fault, S3Server
from tests.runtime.helpers import job_graph
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer
from tests.runtime.leaders import leader_gateway

CLIENTS = 4
MAX_LIFE_S = {"filesystem": 0.8, "zookeeper": 1.6, "object store": 5.0}
GIVE_UP_S = 120
OPTIONS = {
    "jobmanager.rpc.port": "0",
    "pekko.ask.timeout": "2 s",
    "job-result-store.delete-on-commit": "false",
    "cluster.registration.error-delay": "20 ms",
    "cluster.registration.refused-registration-delay": "20 ms",
}


@dataclass
class Figures:
    """What happened."""

    kind: str
    kills: int = 0
    kills_before_ready: int = 0
    acknowledged: set[str] = field(default_factory=set)
    unfinished_at_kill: int = 0
    ready_s: list[float] = field(default_factory=list)
    starts: Counter[str] = field(default_factory=Counter)
    lost: set[str] = field(default_factory=set)
    run_again: set[str] = field(default_factory=set)
    seconds: float = 0

    def __str__(self) -> str:
        ready = [1000 * seconds for seconds in self.ready_s] or [0]
        again = sum(count > 1 for count in self.starts.values())
        return (
            f"| {self.kind} | {self.kills} | {self.kills_before_ready} | {len(self.acknowledged)} | {again} | "
            f"{self.unfinished_at_kill / max(1, self.kills):.1f} | {len(self.lost)} | {len(self.run_again)} | "
            f"{statistics.median(ready):.0f} | {max(ready):.0f} | {self.seconds:.0f} |"
        )


class Killing:
    """One series of kills.

    Args:
        configuration: The kind of high availability.
        directory: For the notes.
        seed: Of the moments of the kills.
    """

    def __init__(self, configuration: Mapping[str, str], directory: Path, seed: int) -> None:
        self._configuration = {**configuration, **OPTIONS}
        self._notes = directory / "starts"
        self._notes.touch()
        self._random = random.Random(seed)
        self._finished: set[str] = set()
        self._over_by_run: list[set[str]] = []
        is_remote = "://" in configuration["high-availability.storageDir"]
        self.figures = Figures("object store" if is_remote else configuration["high-availability.type"])

    async def run(self, kills: int) -> Figures:
        """Kill that often, then let the last process end all jobs."""
        begin_s = time.monotonic()
        self._rpc = TcpRpcService(os.environ["FIRESTEEL_RPC_SECRET"].encode(), timeout_s=2)
        await self._rpc.start()
        self._ha = ha_services(self._configuration)
        clients = [asyncio.ensure_future(self._submit(number)) for number in range(CLIENTS)]
        try:
            for run in range(kills):
                await self._live_and_die(run)
            for client in clients:
                client.cancel()
            await asyncio.wait(clients)
            await self._live_to_the_end(kills)
        finally:
            for client in clients:
                client.cancel()
            await self._ha.close()
            await self._rpc.stop()
        self.figures.seconds = time.monotonic() - begin_s
        return self.figures

    async def _process(self, run: int) -> asyncio.subprocess.Process:
        module = "tests.runtime.recovery.job_manager_process"
        arguments = (json.dumps(self._configuration), str(run), str(self._notes))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"started\n"
        return process

    async def _live_and_die(self, run: int) -> None:
        process, begin_s = await self._process(run), time.monotonic()
        assert process.stdout is not None
        life = asyncio.ensure_future(asyncio.sleep(self._random.uniform(0, MAX_LIFE_S[self.figures.kind])))
        ready = asyncio.ensure_future(process.stdout.readline())
        await asyncio.wait([life, ready], return_when=asyncio.FIRST_COMPLETED)
        if ready.done() and ready.result() == b"ready\n":
            self.figures.ready_s.append(time.monotonic() - begin_s)
        else:
            self.figures.kills_before_ready += 1
        await life
        assert process.returncode is None, "the JobManager ended by itself; look at its errors"
        process.kill()
        await process.wait()
        await ready
        self.figures.kills += 1
        acknowledged = set(self.figures.acknowledged)
        self._over_by_run.append(await self._over())
        self.figures.unfinished_at_kill += len(acknowledged - self._over_by_run[-1])

    async def _live_to_the_end(self, run: int) -> None:
        process, deadline_s = await self._process(run), time.monotonic() + GIVE_UP_S
        while (missing := self.figures.acknowledged - await self._over()) and time.monotonic() < deadline_s:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await self._check(missing)
        process.kill()
        await process.communicate()

    async def _check(self, missing: set[str]) -> None:
        storage = self._ha.stores(None).job_results._storage  # type: ignore[attr-defined]
        self.figures.lost = missing
        for job_id in self.figures.acknowledged - missing:
            # In this order: meanwhile a result may go from the dirty ones to the clean ones.
            result = await storage.read(DIRTY_RESULTS, job_id) or await storage.read(CLEAN_RESULTS, job_id)
            assert result.status is JobStatus.FINISHED, result
        for line in self._notes.read_text().splitlines():
            run, job_id = line.split()
            self.figures.starts[job_id] += 1
            if int(run) > 0 and job_id in self._over_by_run[int(run) - 1]:
                self.figures.run_again.add(job_id)

    async def _over(self) -> set[str]:
        """The jobs that have a result."""
        return await self._stored(DIRTY_RESULTS, CLEAN_RESULTS)

    async def _stored(self, *folders: str) -> set[str]:
        storage = self._ha.stores(None).job_results._storage  # type: ignore[attr-defined]
        return {name for folder in folders for name in await storage.names(folder)}

    async def _submit(self, client: int) -> None:
        """Submit one job after the other, each until it is acknowledged."""
        number = 0
        while True:
            number += 1
            job = job_graph(("a", 1, []), name=f"job {client}-{number}")
            while job.job_id not in self.figures.acknowledged:
                try:
                    async with asyncio.timeout(5):
                        if await self._is_taken(job):
                            self.figures.acknowledged.add(job.job_id)
                except (FiresteelError, TimeoutError):
                    await asyncio.sleep(0.02)
            await asyncio.sleep(self._random.uniform(0, 0.05))

    async def _is_taken(self, job: JobGraph) -> bool:
        retrieval = self._ha.leader_retrieval(DISPATCHER)
        gateway: DispatcherGateway = await leader_gateway(self._rpc, retrieval, DispatcherGateway)
        try:
            await gateway.submit_job(job)
        except DuplicateJobSubmissionError:
            # An earlier try arrived, its answer did not; it may still fail, or be killed before the job is stored.
            # In this order: meanwhile the job may end.
            return job.job_id in await self._stored(JOBS, DIRTY_RESULTS, CLEAN_RESULTS)
        return True


def filesystem(directory: Path) -> dict[str, str]:
    return {"high-availability.type": "filesystem", "high-availability.storageDir": str(directory)}


def zookeeper(address: str, directory: Path) -> dict[str, str]:
    return {
        "high-availability.type": "zookeeper",
        "high-availability.storageDir": str(directory),
        "high-availability.cluster-id": f"recovery-{os.urandom(8).hex()}",
        "high-availability.zookeeper.quorum": address,
        "high-availability.zookeeper.client.session-timeout": "400 ms",
        "high-availability.zookeeper.client.retry-wait": "100 ms",
    }


def object_store(bucket: Bucket) -> dict[str, str]:
    return bucket.options | {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": bucket.uri("ha"),
        "high-availability.object-store.lease-duration": "1 s",
        "high-availability.object-store.retry-period": "100 ms",
    }


def at_times(chances: random.Random) -> Fault:
    """Refuse some requests, and lose some answers."""
    return lambda *asked: chances.choice(["refused", "lost", *[None] * 38])


HEAD = """# Recovery

A JobManager process (Dispatcher, ResourceManager, JobMasters, a TaskExecutor with simulated tasks; no Spark) is killed
by `kill -9` at a random moment up to {life} s after its start, and started again, while {clients} clients submit jobs
that take up to 100 ms. ZooKeeper's session timeout is 400 ms, the lease in the object store 1 s; the store (moto's S3)
refuses one request in 40 and loses one answer in 40. Lost: acknowledged, but without a result in the end. Run
again: started after its result was written down. `make recovery` runs it; the seed was {seed}.

{date}, {cores} cores, {machine}. Python {python}.

| {columns} |
|---|{lines}|
"""
COLUMNS = (
    "kind",
    "kills",
    "of these before it led",
    "jobs acknowledged",
    "jobs begun more than once",
    "open jobs at a kill (mean)",
    "lost",
    "run again",
    "ms from start to leader, median",
    "max",
    "seconds",
)


def measure(kind: str, kills: int, seed: int, directory: Path) -> Figures:
    """The figures of one kind."""
    directory.mkdir()
    if kind == "filesystem":
        return asyncio.run(Killing(filesystem(directory), directory, seed).run(kills))
    if kind == "object store":
        with S3Server().running() as store, store.failing(at_times(random.Random(seed))):
            return asyncio.run(Killing(object_store(store.bucket()), directory, seed).run(kills))
    server = ZooKeeperServer(directory / "server")
    server.start()
    try:
        return asyncio.run(Killing(zookeeper(server.address, directory), directory, seed).run(kills))
    finally:
        server.kill()


def report(figures: Sequence[Figures], seed: int) -> str:
    """The figures as a page."""
    head = HEAD.format(
        life=" or ".join(f"{life_s:g} ({kind})" for kind, life_s in MAX_LIFE_S.items()),
        clients=CLIENTS,
        seed=seed,
        date=time.strftime("%Y-%m-%d"),
        cores=os.cpu_count(),
        machine=f"{os.uname().sysname} {os.uname().machine}",
        python=sys.version.split()[0],
        columns=" | ".join(COLUMNS),
        lines="|".join(["--:"] * (len(COLUMNS) - 1)),
    )
    return head + "".join(f"{line}\n" for line in figures)


def main(kinds: Mapping[str, int]) -> int:
    """Write the figures of the kinds; not 0 if anything was lost or run again."""
    os.environ.setdefault("FIRESTEEL_RPC_SECRET", os.urandom(16).hex())
    seed, found = random.randrange(2**32), []
    with tempfile.TemporaryDirectory() as directory:
        for kind, kills in kinds.items():
            found.append(measure(kind, kills, seed, Path(directory) / kind))
            print(found[-1], flush=True)
    (Path("benchmarks/results") / f"{time.strftime('%Y-%m-%d')}_recovery.md").write_text(report(found, seed))
    return int(any(figures.lost or figures.run_again for figures in found))


if __name__ == "__main__":
    sys.exit(main(dict(zip(sys.argv[1::2], map(int, sys.argv[2::2]), strict=True))))
