"""Servers of slot processes are kept for the next TaskExecutor, and tell of processes that end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.spark import slot_processes, slot_servers
from firesteel.spark.slot_servers import SlotServer, leave_slot_server, take_slot_server
from tests.waiting import wait_for


@pytest.fixture
def server() -> Iterator[SlotServer]:
    server = take_slot_server()
    yield server
    leave_slot_server(server)


def test_a_server_that_is_left_is_taken_again(server: SlotServer) -> None:
    other = take_slot_server()
    assert other is not server
    leave_slot_server(other)
    assert take_slot_server() is other
    assert other.is_alive
    other.end()
    assert not other.is_alive


def test_only_one_server_is_kept(server: SlotServer) -> None:
    first, second = take_slot_server(), take_slot_server()
    leave_slot_server(first)
    leave_slot_server(second)
    second._process.wait(10)
    assert first.is_alive


def test_a_killed_server_is_not_taken(server: SlotServer) -> None:
    other = take_slot_server()
    os.kill(other._process.pid, signal.SIGKILL)
    other._process.wait()
    leave_slot_server(other)
    new = take_slot_server()
    assert new is not other
    assert new.is_alive
    new.end()


def test_variables_that_change_with_each_test_or_by_pyspark_do_not_matter(
    server: SlotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = take_slot_server()
    leave_slot_server(other)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "test_x.py::test_x (call)")
    monkeypatch.setenv("SPARK_AUTH_SOCKET_TIMEOUT", "15")
    assert take_slot_server() is other
    other.end()


def test_other_variables_and_another_directory_need_another_server(
    server: SlotServer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for change in (lambda: monkeypatch.setenv("FOR_SLOTS", "1"), lambda: monkeypatch.chdir(str(tmp_path))):
        other = take_slot_server()
        leave_slot_server(other)
        change()
        new = take_slot_server()
        assert new is not other
        other._process.wait(10)
        leave_slot_server(new)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the environment of a process cannot be read")
def test_slots_keep_freed_memory_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TOP_PAD_", "1000")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    server = SlotServer()
    environment = Path(f"/proc/{server._process.pid}/environ")
    found = wait_for(environment.read_bytes).split(b"\0")  # It is empty while the program is being loaded.
    server.end()
    for variable in (b"MALLOC_TOP_PAD_=1000", b"MALLOC_TRIM_THRESHOLD_=67108864", b"ARROW_DEFAULT_MEMORY_POOL=system"):
        assert variable in found


def test_no_server_outlives_its_process() -> None:
    program = """
from firesteel.spark.slot_servers import leave_slot_server, take_slot_server
server = take_slot_server()
leave_slot_server(server)
print(server._process.pid)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_each_process_that_ends_is_reported(server: SlotServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end comes while the server goes back to wait for orders, or before, or after."""

    async def report_of(order: int) -> None:
        async for ended in server.ended_orders():
            if ended == order:
                return

    async def lose(processes: int) -> None:
        for _ in range(processes):
            order = server.order("slot", "/nowhere", "/nowhere", [])
            async with asyncio.timeout(10):
                await report_of(order)

    monkeypatch.setattr(slot_servers, "_POLL_S", 0.001)
    asyncio.run(lose(100))


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let as many orders as the number says have processes that end before they connect."""
    order, numbers, left = SlotServer.order, count(), [1]

    def lose(self: SlotServer, name: str, control_path: str, data_path: str, modules: Iterable[str]) -> int:
        is_lost = next(numbers) < left[0]
        return order(self, name, "/nowhere" if is_lost else control_path, data_path, modules)

    monkeypatch.setattr(SlotServer, "order", lose)
    monkeypatch.setattr(slot_processes, "_START_TIMEOUT_S", 3600.0)
    return left


def numbers_of_a_job() -> list[int]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"parallelism.default": "1"}))
    stream = env.from_collection([1, 2, 3], Types.LONG()).map(lambda number: number + 1, Types.LONG())
    with stream.execute_and_collect() as found:
        return list(found)


@pytest.mark.spark
def test_a_process_that_ends_before_it_connects_is_ordered_again(lost: list[int]) -> None:
    assert numbers_of_a_job() == [2, 3, 4]


@pytest.mark.spark
def test_a_job_fails_if_no_process_of_a_slot_connects(lost: list[int]) -> None:
    lost[0] = 1000
    with pytest.raises(FiresteelError, match=r"5 processes of slot .* ended before they connected"):
        numbers_of_a_job()


def test_a_fork_warns_of_no_threads() -> None:
    """Python warns since 3.12 where Arrow is imported, whose library has a thread of its own."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "firesteel.task.slot_server", str(writing)]
    order = "1\tslot\t/nowhere\t/nowhere\tpyarrow\n"
    done = subprocess.run(command, input=order, text=True, stderr=subprocess.PIPE, pass_fds=[writing], timeout=60)
    for descriptor in (reading, writing):
        os.close(descriptor)
    assert "multi-threaded" not in done.stderr


@pytest.mark.spark
def test_a_slot_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    release, seen, exists = slot_processes.SlotProcesses._release, [], os.path.exists

    async def look(self: Any, slot: Any, timeout_s: float | None) -> None:
        before = exists(slot.path)
        await release(self, slot, timeout_s)
        seen.append((before, exists(slot.path)))

    monkeypatch.setattr(slot_processes.SlotProcesses, "_release", look)
    assert numbers_of_a_job() == [2, 3, 4]
    assert seen == [(True, False)]
