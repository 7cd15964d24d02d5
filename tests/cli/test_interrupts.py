"""Ctrl-C while a command or program still imports: one line, no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED_IMPORT = """
import sys

interrupted = sys.argv.pop(1)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
"""
COMMAND = f"""{INTERRUPTED_IMPORT}
from firesteel.cli import main
main()
"""


def run(program: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("module", ["firesteel.cli.main", "click", "firesteel.cli.run", "firesteel.cli.program"])
def test_a_command_that_still_imports_says_one_line(module: str, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text("")
    assert run(COMMAND, module, "run", str(program)) == (130, "Interrupted.\n")


@pytest.mark.parametrize("module", ["firesteel.cli.sql", "firesteel.cli.sql_session", "firesteel.table"])
def test_the_sql_client_that_still_imports_says_one_line(module: str) -> None:
    assert run(COMMAND, module, "sql", "-e", "SELECT 1") == (130, "Interrupted.\n")


@pytest.mark.parametrize("module", ["firesteel.common.types", "firesteel.datastream.data_stream"])
def test_a_program_that_still_imports_says_one_line(module: str) -> None:
    program = f"{INTERRUPTED_IMPORT}\nfrom firesteel.datastream import StreamExecutionEnvironment"
    assert run(program, module) == (-signal.SIGINT, "Interrupted.\n")


def test_what_is_not_ours_is_shown_as_python_does() -> None:
    program = f"{INTERRUPTED_IMPORT}\nimport firesteel\nimport colorsys"
    assert "Traceback" in run(program, "colorsys")[1]
    own = "import sys\nsys.excepthook = lambda *_: print('own', file=sys.stderr)\nimport firesteel\n1 / 0"
    assert run(own)[1] == "own\n"
    assert "ZeroDivisionError" in run("import firesteel\n1 / 0")[1]
