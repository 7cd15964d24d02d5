"""High availability in a directory: processes that are killed, stopped, and files that are damaged."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.runtime.highavailability.fenced_directory import FencedDirectory
from firesteel.runtime.highavailability.file_lock import FileLock
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.high_availability import JobGraphStore
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, HighAvailabilityError
from firesteel.runtime.highavailability.polling import Poller
from firesteel.runtime.highavailability.storage import JOBS
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import CODEC, eventually
from tests.runtime.highavailability.programs import line, paused_leader, python
from tests.runtime.highavailability.test_contract import leading, retrieving

pytestmark = pytest.mark.slow


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[FileSystemHaServices]:
    process = FileSystemHaServices(tmp_path / "cluster", CODEC, interval_s=0.01)
    yield process
    await process.close()


def options(tmp_path: Path) -> dict[str, str]:
    return {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path),
        "high-availability.cluster-id": "cluster",
    }


def running(process: FileSystemHaServices) -> JobGraphStore:
    store = process.stores(None).job_graphs
    store.start()
    return store


async def test_a_process_killed_at_any_line_leaves_complete_entries_and_all_acknowledged_ones(tmp_path: Path) -> None:
    crashing = await python("tests.runtime.highavailability.crashing_writer", tmp_path)
    changing, making = (await line(crashing)).split()
    assert await crashing.wait() == 0
    assert int(making) > int(changing) > 80


async def test_a_paused_leader_that_resumes_after_a_takeover_writes_nothing(
    tmp_path: Path, process: FileSystemHaServices
) -> None:  # D12
    leader = await paused_leader(options(tmp_path))
    assert leader.stdin is not None
    try:
        former = await line(leader)
        leader.stdin.write(b"early\n")
        assert await line(leader) == "stored"
        leader.send_signal(signal.SIGSTOP)
        leader.stdin.write(b"late\n")
        (tmp_path / "cluster" / "leader.lock").unlink()
        _, _, session_id = await leading(process)
        assert session_id != former
        leader.send_signal(signal.SIGCONT)
        assert {await line(leader), await line(leader)} == {"StaleLeaderError", "revoked"}
        assert await running(process).job_ids() == (an_id("early"),)
    finally:
        leader.kill()
        await leader.wait()


async def test_the_lock_of_a_killed_leader_is_free(tmp_path: Path, process: FileSystemHaServices) -> None:
    leader = await paused_leader(options(tmp_path))
    former = await line(leader)
    assert not FileLock(tmp_path / "cluster" / "leader.lock").try_acquire()
    leader.kill()
    _, _, session_id = await leading(process)
    assert session_id != former
    await leader.wait()


async def test_the_error_of_a_damaged_entry_names_its_job(tmp_path: Path, process: FileSystemHaServices) -> None:  # B06
    store = running(process)
    for name in ("good", "bad", "empty"):
        await store.put(job_graph(("a", 1, []), name=name))
    jobs = tmp_path / "cluster" / f"state-{FencedDirectory(tmp_path / 'cluster', CODEC).session_id()}" / JOBS
    (jobs / an_id("bad")).write_bytes((jobs / an_id("bad")).read_bytes()[:-1])
    (jobs / an_id("empty")).write_bytes(b"")
    for name in ("bad", "empty"):
        with pytest.raises(CorruptEntryError, match=rf"the entry of job {an_id(name)} in 'jobs' can't be read"):
            await store.recover(an_id(name))
    assert await store.recover(an_id("good")) is not None
    assert set(await store.job_ids()) == {an_id("good"), an_id("bad"), an_id("empty")}


async def test_a_leader_restores_its_overwritten_address(tmp_path: Path, process: FileSystemHaServices) -> None:  # D06
    election, _, session_id = await leading(process)
    listener = retrieving(process)
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])
    directory = FencedDirectory(tmp_path / "cluster", CODEC)
    directory.write("leaders", "x", ("elsewhere", session_id), None)
    await eventually(lambda: directory.read("leaders", "x", None) == ("here", session_id))
    await election.close()
    directory.write("leaders", "x", ("elsewhere", session_id), None)
    for _ in range(5):
        await asyncio.sleep(0.01)
    assert directory.read("leaders", "x", None) == ("elsewhere", session_id)


async def test_a_manually_modified_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.runtime.highavailability.fenced_directory._FIND_PAUSE_S", 0)
    (tmp_path / "cluster").mkdir()
    with pytest.raises(HighAvailabilityError, match=r"cluster has no directory state-\*; was it modified manually"):
        FencedDirectory(tmp_path / "cluster", CODEC).session_id()


def _refusing(write: Callable[..., None], times: int) -> Callable[..., None]:
    """A disk that is full for a number of writes."""
    refusals = iter(range(times))

    def refuse(self: FencedDirectory, *arguments: Any) -> None:
        if next(refusals, None) is not None:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, *arguments)

    return refuse


async def test_an_address_is_published_once_the_disk_has_space(
    process: FileSystemHaServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    election, _, session_id = await leading(process)
    listener = retrieving(process)
    monkeypatch.setattr(FencedDirectory, "write", _refusing(FencedDirectory.write, 3))
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])


def test_a_write_that_failed_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = FencedDirectory(tmp_path / "cluster", CODEC)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        directory.write(JOBS, "job", "value", None)
    assert not list((tmp_path / "cluster").rglob("temporary/*"))


def test_a_lock_whose_file_was_replaced_can_be_taken_again(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    lock.path.unlink()
    assert lock.try_acquire()


async def test_a_poller_survives_errors_of_its_listener() -> None:
    found: list[int] = []

    def tell(number: int) -> None:
        found.append(number)
        if len(found) == 1:
            raise RuntimeError("unexpected")

    poller = Poller(0.001, lambda: 1, tell)
    await eventually(lambda: len(found) > 2)
    await poller.stop()


class _Leaving:
    """Its modules call `sys.exit` when they are imported."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return sys.exit, (3,)


def test_an_entry_whose_modules_exit_is_a_damaged_entry(tmp_path: Path) -> None:
    directory = FencedDirectory(tmp_path / "cluster", CODEC)
    directory.write(JOBS, "job", _Leaving(), None)
    with pytest.raises(CorruptEntryError, match="SystemExit: 3"):
        directory.read(JOBS, "job", None)
