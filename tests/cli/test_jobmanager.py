"""The processes that `firesteel jobmanager` recognises as JobManagers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from firesteel.cli import jobmanager
from firesteel.cli.jobmanager import SERVERS
from firesteel.cli.main import cli
from firesteel.common.files.run_directory import RUN_DIRECTORY, read_token
from firesteel.common.process_start import start_time
from firesteel.entrypoint.cluster_entrypoint import ClusterEntrypoint
from tests.cli.session import firesteel

pytestmark = pytest.mark.slow


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path))
    return tmp_path / "jobmanager-1.json"


@pytest.mark.parametrize("started", [{}, {"started": "1"}, {"started": None}])
def test_a_process_that_has_the_id_of_a_former_jobmanager_is_left_alone(
    process: subprocess.Popen[bytes], state: Path, started: dict[str, str]
) -> None:
    state.write_text(json.dumps({"pid": process.pid, "address": "http://127.0.0.1:1", **started}))
    stopped = CliRunner().invoke(cli, ["jobmanager", "stop"])
    assert (stopped.exit_code, "no JobManager is running" in stopped.stderr) == (1, True)
    assert process.poll() is None
    assert not state.exists()


def test_a_jobmanager_is_known_by_its_start_time(process: subprocess.Popen[bytes], state: Path) -> None:
    entry = {"pid": process.pid, "address": "http://127.0.0.1:1"}
    state.write_text(json.dumps({**entry, "started": start_time(process.pid)}))
    shown = json.loads(CliRunner().invoke(cli, ["jobmanager", "status", "--output", "json"]).stdout)
    assert [{key: one[key] for key in entry} for one in shown] == [entry]
    assert "started" not in shown[0]


def test_a_jobmanager_that_is_being_recorded_is_not_forgotten(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_slowly(self: Path, text: str) -> None:
        with self.open("w") as file:
            assert SERVERS.running() == []
            file.write(text)

    monkeypatch.setattr(Path, "write_text", write_slowly)
    assert SERVERS.record("http://127.0.0.1:1", state.parent) == state
    assert [one["pid"] for one in SERVERS.running()] == [os.getpid()]


def test_a_directory_that_others_can_write_to_is_refused_with_a_message(state: Path) -> None:
    state.parent.chmod(0o777)
    for command in (["list"], ["jobmanager", "status"], ["jobmanager", "stop"], ["jobmanager", "start"]):
        refused = CliRunner().invoke(cli, command)
        assert refused.exit_code == 1
        assert "cannot be trusted: its mode is 777" in refused.stderr, refused.output


def test_log_directories_of_former_jobmanagers_are_removed_but_for_the_last_ones(
    process: subprocess.Popen[bytes], state: Path
) -> None:
    logs = state.parent / "logs"
    names = [f"2026010{day}-120000-1" for day in range(1, 6)]
    for name in names:
        (logs / name).mkdir(parents=True)
        (logs / name / "jobmanager.log").touch()
    entry = {"pid": process.pid, "address": "http://127.0.0.1:1", "logs": str(logs / names[1])}
    state.write_text(json.dumps({**entry, "started": start_time(process.pid)}))
    made = jobmanager.SERVERS.new_log_directory({"env.log.max": "2"})
    assert sorted(logs.iterdir()) == [logs / name for name in (names[1], *names[3:])] + [made]


async def test_a_server_is_found_until_it_has_stopped(state: Path) -> None:
    file = SERVERS.record("http://127.0.0.1:1", state.parent)
    may_stop = asyncio.Event()
    ending = asyncio.ensure_future(SERVERS.end(file, _stop_after(may_stop), 60))
    await asyncio.sleep(0)
    assert [entry["pid"] for entry in SERVERS.running()] == [os.getpid()]
    may_stop.set()
    await ending
    assert SERVERS.running() == []


async def _stop_after(event: asyncio.Event) -> None:
    await event.wait()


HANGING = """
import asyncio, sys, threading
from pathlib import Path
from firesteel.cli.jobmanager import SERVERS
async def main():
    threading.Thread(target=threading.Event().wait).start()
    await SERVERS.end(Path(sys.argv[1]), asyncio.to_thread(threading.Event().wait), 0.01)
asyncio.run(main())
"""


def test_a_server_that_does_not_stop_ends_after_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "jobmanager-1.json"
    file.touch()
    done = subprocess.run([sys.executable, "-c", HANGING, str(file)], timeout=60, check=False)
    assert (done.returncode, file.exists()) == (1, False)


class Closing:
    """A part of the cluster that takes its time to close."""

    def __init__(self) -> None:
        self.may_close = asyncio.Event()

    async def close(self) -> None:
        await self.may_close.wait()


async def test_the_token_stays_until_a_jobmanager_has_stopped(state: Path) -> None:
    cluster = ClusterEntrypoint({"rest.port": "0"})
    cluster._dispatcher = cluster._resource_manager = closing = Closing()  # type: ignore[assignment]
    address = await cluster.serve_rest()
    port = int(address.rsplit(":", 1)[1])
    stopping = asyncio.ensure_future(cluster.stop())
    await asyncio.sleep(0)
    assert read_token(port) is not None
    closing.may_close.set()
    await stopping
    assert read_token(port) is None


@pytest.mark.spark
def test_a_jobmanager_in_the_background_logs_to_a_file_that_rotates(tmp_path: Path) -> None:
    environment = {RUN_DIRECTORY: str(tmp_path)}
    options = ("-D", "rest.port=0", "--output", "json")
    started = json.loads(firesteel("jobmanager", "start", "--daemon", *options, **environment).stdout)
    try:
        logs = Path(started["logs"])
        assert sorted(path.name for path in logs.iterdir()) == ["jobmanager.log", "jobmanager.out"]
        log, out = (logs / "jobmanager.log"), (logs / "jobmanager.out")
        assert f"JobManager is ready at {started['address']}\n" in log.read_text()
        assert out.read_text() == ""
        flags = Path(f"/proc/{started['pid']}/fdinfo/1").read_text().splitlines()[1]
        assert int(flags.removeprefix("flags:"), 8) & os.O_APPEND
    finally:
        firesteel("jobmanager", "stop", **environment)


def test_a_jobmanager_that_does_not_start_says_why(tmp_path: Path) -> None:
    arguments = ("jobmanager", "start", "--daemon", "-D", "env.log.format=xml")
    done = firesteel(*arguments, check=False, **{RUN_DIRECTORY: str(tmp_path)})
    assert done.returncode == 2
    assert "'xml' is unknown" in done.stderr
