"""Waits for what other processes and threads do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> Any:
    """Return the value of a condition once it is true.

    Raises:
        AssertionError: it was not in time.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)
    return found


@contextmanager
def repeating(call: Callable[[], object], pause_s: float) -> Iterator[Future[None]]:
    """Call a function repeatedly in a thread; its error ends that, and is raised at the end."""
    stopping = threading.Event()

    def repeat() -> None:
        while not stopping.wait(pause_s):
            call()

    with ThreadPoolExecutor(1) as pool:
        repeated = pool.submit(repeat)
        try:
            yield repeated
        finally:
            stopping.set()
        repeated.result()
