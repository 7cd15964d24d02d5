"""What ended jobs leave in memory is freed, once for several of them."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import resource
import weakref
from pathlib import Path
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


def end_a_job() -> None:
    async def end() -> None:
        JobGarbage().job_status_changed("job", JobEvent(JobStatus.CANCELED, 0))
        await asyncio.sleep(0.1)

    asyncio.run(end())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc returns memory on request")
def test_free_memory_below_used_memory_is_returned_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_garbage, "_PAUSE_S", 0.01)
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    size, count = 2_000, 20_000
    blocks = [library.malloc(ctypes.c_size_t(size)) for _ in range(count)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    last = blocks.pop()
    for block in blocks:
        library.free(block)
    before = resident_bytes()
    end_a_job()
    returned = before - resident_bytes()
    library.free(last)
    assert returned > size * count / 2


def test_a_c_library_that_returns_no_memory_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_garbage, "_PAUSE_S", 0.01)
    asked: list[str | None] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: asked.append(name))
    end_a_job()
    assert asked == [None]
