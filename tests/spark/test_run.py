"""The thread of a run, without Spark."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import QueryDescriptor
from firesteel.spark.collect_buffers import CollectBuffers
from firesteel.spark.printed_texts import PrintedTexts
from firesteel.spark.run import Run
from tests.runtime.helpers import job_graph


class Context:
    """A SparkContext that runs nothing."""

    def setJobGroup(self, *_: object, **__: object) -> None: ...

    def setLocalProperty(self, *_: object) -> None: ...

    def cancelJobGroup(self, _: str) -> None: ...


class Listener:
    def __init__(self) -> None:
        self.failed: asyncio.Future[TaskFailure] = asyncio.get_running_loop().create_future()

    def query_failed(self, failure: TaskFailure) -> None:
        self.failed.set_result(failure)


class CommittingRun(Run):
    """A run whose only work is to call user code."""

    user_code: Callable[[], Any]

    def _execute(self) -> None:
        self.user_code()


def started(user_code: Callable[[], Any], directory: Path, **options: str) -> tuple[CommittingRun, Listener]:
    job = job_graph(("a", 1, []), configuration=options)
    listener: Any = Listener()
    query = QueryDescriptor(job.job_id, job, region=0, attempt=1, slots=1, subtasks=())
    run = CommittingRun(query, options, listener, Context, CollectBuffers(), PrintedTexts(), directory, 0)
    run.user_code = user_code
    run.begin()
    return run, listener


def leave_the_process() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("user_code", "message", "line"),
    [
        (leave_the_process, "SystemExit(3) ended the thread", "in leave_the_process: sys.exit(3)"),
        (interrupt, "KeyboardInterrupt() ended the thread", "in interrupt: raise KeyboardInterrupt"),
    ],
)
async def test_user_code_that_ends_the_thread_fails_the_job(
    user_code: Callable[[], Any], message: str, line: str, tmp_path: Path
) -> None:
    failure = await asyncio.wait_for(started(user_code, tmp_path)[1].failed, 10)
    assert failure.message.startswith(message)
    assert failure.user_location is not None
    assert failure.user_location.endswith(line)


async def test_a_commit_that_never_returns_does_not_keep_the_job_from_ending(tmp_path: Path) -> None:
    is_committing, may_return = threading.Event(), threading.Event()

    def commit() -> None:
        is_committing.set()
        may_return.wait()

    run, listener = started(commit, tmp_path, **{"task.cancellation.timeout": "10 ms"})
    await asyncio.to_thread(is_committing.wait)
    await asyncio.wait_for(run.stop(), 10)
    assert run.is_running
    may_return.set()
    await asyncio.to_thread(run._thread.join)
    assert not listener.failed.done()


class AskingRun(Run):
    """A run that waits for an external system, from which it wants to know what there is to read."""

    answers: threading.Event

    def _prepare(self) -> None:
        with self._asking():
            self.answers.wait()

    def _execute(self) -> None: ...


@pytest.mark.parametrize("is_final", [True, False])
async def test_the_end_of_a_job_does_not_wait_for_a_system_that_does_not_answer(is_final: bool, tmp_path: Path) -> None:
    job = job_graph(("a", 1, []))
    listener: Any = Listener()
    query = QueryDescriptor(job.job_id, job, region=0, attempt=1, slots=1, subtasks=())
    run = AskingRun(query, {}, listener, Context, CollectBuffers(), PrintedTexts(), tmp_path, 0)
    run.answers = threading.Event()
    run.begin()
    stopping = asyncio.ensure_future(run.stop(is_final))
    if is_final:
        await stopping
        assert run.is_running
    else:  # Another run of the job follows, which asks the same system.
        await asyncio.wait([stopping], timeout=1.5)
        assert not stopping.done()
    run.answers.set()
    await stopping
    await asyncio.to_thread(run._thread.join)
    assert not listener.failed.done()
