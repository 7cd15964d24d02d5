"""Finds callbacks that keep an event loop from doing anything else for more than 50 ms.

A noisy machine must not fail a test, so each kind of blocking is measured by what other processes can't add to:

- computing, by the CPU time of the loop's thread, without garbage collections and first imports;
- waiting for a disk or a lock, by the time in which the thread neither ran nor waited for a CPU. Threads that hold the
  interpreter's lock add to that, so only callbacks that waited several times in a test count.

Callbacks of the tests themselves do not count: they set up and compare what they like.
"""

from __future__ import annotations

import asyncio
import builtins
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MOST_MS = 50
WAITS = 3
"""So often a callback waits too long before it counts."""

_TESTS = str(Path(__file__).parent)
_PYTEST = ("pytest_asyncio", "_pytest", "pluggy", "asyncio/runners.py")


class LoopWatchdog:
    """Measures the callbacks of all event loops, as long as it is `watching`.

    Attributes:
        computed_ms: CPU time of the longest run of each callback that took more than it may.
    """

    def __init__(self, most_ms: float = MOST_MS) -> None:
        self._most_ms = most_ms
        self._thread = threading.local()
        self.computed_ms: dict[str, float] = {}
        self._waited_ms: dict[str, list[float]] = {}

    def complaints(self) -> list[str]:
        """Return a description of the findings."""
        computed = [f"{name} computed for {ms:.0f} ms" for name, ms in self.computed_ms.items()]
        waited = [
            f"{name} waited {len(times)} times, for {max(times):.0f} ms at most"
            for name, times in self._waited_ms.items()
            if len(times) >= WAITS
        ]
        return computed + waited

    @contextmanager
    def watching(self) -> Iterator[LoopWatchdog]:
        """Measure callbacks until the end of the block."""
        run, imports = asyncio.Handle._run, builtins.__import__  # type: ignore[attr-defined]

        def measured(handle: Any) -> None:
            self._measure(run, handle)

        def excused(name: str, *arguments: Any, **named: Any) -> Any:
            if name in sys.modules:
                return imports(name, *arguments, **named)
            with self._excuse():
                return imports(name, *arguments, **named)

        asyncio.Handle._run = measured  # type: ignore[attr-defined]
        builtins.__import__ = excused
        gc.callbacks.append(self._collected)
        try:
            yield self
        finally:
            gc.callbacks.remove(self._collected)
            builtins.__import__ = imports
            asyncio.Handle._run = run  # type: ignore[attr-defined]

    def _measure(self, run: Any, handle: Any) -> None:
        # Libraries of remote file systems have a loop in a thread of their own, on which no other code waits.
        name = None if threading.current_thread().name == "fsspecIO" else _name_of(handle._callback)
        before_ms, self._thread.excused_ms = _Times(), 0.0
        run(handle)
        spent = _Times().since(before_ms)
        computed_ms = spent.computed_ms - self._thread.excused_ms
        if name is None:
            return
        if computed_ms > self._most_ms:
            self.computed_ms[name] = max(computed_ms, self.computed_ms.get(name, 0))
        elif spent.waited_ms > self._most_ms:
            self._waited_ms.setdefault(name, []).append(spent.waited_ms)

    @contextmanager
    def _excuse(self) -> Iterator[None]:
        """Exclude the time spent in the block, including nested blocks."""
        before_ms, excused_ms = time.thread_time() * 1000, getattr(self._thread, "excused_ms", 0.0)
        try:
            yield
        finally:
            self._thread.excused_ms = excused_ms + time.thread_time() * 1000 - before_ms

    def _collected(self, phase: str, _: object) -> None:
        now_ms = time.thread_time() * 1000
        if phase == "start":
            self._thread.collection_ms = now_ms
        else:
            spent_ms = now_ms - getattr(self._thread, "collection_ms", now_ms)
            self._thread.excused_ms = getattr(self._thread, "excused_ms", 0.0) + spent_ms


class _Times:
    """The clocks of the current thread."""

    __slots__ = ("_delay_ms", "_wall_ms", "computed_ms", "waited_ms")

    def __init__(self) -> None:
        self.computed_ms = time.thread_time() * 1000
        self._delay_ms = _delay.ms()
        self._wall_ms = time.monotonic() * 1000
        self.waited_ms = 0.0

    def since(self, before: _Times) -> _Times:
        self.computed_ms -= before.computed_ms
        self.waited_ms = self._wall_ms - before._wall_ms - self.computed_ms - (self._delay_ms - before._delay_ms)
        return self


class _Delay(threading.local):
    """How long a thread was ready to run and had no CPU: Linux counts it."""

    def __init__(self) -> None:
        self._descriptor = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def __del__(self) -> None:
        os.close(self._descriptor)

    def ms(self) -> float:
        return int(os.pread(self._descriptor, 100, 0).split()[1]) / 1e6


_delay = _Delay()


def _name_of(callback: Any) -> str | None:
    """Return the callable, or the coroutine of a task; None if it belongs to the test."""
    task = getattr(callback, "__self__", None)
    called = task.get_coro() if isinstance(task, asyncio.Task) else getattr(callback, "func", callback)
    code = getattr(called, "cr_code", None) or getattr(called, "gi_code", None) or getattr(called, "__code__", None)
    path = "" if code is None else code.co_filename
    if path.startswith(_TESTS) or any(part in path for part in _PYTEST):
        return None
    return str(getattr(called, "__qualname__", None) or repr(called))
