"""A JobManager process without Spark: its jobs have one task and take some milliseconds.

Run as a program with a configuration (JSON), the number of this run and the file in which each start of a job is noted.
Says "started" before it touches anything, and "ready" when its Dispatcher leads.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import Mapping

from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.dispatcher.dispatcher_runner import dispatcher_runner
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.high_availability import DISPATCHER
from firesteel.runtime.jobmaster.data_plane import DataPlane, DataPlaneListener, QueryDescriptor
from firesteel.runtime.resourcemanager.resource_manager_runner import resource_manager_runner
from firesteel.runtime.rpc import RpcConnectionError, TcpRpcService
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from tests.runtime.leaders import leader_gateway
from tests.runtime.simulated import SimulatedQuery, SimulatedTaskRunner

SLOTS = 16
MAX_QUERY_S = 0.1


class BriefDataPlane(DataPlane):
    """Notes each start of a job, and ends it after some milliseconds."""

    has_queries = True

    def __init__(self, run: str, notes: str) -> None:
        self._run = run
        self._notes = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> SimulatedQuery:
        os.write(self._notes, f"{self._run} {query.job_graph.job_id}\n".encode())
        running = SimulatedQuery(query, listener)
        duration_s = random.uniform(0, MAX_QUERY_S)
        asyncio.get_running_loop().call_later(
            duration_s, lambda: None if running.is_stopped else listener.query_finished()
        )
        return running


def die(error: BaseException) -> None:
    print(f"fatal: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def main(configuration: Mapping[str, str], run: str, notes: str) -> None:
    rpc = TcpRpcService.of_job_manager(configuration)
    await rpc.start()
    ha = ha_services(configuration)
    await resource_manager_runner(rpc, ha, configuration, on_fatal_error=die).start()
    await dispatcher_runner(rpc, ha, BriefDataPlane(run, notes), configuration, die).start()
    await TaskExecutor(rpc, f"local-{run}", SLOTS, ha, SimulatedTaskRunner, configuration).start()
    while True:
        try:
            await leader_gateway(rpc, ha.leader_retrieval(DISPATCHER), DispatcherGateway)
            break
        except RpcConnectionError:  # The killed leader is still published.
            await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    print("started", flush=True)
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]))
