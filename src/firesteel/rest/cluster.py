"""The cluster as seen by the handlers: gateways, options, and cached jobs."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from firesteel.common.files.remote_path import AnyPath
from firesteel.common.histogram import Histogram
from firesteel.common.options.rest_options import JOB_STORE_MAX_CAPACITY
from firesteel.rest.flame_graphs import FlameGraphs
from firesteel.rest.rest_errors import RestError
from firesteel.rest.samples import Samples
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway, JobNotFoundError
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway

_ID = re.compile(r"[0-9a-fA-F]{32}")
_REFRESH_S = 3.0
"""Flink: `web.refresh-interval`."""


class Cluster:
    """The cluster as seen by the handlers.

    Args:
        dispatcher: Returns the gateway of the leading Dispatcher.
        resource_manager: Returns the gateway of the leading ResourceManager.
        configuration: Configuration of the cluster.
        log_directory: Directory of the process's logs; None if it logs to its terminal only.
        shut_down: Shuts down the serving process soon.
        dispose_savepoint: Disposes of the savepoint in a directory.

    Attributes:
        flame_graphs: The last flame graphs.
        latencies: How long answers have taken, by method and path of the route.
    """

    def __init__(
        self,
        dispatcher: Callable[[], Awaitable[DispatcherGateway]],
        resource_manager: Callable[[], Awaitable[ResourceManagerGateway]],
        configuration: Mapping[str, str],
        log_directory: Path | None = None,
        shut_down: Callable[[], None] = lambda: None,
        dispose_savepoint: Callable[[AnyPath], None] = lambda path: None,
    ) -> None:
        self.dispatcher = dispatcher
        self.resource_manager = resource_manager
        self.configuration = configuration
        self.log_directory = log_directory
        self.shut_down = shut_down
        self.dispose_savepoint = dispose_savepoint
        self.started_ms = now_ms()
        self.samples = Samples(dispatcher, now_ms, JOB_STORE_MAX_CAPACITY.of(configuration))
        self.flame_graphs = FlameGraphs(resource_manager, configuration, now_ms)
        self._jobs: dict[str, tuple[float, ArchivedExecutionGraph]] = {}
        self.latencies: Mapping[tuple[str, str], Histogram] = {}

    async def job(self, job_id: str, fresh: bool = False) -> ArchivedExecutionGraph:
        """Return a job; it may be up to three seconds old unless `fresh` is set.

        Raises:
            RestError: there is no such job (404), or the id is not a job id (400).
        """
        checked = job_id_of(job_id)
        known = self._jobs.get(checked)
        now_s = time.monotonic()
        if known is not None and not fresh and now_s - known[0] < _REFRESH_S:
            return known[1]
        try:
            job = await (await self.dispatcher()).request_job(checked)
        except JobNotFoundError:
            raise RestError(404, f"Job {checked} not found") from None
        # With each new entry, so that jobs nobody asks about any more are not kept: one may be megabytes.
        self._jobs = {id: entry for id, entry in self._jobs.items() if now_s - entry[0] < _REFRESH_S}
        self._jobs[checked] = now_s, job
        return job


def job_id_of(text: str) -> str:
    """Return a job id in lower case.

    Raises:
        RestError: the text is not a job id (400).
    """
    if not _ID.fullmatch(text):
        raise RestError(400, f"Bad request, could not parse parameters: job id {text!r} is not 32 hexadecimal digits")
    return text.lower()


def now_ms() -> int:
    """Return the current time in ms since the epoch."""
    return time.time_ns() // 1_000_000
