"""A session cluster as its users see it: processes, commands, and what happens when the leader is killed."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.session import JobManager, Tail, firesteel, firesteel_in_background
from tests.objects.server import Bucket
from tests.waiting import wait_for

pytestmark = pytest.mark.spark


PRINTING = """
from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

options = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1",
           "restart-strategy.fixed-delay.delay": "3 s", "execution.checkpointing.interval": "100 ms"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
env.set_parallelism(1)

def text(number):
    from pathlib import Path
    if number == 299 and not Path(MARKER).exists():
        Path(MARKER).touch()
        raise ValueError("for the first time")
    return f"n{number}"

numbers = env.from_source(NumberSequenceSource(0, 299), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
numbers.map(text, Types.STRING()).print()
env.execute("printing")
"""


def test_jobs_are_submitted_listed_saved_and_stopped(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    tail, cluster = Tail(tmp_path), jobmanagers()
    tail.write("1", "a", "b", "a")
    submitted = firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    job_id = submitted.stdout.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 3)
    assert f"{job_id} : tail (RUNNING)" in firesteel("list", "-m", cluster.address).stdout
    (job,) = json.loads(firesteel("list", "-m", cluster.address, "--output", "json").stdout)
    assert (job["jid"], job["tasks"]["running"]) == (job_id, 4)
    assert f"of job {job_id}" in firesteel("logs", "-m", cluster.address).stdout
    taken = firesteel("checkpoint", "--full", "-m", cluster.address, "--output", "json", job_id).stdout
    assert json.loads(taken) == {"job-id": job_id, "checkpoint-id": 2, "type": "FULL"}
    stopped = firesteel("stop", "-m", cluster.address, "-p", str(tmp_path / "savepoints"), job_id).stdout
    savepoint = stopped.split("Path: ")[1].strip()
    assert "No running jobs." in firesteel("list", "-m", cluster.address).stdout
    tail.write("2", "a")
    firesteel("run", "-d", "-m", cluster.address, "-s", savepoint, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 4)
    assert tail.lines() == Counter(["a 1", "a 2", "a 3", "b 1"])
    (job,) = json.loads(firesteel("list", "-m", cluster.address, "--output", "json").stdout)
    firesteel("savepoint", "-m", cluster.address, "--dispose", savepoint)
    assert not Path(savepoint).exists()
    cancelled = firesteel("cancel", "-s", str(tmp_path / "savepoints"), "-m", cluster.address, job["jid"]).stdout
    savepoint = cancelled.split("stored in ")[1].strip(".\n")
    assert (Path(savepoint) / "_metadata").is_file()
    wait_for(lambda: f"{job['jid']} : tail (CANCELED)" in firesteel("list", "-a", "-m", cluster.address).stdout)
    tail.write("3", "b")
    program = ("-pym", "tail", "-pyfs", str(tmp_path), *tail.arguments[1:])
    restored = firesteel("run", "-d", "-m", cluster.address, "-s", savepoint, "-cm", "claim", *program).stdout
    wait_for(lambda: tail.lines().total() == 5)
    assert tail.lines() == Counter(["a 1", "a 2", "a 3", "b 1", "b 2"])
    wait_for(lambda: not Path(savepoint).exists())  # After the commit that was waited for.
    job_id = restored.split("JobID ")[1].split()[0]
    assert "triggerId: " in firesteel("stop", "-detached", "-m", cluster.address, "-p", str(tmp_path), job_id).stdout
    wait_for(lambda: f"{job_id} : tail (FINISHED)" in firesteel("list", "-a", "-m", cluster.address).stdout)
    refused = firesteel("cancel", "-m", cluster.address, "0" * 32, check=False)
    assert (refused.returncode, refused.stderr) == (1, f"Error: Job {'0' * 32} not found\n")
    ending = urllib.request.Request(f"http://{cluster.address}/cluster", method="DELETE")
    with urllib.request.urlopen(ending, timeout=60) as answer:
        assert json.load(answer) == {}
    assert cluster.process.wait(30) == 0


COLLECTING = """
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from helper_beside import Doubled, double

def with_offset(doubled):
    from shipped_module import OFFSET
    return Doubled(doubled.value + OFFSET)

env = StreamExecutionEnvironment.get_execution_environment()
env.add_python_file("lib")
numbers = env.from_source(NumberSequenceSource(1, 25_000), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
found = list(numbers.map(double).map(with_offset).execute_and_collect())
print(type(found[0]) is Doubled, sorted(one.value for one in found) == [2 * n + 1000 for n in range(1, 25_001)])
"""
HELPER = """
class Doubled:
    def __init__(self, value):
        self.value = value

def double(n):
    return Doubled(2 * n)
"""


def test_results_come_back_and_modules_go_along(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    cluster = jobmanagers()
    (tmp_path / "printing.py").write_text(PRINTING.replace("MARKER", repr(str(tmp_path / "marker"))))
    done = firesteel("run", "-m", cluster.address, str(tmp_path / "printing.py"))
    printed = sorted(done.stdout.splitlines(), key=lambda line: int(line[1:]))
    assert printed == [f"n{number}" for number in range(300)]
    assert "restart 1: operator 'Map' (subtask 1/1) failed: ValueError: for the first time" in done.stderr
    job_id = done.stderr.split("JobID ")[1].split()[0]
    assert firesteel("logs", "--stdout", job_id, "-f", "-m", cluster.address).stdout == done.stdout
    (tmp_path / "collecting.py").write_text(COLLECTING)
    (tmp_path / "helper_beside.py").write_text(HELPER)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shipped_module.py").write_text("OFFSET = 1000")
    for mode in ("STREAMING", "BATCH"):
        options = ("-m", cluster.address, "-D", f"execution.runtime-mode={mode}")
        done = firesteel("run", *options, str(tmp_path / "collecting.py"), cwd=tmp_path)
        assert done.stdout == "True True\n"


def test_another_jobmanager_goes_on_with_the_jobs_of_one_that_was_killed(
    tmp_path: Path, jobmanagers: Callable[..., JobManager]
) -> None:
    tail = Tail(tmp_path)
    options = {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "ha"),
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "jobmanager.rpc.port": "0",
    }
    first, second = jobmanagers(**options), jobmanagers(**options)
    tail.write("1", "a", "b", "a")
    firesteel("run", "-d", "-m", first.address, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 3)
    assert "tail (RUNNING)" in firesteel("list", "-m", second.address).stdout
    first.end(signal.SIGKILL)
    tail.write("2", "a", "c")
    wait_for(lambda: tail.lines().total() == 5)
    assert tail.lines() == Counter(["a 1", "a 2", "a 3", "b 1", "c 1"])
    assert "tail (RUNNING)" in firesteel("list", "-m", second.address).stdout
    second.end(signal.SIGTERM)


TAILING = """
import sys
from pathlib import Path
from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat

source, seen = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment()
lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), source)
files = lines.monitor_continuously(Duration.of_millis(50)).build()
texts = env.from_source(files, WatermarkStrategy.no_watermarks(), "texts", Types.STRING())
for text in texts.execute_and_collect():
    print(text, flush=True)
    Path(seen).touch()
