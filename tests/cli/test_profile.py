"""Flame graphs, profiles and thread dumps of a job in its slot processes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.cli.profile import Recording
from tests.cli.session import JobManager, firesteel
from tests.waiting import wait_for

PROGRAM = """
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

def digits(number):
    return sum(int(digit) for digit in str(3 ** (number % 5000)))

numbers = env.from_source(NumberSequenceSource(0, 10**12), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
sums = numbers.map(digits, Types.INT()).name("sum-digits")
sums.key_by(lambda n: n % 7, Types.INT()).reduce(max).name("largest").add_sink(lambda value: None)
env.execute("busy")
"""


def test_pieces_of_a_profile_become_one_file_of_speedscope() -> None:
    recording = Recording()
    for stack in ([["a.f", "a.py", 3], ["operator 'Map'", "", 0]], [["a.f", "a.py", 3]]):
        one = {"vertex": "v", "name": "Map", "subtask": 0, "stacks": [stack], "samples": [[0, True], [0, False]]}
        recording.add({"status": "RUNNING", "interval": 0.5, "subtasks": [one]})
    file = recording.to_speedscope("a job")
    assert file["shared"] == {"frames": [{"name": "a.f", "file": "a.py", "line": 3}, {"name": "operator 'Map'"}]}
    (profile,) = file["profiles"]
    assert (profile["samples"], profile["weights"]) == ([[0, 1], [0, 1], [0], [0]], [0.5] * 4)
    assert (profile["type"], profile["name"], profile["unit"], profile["endValue"]) == (
        "sampled",
        "Map (1)",
        "seconds",
        2,
    )


def names_in(node: dict[str, Any]) -> set[str]:
    return {node["name"]}.union(*(names_in(child) for child in node["children"]))


@pytest.mark.spark
def test_a_running_job_is_sampled(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    cluster = jobmanagers(**{"rest.flamegraph.enabled": "true", "rest.flamegraph.num-samples": "20"})
    (tmp_path / "busy.py").write_text(PROGRAM)
    said = firesteel("run", "-d", "-m", cluster.address, str(tmp_path / "busy.py")).stdout
    job_id = said.split("JobID ")[1].split()[0]

    def get(path: str) -> Any:
        with urllib.request.urlopen(f"http://{cluster.address}{path}", timeout=30) as answer:
            return json.load(answer)

    def records() -> int:
        return sum(vertex["metrics"]["write-records"] for vertex in get(f"/jobs/{job_id}")["vertices"])

    wait_for(lambda: records() > 0)
    vertex = next(one["id"] for one in get(f"/jobs/{job_id}")["vertices"] if "sum-digits" in one["name"])
    path = f"/jobs/{job_id}/vertices/{vertex}/flamegraph"
    found = wait_for(lambda: get(path).get("data"))
    assert found["value"] == 40  # of both subtasks
    assert any(name.startswith("__main__.digits:") or ".digits:" in name for name in names_in(found)), names_in(found)
    assert {name for name in names_in(found) if name.startswith("operator ")}
    on_cpu, off_cpu = (get(f"{path}?type={kind}")["data"]["value"] for kind in ("on_cpu", "off_cpu"))
    assert on_cpu + off_cpu == 40
    assert on_cpu > 0
    assert get(f"{path}?subtaskindex=1")["data"]["value"] == 20

    file = tmp_path / "profile.json"
    done = firesteel("profile", "-m", cluster.address, job_id, "--seconds", "3", "--rate", "50", "-o", str(file))
    assert str(file) in done.stdout
    profile = json.loads(file.read_text())
    assert profile["name"] == "busy"
    frames = profile["shared"]["frames"]
    assert any(frame["name"].endswith(".digits") and frame["line"] > 0 for frame in frames)
    assert len({one["name"] for one in profile["profiles"]}) == 4  # two vertices of two subtasks
    for one in profile["profiles"]:
        assert len(one["samples"]) == len(one["weights"]) >= 100
        assert {frame for sample in one["samples"] for frame in sample} <= set(range(len(frames)))
        assert one["endValue"] == pytest.approx(sum(one["weights"]))

    (task_manager,) = [one["id"] for one in get("/taskmanagers")["taskmanagers"]]
    texts = [one["stringifiedThreadInfo"] for one in get(f"/taskmanagers/{task_manager}/thread-dump")["threadInfos"]]
    slots = [text for text in texts if text.startswith("slot process") and "MainThread" in text.splitlines()[0]]
    assert len(slots) == 2
    assert all("sum-digits" in text.splitlines()[0] for text in slots)
    firesteel("cancel", "-m", cluster.address, job_id)
    assert get(path)["endTimestamp"] in (-1, -3) or wait_for(lambda: get(path)["endTimestamp"] == -1)
    gone = firesteel("profile", "-m", cluster.address, job_id, "--seconds", "1", check=False)
    assert gone.returncode == 1
    assert "nothing to show" in gone.stderr
