from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import firesteel.common
import firesteel.datastream
import firesteel.graph
import firesteel.metrics

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("package", [firesteel.common, firesteel.datastream, firesteel.graph, firesteel.metrics])
def test_every_name_that_a_package_promises_is_there(package):
    assert [name for name in package.__all__ if not hasattr(package, name)] == []


def test_names_and_parameters_are_those_of_pyflink():
    api = ROOT.parent / "shared" / "api"
    if not (api / "surface_check.py").exists():
        pytest.skip("the description of PyFlink's surface is not beside the repository")
    command = [sys.executable, str(api / "surface_check.py"), str(api / "surface.json"), "firesteel"]
    done = subprocess.run([*command, "--path", str(ROOT / "src")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
