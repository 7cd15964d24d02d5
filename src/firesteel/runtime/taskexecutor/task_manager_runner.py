"""A TaskExecutor as a process of its own.

Next to a Spark executor `spark.task_manager_process` runs it.

It is configured by Flink's options: `taskmanager.numberOfTaskSlots`, `taskmanager.resource-id`,
`taskmanager.host`, `taskmanager.log.path`, `high-availability.*` or, without high availability,
`jobmanager.rpc.address` and `.port`. The secret is passed by `FIRESTEEL_RPC_SECRET` or `security.rpc.secret-file`,
never on the command line.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Mapping

from firesteel.common.options.ha_options import HA_TYPE
from firesteel.common.options.rpc_options import JOBMANAGER_RPC_ADDRESS, JOBMANAGER_RPC_PORT, TASKMANAGER_RESOURCE_ID
from firesteel.common.options.slot_options import TASK_SLOTS
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.high_availability import ClientHighAvailabilityServices
from firesteel.runtime.highavailability.leader_directory import StandaloneClientHaServices
from firesteel.runtime.process_usage import usage_of_this_process
from firesteel.runtime.rpc import RpcService, Secret, TcpRpcService
from firesteel.runtime.taskexecutor.log_files import LogFiles
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_runner import TaskRunnerFactory

__all__ = ["TaskManagerRunner"]


class TaskManagerRunner:
    """A process that runs a TaskExecutor over TCP until it is stopped or fails.

    Flink: `taskexecutor.TaskManagerRunner`.

    Args:
        configuration: The cluster's configuration.
        runner_factory: Creates the task runner.
        secret: The secret for RPC and high availability; None uses `cluster_secret`.

    Attributes:
        ended: Done when the process should exit; its result is the error that is the reason, or None.
    """

    def __init__(
        self,
        configuration: Mapping[str, str],
        runner_factory: TaskRunnerFactory,
        secret: Secret | None = None,
    ) -> None:
        self._configuration = configuration
        self._runner_factory = runner_factory
        self._secret = secret
        self._rpc = TcpRpcService.of_task_manager(configuration, secret)
        self.ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start to listen, and to connect to the ResourceManager.

        Raises:
            InvalidOptionError: an option is missing or can't be read.
        """
        await self._rpc.start()
        self._ha = _who_leads(self._configuration, self._rpc, self._secret)
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
        self._task_executor = TaskExecutor(
            self._rpc,
            TASKMANAGER_RESOURCE_ID.of(self._configuration) or name,
            TASK_SLOTS.of(self._configuration),
            self._ha,
            self._runner_factory,
            self._configuration,
            on_fatal_error=self.end,
            logs=LogFiles.of(self._configuration),
            usage=usage_of_this_process,
        )
        await self._task_executor.start()

    def end(self, error: BaseException | None = None) -> None:
        """Request the end of the process."""
        if not self.ended.done():
            self.ended.set_result(error)

    async def stop(self) -> None:
        """Stop the tasks, leave the cluster and close the connections."""
        await self._task_executor.stop()
        await self._ha.close()
        await self._rpc.stop()


def _who_leads(
    configuration: Mapping[str, str], rpc: RpcService, secret: Secret | None
) -> ClientHighAvailabilityServices:
    if HA_TYPE.of(configuration) != "NONE":
        return ha_services(configuration, secret)
    host = JOBMANAGER_RPC_ADDRESS.required(configuration)
    port = JOBMANAGER_RPC_PORT.of(configuration)
    return StandaloneClientHaServices(rpc, f"tcp://{host}:{port}")
