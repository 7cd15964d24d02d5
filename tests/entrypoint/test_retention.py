"""What a process keeps of jobs that are over, counted by type: it must not grow with their number."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firesteel.common import Configuration, Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.entrypoint.cluster_entrypoint import ClusterEntrypoint

pytestmark = pytest.mark.spark

FIRST, JOBS = 20, 25
"""Jobs before the first count, which fill bounded histories and caches, and jobs between the counts."""

KEPT_JOBS = 5
WAIT_S = 60


def objects() -> Counter[str]:
    """Count all objects except those in caches of bounded size; an unbounded cache counts, as it is a leak."""
    for cached in [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]:
        if cached.cache_parameters()["maxsize"] is not None:
            cached.cache_clear()
    gc.collect()
    return Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())


def wait_until_nothing_has_grown(before: Counter[str]) -> None:
    """Fail if an object of some type more is kept for each job, even after the timers of the last jobs."""
    deadline = time.monotonic() + WAIT_S
    while grown := {kind: more for kind, more in (objects() - before).items() if more >= JOBS}:
        assert time.monotonic() < deadline, f"kept of {JOBS} jobs: {grown}"
        threading.Event().wait(0.5)


@contextmanager
def session_cluster(**options: str) -> Iterator[str]:
    """A JobManager on its own event loop in this process; yields its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> tuple[ClusterEntrypoint, str]:
        cluster = ClusterEntrypoint({"rest.port": "0", **options})
        await cluster.start()
        return cluster, await cluster.serve_rest()

    try:
        cluster, address = asyncio.run_coroutine_threadsafe(start(), loop).result()
        yield address.removeprefix("http://")
        asyncio.run_coroutine_threadsafe(cluster.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def run_jobs(run: Callable[[StreamExecutionEnvironment], None], **options: str) -> None:
    """Count after some jobs, and again after more of them."""
    before: Counter[str] = Counter()
    for number in range(FIRST + JOBS):
        if number == FIRST:
            before = objects()
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
        env.set_parallelism(1)
        run(env)
    wait_until_nothing_has_grown(before)


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_local_jobs_leave_no_objects(mode: RuntimeExecutionMode) -> None:
    def run(env: StreamExecutionEnvironment) -> None:
        env.set_runtime_mode(mode)
        numbers = env.from_collection([1, 2, 3], Types.LONG())
        with numbers.map(lambda number: number + 1, Types.LONG()).execute_and_collect() as results:
            assert sorted(results) == [2, 3, 4]

    run_jobs(run)


def test_a_session_cluster_keeps_a_bounded_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_RUN_DIR", str(tmp_path))

    def run(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([1, 2, 3], Types.LONG())
        numbers.map(lambda number: number + 1, Types.LONG()).print()
        env.execute("job")

    with session_cluster(**{"jobstore.max-capacity": str(KEPT_JOBS)}) as address:
        run_jobs(run, **{"execution.target": "remote", "rest.address": address})
