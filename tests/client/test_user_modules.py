"""Which modules a program takes along to a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import helper
from firesteel.client.user_modules import pickle_user_modules_by_value
from firesteel.common.trust import pickling
pickle_user_modules_by_value()
print(b"doubled" in pickling.dumps(helper.twice))
"""
_HELPER = """
def twice(number):
    doubled = number + number
    return doubled
"""


@pytest.mark.parametrize("link", ["directory", "program", None])
def test_modules_beside_the_program_are_taken_along(tmp_path: Path, link: str | None) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "job.py").write_text(_PROGRAM)
    (tmp_path / "real" / "helper.py").write_text(_HELPER)
    (tmp_path / "directory").symlink_to("real")
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "job.py").symlink_to("../real/job.py")
    program = tmp_path / (link or "real") / "job.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
