"""The cluster of a single job, asked and closed by several threads at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.entrypoint import mini_cluster
from firesteel.entrypoint.mini_cluster import MiniCluster
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError

_PATIENCE_S = 10


class _Dispatcher:
    async def submit_job(self, job_graph: object) -> None:
        pass

    async def status(self) -> str:
        return "RUNNING"

    async def result(self) -> None:
        await asyncio.get_running_loop().create_future()


class _Leader:
    async def get(self) -> _Dispatcher:
        return _Dispatcher()


class _Entrypoint:
    """A cluster without parts, which stops once it is allowed to."""

    may_stop = threading.Event()

    def __init__(self, configuration: dict[str, str], listeners: Sequence[object]) -> None:
        self.dispatcher = _Leader()

    async def start(self) -> None:
        pass

    def report_metrics(self) -> None:
        pass

    async def stop(self) -> None:
        await asyncio.to_thread(self.may_stop.wait, _PATIENCE_S)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MiniCluster:
    monkeypatch.setattr(mini_cluster, "ClusterEntrypoint", _Entrypoint)
    monkeypatch.setattr(_Entrypoint, "may_stop", threading.Event())
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    cluster = MiniCluster(env.get_stream_graph().get_job_graph())
    cluster.start()
    return cluster


def _ask(cluster: MiniCluster, method: str) -> Future[Any]:
    call: Callable[[Any], Any] = lambda dispatcher: getattr(dispatcher, method)()  # noqa: E731
    return cluster.ask(call)


def test_threads_that_close_a_cluster_wait_for_each_other(cluster: MiniCluster) -> None:
    with ThreadPoolExecutor() as threads:
        closed = [threads.submit(cluster.close) for _ in range(4)]
        _Entrypoint.may_stop.set()
        assert [each.result(_PATIENCE_S) for each in closed] == [None] * 4
    cluster.close()


def test_questions_are_answered_until_the_cluster_is_closed_and_refused_then(cluster: MiniCluster) -> None:
    with ThreadPoolExecutor() as threads:
        pending, closed = _ask(cluster, "result"), threads.submit(cluster.close)
        assert _ask(cluster, "status").result(_PATIENCE_S) == "RUNNING"
        _Entrypoint.may_stop.set()
        with pytest.raises(JobNotFoundError):
            pending.result(_PATIENCE_S)
        closed.result(_PATIENCE_S)
    with pytest.raises(JobNotFoundError):
        _ask(cluster, "status")


def test_no_question_is_left_without_an_answer(cluster: MiniCluster) -> None:
    begun, over = threading.Event(), threading.Event()

    def ask_on() -> None:
        while not over.is_set():
            try:
                _ask(cluster, "status").result(_PATIENCE_S)
            except JobNotFoundError:
                return
            begun.set()

    with ThreadPoolExecutor() as threads:
        asking = [threads.submit(ask_on) for _ in range(4)]
        assert begun.wait(_PATIENCE_S)
        _Entrypoint.may_stop.set()
        cluster.close()
        assert [each.result(_PATIENCE_S) for each in asking] == [None] * 4
        over.set()


def test_a_question_that_its_asker_cancels_is_cancelled(cluster: MiniCluster) -> None:
    pending = _ask(cluster, "result")
    assert pending.cancel()
    _Entrypoint.may_stop.set()
    cluster.close()
    assert pending.cancelled()