"""


def test_results_lost_with_a_killed_jobmanager_are_reported_to_the_client(
    tmp_path: Path, jobmanagers: Callable[..., JobManager]
) -> None:
    (tmp_path / "tailing.py").write_text(TAILING)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "1").write_text("first\n")
    options = {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "ha"),
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "jobmanager.rpc.port": "0",
    }
    first, second = jobmanagers(**options), jobmanagers(**options)
    arguments = [str(tmp_path / name) for name in ("tailing.py", "texts", "seen")]
    with firesteel_in_background("run", "-m", second.address, *arguments) as client:
        wait_for((tmp_path / "seen").exists)
        first.end(signal.SIGKILL)
        (tmp_path / "texts" / "2").write_text("second\n")
        shown, told = client.communicate(timeout=120)
    assert shown == "first\n"
    assert "another JobManager has taken the job over" in told
    assert client.returncode == 1
    second.end(signal.SIGTERM)


def test_a_jobmanager_that_can_not_start_says_why(tmp_path: Path) -> None:
    refused = firesteel("jobmanager", "start", "--host", "0.0.0.0", check=False, FIRESTEEL_RUN_DIR=str(tmp_path))
    assert refused.returncode == 1
    assert "which others can reach, and anyone who can submit a job can run code" in refused.stderr
    nobody = firesteel("list", "-m", "127.0.0.1:1", check=False)
    assert nobody.returncode == 1
    assert nobody.stderr.startswith("Error: no JobManager responds at http://127.0.0.1:1")


def test_a_job_keeps_its_state_where_only_the_cluster_has_access(
    tmp_path: Path, jobmanagers: Callable[..., JobManager], bucket: Bucket
) -> None:
    local = tmp_path / "disk"
    local.mkdir()
    options = {"execution.checkpointing.dir": bucket.uri("checkpoints"), "io.tmp.dirs": str(local), **bucket.options}
    tail, cluster = Tail(tmp_path), jobmanagers(**options)
    tail.write("1", "a", "b", "a")
    submitted = firesteel("run", "-d", "-m", cluster.address, *tail.arguments)
    job_id = submitted.stdout.split("JobID ")[1].split()[0]
    wait_for(lambda: tail.lines().total() == 3)
    assert any(name.endswith("/_metadata") for name in bucket.names("checkpoints"))
    assert list(local.glob(f"firesteel-jobs-*/{job_id}"))
    savepoint = firesteel("stop", "-m", cluster.address, "-p", bucket.uri("saved"), job_id).stdout
    tail.write("2", "b")
    path = savepoint.split("Path: ")[1].strip()
    firesteel("run", "-d", "-m", cluster.address, "-s", path, *tail.arguments)
    wait_for(lambda: tail.lines().total() == 4)
    assert tail.lines() == Counter(["a 1", "a 2", "b 1", "b 2"])
