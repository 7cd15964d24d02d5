"""Samples of running jobs over the last hour, from which the dashboard draws charts."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isnan, nan
from struct import Struct

from firesteel.errors import FiresteelError
from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.executiongraph.batch_times import NO_BATCHES, PARTS, BatchTimes
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.runtime.process_usage import usage_of_this_process
from firesteel.runtime.thread_pools import REQUESTED_FILES

__all__ = ["INTERVAL_S", "Sample", "Samples"]

logger = logging.getLogger(__name__)

INTERVAL_S = 5.0
_KEPT = 720  # an hour
_MOST_ENDED = 50
_NUMBERS = Struct(f"{9 + len(PARTS)}d")
"""A sample as it is kept: objects would take five times as much memory, 40 MB for 70 jobs."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A job at one moment.

    Attributes:
        time_ms: The time in ms since the epoch.
        read: Records that its sources have emitted to other vertices.
        written: Records that its last vertices have read.
        restarts: How often it has restarted.
        checkpoint_ms: Duration of its last checkpoint in ms; None if it has taken none.
        memory: Resident bytes of the JobManager and its descendants.
        pending_records: Records that its sources have not read; None if none of them counts records.
        pending_bytes: The same in bytes.
        batches: Its batches so far, and where their time went.
    """

    time_ms: int
    read: int
    written: int
    restarts: int
    checkpoint_ms: int | None
    memory: int
    pending_records: int | None = None
    pending_bytes: int | None = None
    batches: BatchTimes = NO_BATCHES


class Samples:
    """The samples of the last jobs.

    Args:
        dispatcher: Returns the gateway of the leading Dispatcher.
        now_ms: Returns the time in ms since the epoch.
        ended: How many ended jobs are kept, at most 50.
    """

    def __init__(
        self,
        dispatcher: Callable[[], Awaitable[DispatcherGateway]],
        now_ms: Callable[[], int],
        ended: int = _MOST_ENDED,
    ) -> None:
        self._dispatcher = dispatcher
        self._now_ms = now_ms
        self._most_ended = min(ended, _MOST_ENDED)
        self._jobs: OrderedDict[str, deque[bytes]] = OrderedDict()

    def of(self, job_id: str) -> list[Sample]:
        """Return the samples of a job, oldest first."""
        return list(map(_unpacked, self._jobs.get(job_id, ())))

    async def run(self) -> None:
        """Take samples until cancelled."""
        while True:
            try:
                await self.take()
            except Exception as error:  # A leader is elected, or does not answer: later samples may succeed.
                logger.debug("no samples of jobs were taken: %s", error)
            await asyncio.sleep(INTERVAL_S)

    async def take(self) -> None:
        """Take a sample of each running job."""
        dispatcher = await self._dispatcher()
        running = [job for job in (await dispatcher.request_overview()).jobs if not job.status.is_globally_terminal]
        while len(self._jobs) > self._most_ended + len(running):  # Running ones are at the end.
            self._jobs.popitem(last=False)
        if not running:
            return
        usage = await REQUESTED_FILES.run(usage_of_this_process)
        for job in running:
            with suppress(FiresteelError):  # It has just ended.
                self._add(await dispatcher.request_job_details(job.job_id), usage.used_memory)

    def _add(self, job: JobDetails, memory: int) -> None:
        samples = self._jobs.setdefault(job.job_id, deque(maxlen=_KEPT))
        self._jobs.move_to_end(job.job_id)
        latest = job.checkpoints.latest
        sample = Sample(
            self._now_ms(),
            sum(vertex.records_out for vertex in job.vertices if vertex.records_in == 0),
            sum(vertex.records_in for vertex in job.vertices if vertex.records_out == 0),
            job.restarts,
            None if latest is None else latest.duration_ms,
            memory,
            _total(vertex.pending_records for vertex in job.vertices),
            _total(vertex.pending_bytes for vertex in job.vertices),
            job.batches,
        )
        samples.append(_packed(sample))


def _packed(sample: Sample) -> bytes:
    seconds = (sample.batches.seconds.get(part, 0.0) for part in PARTS)
    counts = [sample.time_ms, sample.read, sample.written, sample.restarts, sample.memory, sample.batches.batches]
    unknown = [sample.checkpoint_ms, sample.pending_records, sample.pending_bytes]
    return _NUMBERS.pack(*counts, *(nan if count is None else count for count in unknown), *seconds)


def _unpacked(data: bytes) -> Sample:
    time_ms, read, written, restarts, memory, batches, *others = _NUMBERS.unpack(data)
    checkpoint_ms, records, size = (None if isnan(count) else int(count) for count in others[:3])
    seconds = dict(zip(PARTS, others[3:], strict=True))
    counts = int(time_ms), int(read), int(written), int(restarts)
    return Sample(*counts, checkpoint_ms, int(memory), records, size, BatchTimes(int(batches), seconds))


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
