"""The commands of the pages do what the pages show: from the installed wheel, outside of the checkout."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.hooks import ROOT
from tests.docs.page_commands import Session, differences, programs, sessions
from tests.wheel import build_wheel, install_wheel

NOT_RUN = {"pip install pytest": "the environment of the tests has it"}
"""Commands of pages that the test leaves out, with the reason."""

_END = "\x1e"
"""Printed after each command of a session."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    directory = tmp_path_factory.mktemp("installed")
    return install_wheel(build_wheel(directory), directory / "packages")


@pytest.fixture
def shell(installed: dict[str, str], tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    def run(script: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")} | installed
        return subprocess.run(
            ["bash", "-ec", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


def put_files(session: Session, directory: Path) -> None:
    """Write the programs that the page asks to save, and files of the checkout beside the examples that it names."""
    for name, text in programs(session.page).items():
        (directory / name).write_text(text)
    named = [part for shown in session.commands for part in shlex.split(shown.command)]
    for name in named:
        if (ROOT / name).is_file() and not name.startswith("examples/"):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, directory / name)


SESSIONS = [pytest.param(one, id=f"{one.page}-{one.number}") for one in sessions()]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("session", SESSIONS)
def test_commands_do_what_the_page_shows(
    session: Session, shell: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    put_files(session, tmp_path)
    run = [shown for shown in session.commands if shown.command not in NOT_RUN]
    lines = [f"{shown.command}\nprintf '{_END}'; printf '{_END}' >&2" for shown in run]
    if any("examples/" in shown.command for shown in run):
        lines.insert(0, "firesteel examples examples > before.txt")
    done = shell("\n".join(lines))
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = zip(run, done.stdout.split(_END), done.stderr.split(_END), strict=False)
    found = [differences(shown.output, printed, told) for shown, printed, told in outputs if shown.output]
    assert not any(found), found


@pytest.mark.slow
def test_the_commands_are_those_of_the_wheel(
    shell: Callable[[str], subprocess.CompletedProcess[str]], installed: dict[str, str]
) -> None:
    done = shell("command -v firesteel; python -c 'import firesteel; print(firesteel.__file__)'")
    directory = installed["PYTHONPATH"]
    assert done.stdout.split() == [f"{directory}/bin/firesteel", f"{directory}/firesteel/__init__.py"]


def test_each_command_left_out_is_on_a_page() -> None:
    assert {shown.command for session in sessions() for shown in session.commands} >= NOT_RUN.keys()


def test_pages_show_commands() -> None:
    assert {session.page for session in sessions()} >= {"README.md", "docs/index.md", "docs/get_started.md"}


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (("b", "a"), "a\nb\n", []),
        (("a", "a"), "a\n", ["missing: a"]),
        (("a",), "a\nb\n", ["not on the page: b"]),
        (("a", "..."), "a\nb\n", []),
        (("Works: a, ...",), "Works: a, b\n", []),
        (("2 rows in set (5.84 seconds)", "5 passed in 0.40s"), "5 passed in 1s\n2 rows in set (1.2 seconds)", []),
        (("told",), "", []),
    ],
)
def test_outputs_are_compared_up_to_order(shown: tuple[str, ...], printed: str, expected: list[str]) -> None:
    assert differences(shown, printed, "told\nmore\n") == expected
