"""A JobManager in the test's loop, and TaskExecutors in processes of their own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.highavailability.leader_directory import LeaderDirectory
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import TcpRpcService
from tests.runtime.leaders import leader_gateway
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


async def task_manager(
    job_manager: JobManager, secret: str | None = SECRET, **options: str
) -> asyncio.subprocess.Process:
    host, port = job_manager.rpc.address.removeprefix("tcp://").split(":")
    configuration: Mapping[str, str] = {
        **CLUSTER,
        "jobmanager.rpc.address": host,
        "jobmanager.rpc.port": port,
        "taskmanager.numberOfTaskSlots": "2",
        **{name.replace("_", "-"): value for name, value in options.items()},
    }
    settings = [text for key, value in configuration.items() for text in ("-D", f"{key}={value}")]
    module = "tests.runtime.taskexecutor.task_manager_main"
    environment = {key: value for key, value in os.environ.items() if key != "FIRESTEEL_RPC_SECRET"}
    environment |= {} if secret is None else {"FIRESTEEL_RPC_SECRET": secret}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *settings, env=environment, stderr=asyncio.subprocess.PIPE
    )
