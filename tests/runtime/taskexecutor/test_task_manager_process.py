"""A TaskExecutor as a process of its own, over TCP, with simulated tasks."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firesteel.runtime.executiongraph.job_status import JobStatus
from tests.runtime.helpers import job_graph
from tests.runtime.taskexecutor.processes import SECRET, JobManager, task_manager

pytestmark = pytest.mark.slow


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


async def test_a_killed_task_manager_is_detected_and_its_job_continues_on_another(
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


async def test_a_terminated_task_manager_unregisters(
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
        (SECRET, {"taskmanager.numberOfTaskSlots": "many"}, 2, "taskmanager.numberOfTaskSlots"),
        ("another secret, as long", {"taskmanager.registration.timeout": "300 ms"}, 1, "could not register"),
    ],
)
async def test_a_task_manager_that_cannot_start_reports_the_reason_and_exits(  # F10
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
