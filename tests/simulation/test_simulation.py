"""The whole control plane under faults; see `docs/simulation.md`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.data_plane import mutations as data_plane
from tests.simulation.mutations import MUTATIONS

ROOT = Path(__file__).parents[2]
SEEDS = int(os.environ.get("FIRESTEEL_SIMULATION_SEEDS", "200"))
PROCESSES = 2
CONTROL_PLANE: list[str] = []
DATA_PLANE = ["--data-plane"]
PLANES = pytest.mark.parametrize("plane", [CONTROL_PLANE, DATA_PLANE], ids=["control plane", "data plane"])


@PLANES
def test_under_random_faults_invariants_hold_and_all_jobs_end(plane: list[str]) -> None:
    seeds = SEEDS // 2 if plane is DATA_PLANE else SEEDS
    share = -(-seeds // PROCESSES)
    started = [_start("tests.simulation", "--first", n * share, "--seeds", share, *plane) for n in range(PROCESSES)]
    for process, (output, errors) in [(process, process.communicate()) for process in started]:
        assert process.returncode == 0, f"run a seed again as docs/simulation.md says:\n{errors}"
        assert json.loads(output)["failed"] == []


@PLANES
def test_a_seed_reproduces_its_simulation(plane: list[str]) -> None:
    runs = [_start("tests.simulation", "--first", 7, "--story", *plane).communicate()[0].splitlines() for _ in range(2)]
    (*once, _), (*again, _) = runs  # The last line has the time that it took.
    assert once == again
    assert len(once) > 10


@pytest.mark.parametrize("module", ["tests.simulation.mutations", "tests.simulation.data_plane.mutations"])
def test_each_mutation_is_detected_by_its_seeds(module: str) -> None:
    assert len(MUTATIONS) >= 10
    assert len(data_plane.MUTATIONS) >= 8
    process = _start(module, "--check")
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def _start(module: str, *arguments: object) -> subprocess.Popen[str]:
    """In a process of its own: seeds take the same way only where strings have the same hashes."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
