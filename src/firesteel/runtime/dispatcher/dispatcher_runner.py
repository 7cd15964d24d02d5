"""Runs a Dispatcher while this process leads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher import Archivist, Dispatcher
from firesteel.runtime.highavailability.high_availability import DISPATCHER, HaStores, HighAvailabilityServices
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from firesteel.runtime.jobmaster.data_plane import DataPlane
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.logs import about
from firesteel.runtime.rpc import RpcService

__all__ = ["dispatcher_runner"]

logger = logging.getLogger(__name__)


def dispatcher_runner(
    rpc_service: RpcService,
    ha: HighAvailabilityServices,
    data_plane: DataPlane,
    configuration: Mapping[str, str] | None = None,
    on_fatal_error: Callable[[BaseException], object] = lambda _: None,
    listeners: Sequence[JobStatusListener] = (),
    archivist: Archivist | None = None,
) -> LeaderRunner:
    """Return the contender for the Dispatcher's leadership; a new leader recovers all jobs before it serves calls.

    Flink: `runtime.dispatcher.runner.DefaultDispatcherRunner` with `SessionDispatcherLeaderProcess`.
    """

    async def create(session_id: str) -> Dispatcher:
        stores = ha.stores(session_id)
        stores.job_graphs.start()
        dirty_results = await stores.job_results.dirty_results()
        # By name, since an unreadable result, too, says that its job must not run again.
        over = await stores.job_results.dirty_job_ids()
        stored = [job_id for job_id in await stores.job_graphs.job_ids() if job_id not in over]
        recovered = await asyncio.gather(*(_recover(stores, job_id) for job_id in stored))
        return Dispatcher(
            rpc_service,
            session_id,
            ha,
            stores,
            data_plane,
            configuration,
            [job_graph for job_graph in recovered if job_graph is not None],
            dirty_results,
            on_fatal_error,
            listeners,
            archivist,
        )

    async def _recover(stores: HaStores, job_id: str) -> JobGraph | None:
        try:
            return await stores.job_graphs.recover(job_id)
        except CorruptEntryError as error:  # The job stays stored so that it can be repaired; the other jobs run.
            logger.error("job %s can't be recovered: %s", job_id, error, extra=about(job_id))
            return None

    return LeaderRunner(ha.leader_election(DISPATCHER), create, on_fatal_error)
