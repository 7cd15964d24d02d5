"""Threads for blocking work, one pool per purpose, so that work of one kind cannot hold up another.

asyncio's own pool has as many threads as fit the number of cores, for everything. A few requests that blocked in it
stopped high availability, and so the cluster.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, ParamSpec, TypeVar

from firesteel.errors import FiresteelError

__all__ = [
    "ARCHIVE",
    "DISPOSALS",
    "HIGH_AVAILABILITY",
    "JOBS",
    "MESSAGES",
    "METRICS",
    "REQUESTED_FILES",
    "RESULTS",
    "SPARK",
    "SUBMISSIONS",
    "DeadlineError",
    "ThreadPool",
]

P = ParamSpec("P")
T = TypeVar("T")


class DeadlineError(FiresteelError, TimeoutError):
    """Blocking work took too long; the arguments are its purpose and the limit in seconds."""

    def __str__(self) -> str:
        return f"{self.args[0]} took more than {self.args[1]:g} s: the file system, or another service, does not answer"


class ThreadPool:
    """The threads of one purpose.

    Args:
        purpose: What they do, for names of threads and messages.
        threads: Maximum number of threads.
        deadline_s: Time after which callers stop waiting, as a thread cannot be interrupted; None for no limit.

    Example:
        >>> asyncio.run(ThreadPool("an example", 1).run(sum, [1, 2]))
        3
    """

    def __init__(self, purpose: str, threads: int, deadline_s: float | None = None) -> None:
        self.purpose = purpose
        self._threads = threads
        self._deadline_s = deadline_s

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """The threads, which are started when they are needed."""
        return ThreadPoolExecutor(self._threads, self.purpose.replace(" ", "-"))

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work in a thread of the pool and return its result.

        Raises:
            DeadlineError: it took too long, including the time to wait for a thread.
        """
        loop = asyncio.get_running_loop()
        call: partial[Any] = partial(contextvars.copy_context().run, work, *args, **kwargs)
        try:
            running: asyncio.Future[T] = loop.run_in_executor(self.executor, call)
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
            # Python is ending. It has ended the threads of all pools before what is registered with `atexit`, such as
            # the end of a program's jobs.
            return work(*args, **kwargs)
        if self._deadline_s is None:
            return await running
        try:
            return await asyncio.wait_for(running, self._deadline_s)
        except TimeoutError:
            if running.done() and not running.cancelled():
                raise  # The work itself raised it.
            raise DeadlineError(self.purpose, self._deadline_s) from None


HIGH_AVAILABILITY = ThreadPool("high availability", 8)
JOBS = ThreadPool("starting and ending jobs", 8)
ARCHIVE = ThreadPool("the archive of jobs", 2)
METRICS = ThreadPool("reporting metrics", 4, 60)
MESSAGES = ThreadPool("large messages", 2)
RESULTS = ThreadPool("collected results", 4)
SPARK = ThreadPool("Spark's executors", 4)
DISPOSALS = ThreadPool("removing a savepoint", 2, 600)
SUBMISSIONS = ThreadPool("reading a submitted job", 4, 300)
REQUESTED_FILES = ThreadPool("reading requested files", 4, 60)
"""Files that callers name, and logs."""
