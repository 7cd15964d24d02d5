"""Type checks of programs: correct ones must pass, wrong ones must fail at the lines marked `# error:`."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from firesteel.datastream import StreamExecutionEnvironment

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
WRONG = sorted((HERE / "wrong").glob("*.py"))

Found = dict[str, set[tuple[int, str]]]
"""The reports of a checker: file name -> lines and messages."""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Found:
    directory = tmp_path_factory.mktemp("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--explicit-package-bases"]
    command += ["--follow-imports=silent", "--no-pretty", f"--cache-dir={directory}"]
    environment = {**os.environ, "MYPYPATH": str(SOURCE)}
    output = _output([*command, *map(str, PROGRAMS + WRONG)], directory, environment)
    pattern = re.compile(r"(.+?):(\d+): error: (.*)")
    matches = [match for line in output.splitlines() if (match := pattern.match(line))]
    assert matches, output
    return _by_file((match[1], int(match[2]), match[3]) for match in matches)


@pytest.fixture(scope="module")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Basedpyright has pyright's rules and brings its own Node.js, so that nothing is downloaded."""
    directory = tmp_path_factory.mktemp("pyright")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)], "include": [str(HERE)]}
    (directory / "pyrightconfig.json").write_text(json.dumps(settings | {"exclude": [str(Path(__file__))]}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(directory), "--pythonpath"]
    output = _output([*command, sys.executable], directory, dict(os.environ))
    reports = [report for report in json.loads(output)["generalDiagnostics"] if report["severity"] == "error"]
    assert reports, output
    return _by_file((r["file"], r["range"]["start"]["line"] + 1, r["message"]) for r in reports)


def _output(command: list[str], directory: Path, environment: dict[str, str]) -> str:
    result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 1, result.stdout + result.stderr  # 1: it found errors; others: it did not run
    return result.stdout


def _by_file(reports: Iterable[tuple[str, int, str]]) -> Found:
    found: Found = {}
    for file, line, message in reports:
        found.setdefault(Path(file).name, set()).add((line, message))
    return found


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_correct_program_passes_the_type_checkers(
    checker: str, program: Path, request: pytest.FixtureRequest
) -> None:
    assert request.getfixturevalue(checker).get(program.name, set()) == set()


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("program", WRONG, ids=lambda path: path.stem)
def test_a_wrong_program_fails_at_the_marked_lines(checker: str, program: Path, request: pytest.FixtureRequest) -> None:
    lines = program.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# error:" in line}
    reported = request.getfixturevalue(checker).get(program.name, set())
    assert {line for line, _ in reported} == marked, sorted(reported)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_correct_program_becomes_a_graph(program: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    runpy.run_path(str(program))["main"](env)
    assert len(env.get_stream_graph().nodes) > 1
