"""The planes under faults; see `docs/simulation.md`."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.seeds import steps

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SEEDS = int(os.environ.get("FIRESTEEL_SIMULATION_SEEDS", steps(100, 200)))
PROCESSES = 2
SHARES = {"control_plane": 1.0, "checkpoints": 5.0, "data_plane": 0.5, "state": 0.05}
"""The share of the seeds that each plane gets; the more a seed costs, the less."""

PLANES = pytest.mark.parametrize("plane", SHARES)


@PLANES
def test_under_random_faults_invariants_hold_and_all_jobs_end(plane: str) -> None:
    seeds = max(1, round(SEEDS * SHARES[plane]))  # 0 would mean: until stopped
    share = -(-seeds // PROCESSES)
    started = [
        _start("tests.simulation", "--first", n * share, "--seeds", share, "--plane", plane) for n in range(PROCESSES)
    ]
    for process, (output, errors) in [(process, process.communicate()) for process in started]:
        assert process.returncode == 0, f"run a seed again as docs/simulation.md says:\n{errors}"
        assert json.loads(output)["failed"] == []


@PLANES
def test_a_seed_reproduces_its_simulation(plane: str) -> None:
    runs = [
        _start("tests.simulation", "--first", 7, "--story", "--plane", plane).communicate()[0].splitlines()
        for _ in range(2)
    ]
    (*once, _), (*again, _) = runs  # The last line has the time that it took.
    assert once == again
    assert len(once) > 3


@PLANES
def test_each_mutation_is_detected_by_its_seeds(plane: str) -> None:
    module = f"tests.simulation.{plane}.mutations"
    assert len(importlib.import_module(module).MUTATIONS.all) >= 10
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
