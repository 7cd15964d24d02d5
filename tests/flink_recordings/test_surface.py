"""Our packages have the names and parameters of PyFlink's public surface (`surface.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flink_recordings.surface import recorded_modules

MODULES = [f"{name}-{module}" for name, module, _ in recorded_modules()]


@pytest.fixture(scope="module")
def wrong() -> dict[str, list[str]]:
    command = [sys.executable, "-m", "tests.flink_recordings.surface"]
    found = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_pyflinks_names_and_parameters(wrong: dict[str, list[str]], module: str) -> None:
    assert wrong[module] == []
