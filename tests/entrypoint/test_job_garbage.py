"""What ended jobs leave in memory is collected, once for several of them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from firesteel.entrypoint import job_garbage
from firesteel.entrypoint.job_garbage import JobGarbage
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.job_status import JobStatus


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_after_jobs_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_garbage, "_PAUSE_S", 0.01)
    collected: list[Any] = []
    collect = gc.collect
    monkeypatch.setattr(gc, "collect", lambda: collected.append(collect()))
    garbage = JobGarbage()
    gone = weakref.ref(Cycle())

    async def end(statuses: list[JobStatus]) -> None:
        for number, status in enumerate(statuses):
            garbage.job_status_changed(f"job {number}", JobEvent(status, 0))
        await asyncio.sleep(0.1)

    gc.disable()
    try:
        asyncio.run(end([JobStatus.RUNNING, JobStatus.FAILING]))
        assert gone() is not None
        asyncio.run(end([JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED]))
        assert gone() is None
        assert len(collected) == 1
    finally:
        gc.enable()
