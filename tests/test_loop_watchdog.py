"""Calls that the watchdog considers blocking, and others."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.loop_watchdog import MOST_MS, WAITS, LoopWatchdog

pytestmark = pytest.mark.slow


def computing(ms: float) -> None:
    """Keep the CPU busy, whatever else runs on the machine."""
    end_s = time.thread_time() + ms / 1000
    while time.thread_time() < end_s:
        hashlib.sha256(bytes(1000)).digest()


async def elsewhere(work: Callable[[], object], times: int = 1) -> None:
    """Run work on the loop as code that is not a test's."""
    code = work.__code__.replace(co_filename="/usr/lib/product.py")  # type: ignore[attr-defined]
    disguised = type(work)(code, work.__globals__, work.__name__, None, work.__closure__)  # type: ignore[attr-defined]
    for _ in range(times):
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(disguised)
        asyncio.get_running_loop().call_soon(done.set_result, None)
        await done


def complaints(work: Callable[[], object], times: int = 1) -> list[str]:
    with LoopWatchdog().watching() as watchdog:
        asyncio.run(elsewhere(work, times))
    return watchdog.complaints()


def test_a_blocking_callback_is_reported_at_once() -> None:
    def work() -> None:
        computing(3 * MOST_MS)

    (complaint,) = complaints(work)
    assert "work computed for" in complaint


def test_a_callback_that_blocks_repeatedly_is_reported() -> None:
    def work() -> None:
        time.sleep(3 * MOST_MS / 1000)

    assert complaints(work, WAITS - 1) == []
    (complaint,) = complaints(work, WAITS)
    assert f"work waited {WAITS} times" in complaint


def test_the_work_of_a_thread_does_not_count_for_the_loop() -> None:
    async def main() -> None:
        await asyncio.to_thread(computing, 3 * MOST_MS)

    with LoopWatchdog().watching() as watchdog:
        asyncio.run(main())
    assert watchdog.complaints() == []


def test_garbage_collections_and_first_imports_do_not_count() -> None:
    def work() -> None:
        gc.collect()

    def collected(phase: str, _: object) -> None:
        if phase == "start":
            computing(3 * MOST_MS)

    with LoopWatchdog().watching() as watchdog:
        gc.callbacks.append(collected)  # After the watchdog's, so it is a part of the collection.
        try:
            asyncio.run(elsewhere(work))
        finally:
            gc.callbacks.remove(collected)
    assert watchdog.complaints() == []


@pytest.mark.skipif((os.cpu_count() or 1) > 8, reason="takes two processes for each core")
def test_a_busy_machine_causes_no_complaint() -> None:
    """Other processes take the CPUs away: the loop's thread neither computes nor waits for anything then."""

    def work() -> None:
        computing(MOST_MS / 5)

    busy = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(busy) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        assert complaints(work, 20) == []
    finally:
        for process in others:
            process.kill()
            process.wait()
