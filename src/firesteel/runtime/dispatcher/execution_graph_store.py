"""Ended jobs, kept for queries."""

from __future__ import annotations

import logging
import pickle
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.common.options.rest_options import (
    JOB_STORE_CACHE_SIZE,
    JOB_STORE_EXPIRATION_TIME,
    JOB_STORE_MAX_CAPACITY,
    JOB_STORE_TYPE,
)
from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails
from firesteel.runtime.thread_pools import ARCHIVE

__all__ = ["ExecutionGraphStore"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

_MANY_SUBTASKS, _MANY_BYTES = 1000, 1 << 20


@dataclass(slots=True)
class _Entry:
    """An ended job: its overview, and the whole job as bytes, in memory or in a file."""

    expires_s: float
    overview: JobDetails
    content: bytes | Path


class ExecutionGraphStore:
    """A bounded store of ended jobs that evicts the oldest. Flink: `dispatcher.FileExecutionGraphInfoStore`.

    Jobs are serialized, in memory up to `jobstore.cache-size`; the oldest ones are moved to temporary files.

    Args:
        clock: The clock for expiration.
        configuration: Has `jobstore.type` (File; Memory: no files), `.max-capacity`, `.expiration-time`, `.cache-size`;
            `web.history` is an older name of the capacity.

    Raises:
        InvalidOptionError: an option can't be read.
    """

    def __init__(self, clock: Clock, configuration: Mapping[str, str]) -> None:
        self._clock = clock
        self._capacity = JOB_STORE_MAX_CAPACITY.of(configuration)
        self._expiration_time_s = JOB_STORE_EXPIRATION_TIME.of(configuration)
        self._max_cached_bytes: float = JOB_STORE_CACHE_SIZE.of(configuration)
        if JOB_STORE_TYPE.of(configuration) == "Memory":
            self._max_cached_bytes = float("inf")
        self._jobs: OrderedDict[str, _Entry] = OrderedDict()
        self._cached: OrderedDict[str, int] = OrderedDict()
        self._cached_bytes = 0
        self._temporary = temporary_directory(configuration)
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    async def put(self, job: ArchivedExecutionGraph) -> None:
        """Store an ended job."""
        job_id = job.details.job_id
        subtasks = sum(len(vertex["subtasks"]) for vertex in job.graph.get("vertices", ()))
        content = await _in_thread_if(subtasks > _MANY_SUBTASKS, pickle.dumps, job, pickle.HIGHEST_PROTOCOL)
        self._forget(job_id)
        expires_s = self._clock.monotonic_s() + self._expiration_time_s
        self._jobs[job_id] = _Entry(expires_s, job.details.overview(), content)
        self._cached[job_id] = len(content)
        self._cached_bytes += len(content)
        self._make_room()
        await self._write_files()

    async def get(self, job_id: str) -> ArchivedExecutionGraph | None:
        """Return the job, or None if it was never stored or was evicted."""
        self._make_room()
        if job_id not in self._jobs:
            return None
        content = self._jobs[job_id].content
        if isinstance(content, bytes):
            return await _in_thread_if(len(content) > _MANY_BYTES, _job_in, content)
        try:
            return await ARCHIVE.run(_job_at, content)
        except FileNotFoundError:  # The job was evicted in the meantime.
            return None

    def overview(self, job_id: str) -> JobDetails | None:
        """Return the overview of a job without its vertices, or None as in `get`."""
        self._make_room()
        return self._jobs[job_id].overview if job_id in self._jobs else None

    def job_ids(self) -> tuple[str, ...]:
        """Return the ids of all stored jobs, oldest first."""
        self._make_room()
        return tuple(self._jobs)

    def close(self) -> None:
        """Remove all jobs."""
        self._jobs.clear()
        self._cached.clear()
        self._cached_bytes = 0
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

    def _make_room(self) -> None:
        now_s = self._clock.monotonic_s()
        while self._jobs:
            job_id, oldest = next(iter(self._jobs.items()))
            if oldest.expires_s > now_s and len(self._jobs) <= self._capacity:
                return
            self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        entry = self._jobs.pop(job_id, None)
        self._cached_bytes -= self._cached.pop(job_id, 0)
        if entry is not None and isinstance(entry.content, Path):
            entry.content.unlink(missing_ok=True)

    async def _write_files(self) -> None:
        while self._cached_bytes > self._max_cached_bytes:
            job_id, size = self._cached.popitem(last=False)
            self._cached_bytes -= size
            entry = self._jobs[job_id]
            assert isinstance(entry.content, bytes)
            try:
                path = await self._write_file(job_id, entry.content)
            except OSError as error:
                logger.warning("job %s stays in memory, its file could not be written: %s", job_id, error)
                if self._jobs.get(job_id) is entry:
                    self._cached[job_id] = size
                    self._cached_bytes += size
                return
            if self._jobs.get(job_id) is entry:
                entry.content = path
            else:
                path.unlink(missing_ok=True)

    async def _write_file(self, job_id: str, content: bytes) -> Path:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="firesteel-jobs-", dir=made_directory(self._temporary))
        path = Path(self._directory.name) / job_id
        try:
            await ARCHIVE.run(path.write_bytes, content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path


def _job_in(content: bytes) -> ArchivedExecutionGraph:
    job: ArchivedExecutionGraph = pickle.loads(content)
    return job


def _job_at(path: Path) -> ArchivedExecutionGraph:
    return _job_in(path.read_bytes())


async def _in_thread_if(is_large: bool, work: Callable[..., T], *arguments: object) -> T:
    """Run large work in a thread and small work directly, as a thread would cost more."""
    return await ARCHIVE.run(work, *arguments) if is_large else work(*arguments)
