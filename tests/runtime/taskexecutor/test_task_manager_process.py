"""A TaskExecutor as a process of its own, over TCP, with simulated tasks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.leader_directory import LeaderDirectory
from firesteel.runtime.highavailability.leader_gateway import leader_gateway
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import TcpRpcService
from tests.runtime.helpers import job_graph
from tests.runtime.simulated import SimulatedDataPlane

SECRET = "sixteen bytes or more"
CLUSTER = {
    "heartbeat.interval": "50 ms",
    "heartbeat.timeout": "1 s",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "10 ms",
    "restart-strategy.fixed-delay.attempts": "100",
    "cluster.registration.error-delay": "100 ms",
    "cluster.registration.refused-registration-delay": "100 ms",
}


class JobManager:
    """Dispatcher and ResourceManager in the test's loop, reached over TCP."""

    def __init__(self) -> None:
        self.rpc = TcpRpcService(SECRET.encode())
        self.data_plane = SimulatedDataPlane()
        self.ha = EmbeddedHaServices()
        self.gateway: DispatcherGateway

    async def start(self) -> None:
        await self.rpc.start()
        await LeaderDirectory(self.rpc, self.ha).start()
        self.resource_manager = resource_manager_runner(self.rpc, self.ha, CLUSTER)
        self.dispatcher = dispatcher_runner(self.rpc, self.ha, self.data_plane, CLUSTER)
        await self.resource_manager.start()
        await self.dispatcher.start()
        self.gateway = await leader_gateway(self.rpc, self.ha.leader_retrieval(DISPATCHER), DispatcherGateway)

    async def task_managers(self, count: int) -> None:
        """Return once that many are registered."""
        while (await self.gateway.request_overview()).task_managers != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def queries(self, count: int) -> None:
        """Return once that many have been started: each when all tasks of the job run."""
        while len(self.data_plane.queries) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        await self.dispatcher.close()
        await self.resource_manager.close()
        await self.rpc.stop()


@pytest.fixture
async def job_manager() -> AsyncIterator[JobManager]:
    job_manager = JobManager()
    await job_manager.start()
    yield job_manager
    await job_manager.stop()


@pytest.fixture
async def processes() -> AsyncIterator[list[asyncio.subprocess.Process]]:
    processes: list[asyncio.subprocess.Process] = []
    yield processes
    for process in processes:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def task_manager(
    job_manager: JobManager, secret: str | None = SECRET, **options: str
) -> asyncio.subprocess.Process:
    host, port = job_manager.rpc.address.removeprefix("tcp://").split(":")
    configuration: Mapping[str, str] = {
        **CLUSTER,
        "jobmanager.rpc.address": host,
        "jobmanager.rpc.port": port,
        "taskmanager.task-runner": "tests.runtime.simulated:SimulatedTaskRunner",
        "taskmanager.numberOfTaskSlots": "2",
        **{name.replace("_", "-"): value for name, value in options.items()},
    }
    settings = [text for key, value in configuration.items() for text in ("-D", f"{key}={value}")]
    module = "firesteel.runtime.taskexecutor.task_manager_runner"
    environment = {key: value for key, value in os.environ.items() if key != "FIRESTEEL_RPC_SECRET"}
    environment |= {} if secret is None else {"FIRESTEEL_RPC_SECRET": secret}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *settings, env=environment, stderr=asyncio.subprocess.PIPE
    )


async def test_a_killed_task_manager_is_noticed_and_its_job_goes_on_at_another(
    job_manager: JobManager, processes: list[asyncio.subprocess.Process]
) -> None:
    processes.append(await task_manager(job_manager))
    async with asyncio.timeout(15):
        await job_manager.task_managers(1)
        job = job_graph(("a", 2, []))
        await job_manager.gateway.submit_job(job)
        await job_manager.queries(1)
        assert (await job_manager.gateway.request_overview()).slots_available == 0
        assert SECRET not in Path(f"/proc/{processes[0].pid}/cmdline").read_text()  # noqa: ASYNC240
        processes[0].kill()
        await job_manager.task_managers(0)
        processes.append(await task_manager(job_manager))
        await job_manager.queries(2)
        assert job_manager.data_plane.queries[0].is_stopped
        job_manager.data_plane.queries[-1].listener.query_finished()
        result = await job_manager.gateway.request_job_result(job.job_id)
    assert result.status is JobStatus.FINISHED
    assert (await job_manager.gateway.request_job_details(job.job_id)).restarts >= 1


async def test_a_terminated_task_manager_takes_leave(
    job_manager: JobManager, processes: list[asyncio.subprocess.Process]
) -> None:
    processes.append(await task_manager(job_manager))
    async with asyncio.timeout(15):
        await job_manager.task_managers(1)
        processes[0].send_signal(signal.SIGTERM)
        assert await processes[0].wait() == 0
        await job_manager.task_managers(0)


@pytest.mark.parametrize(
    ("secret", "options", "code", "text"),
    [
        (None, {}, 2, "processes need a common secret of at least 16 bytes"),
        (SECRET, {"taskmanager.task-runner": "nowhere:Nothing"}, 2, "'nowhere:Nothing' is no module:factory"),
        ("another secret, as long", {"taskmanager.registration.timeout": "300 ms"}, 1, "could not register"),
    ],
)
async def test_a_task_manager_that_cannot_work_says_why_and_ends(  # F10
    job_manager: JobManager,
    processes: list[asyncio.subprocess.Process],
    secret: str | None,
    options: dict[str, str],
    code: int,
    text: str,
) -> None:
    processes.append(await task_manager(job_manager, secret, **options))
    _, errors = await asyncio.wait_for(processes[0].communicate(), 60)
    assert text in errors.decode()
    assert processes[0].returncode == code
