"""Runs the programs whose graphs were recorded from Flink."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.compat.alias import alias_pyflink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import Fault, LocalResult, ManualClock, run_local
from tests.flink_recordings.recordings import GRAPH_PROGRAMS

pytestmark = pytest.mark.slow

PROGRAMS = sorted(path.stem for path in GRAPH_PROGRAMS.glob("*.py"))
ENDLESS = {
    "c007_file_source_continuous": "monitors a directory for ever",
    "s001_running_two_vertices": "two billion numbers",
}
NO_EVENT_TIME = {"c048_window_lateness_side_output", "c052_continuous_trigger", "c080_batch_window"}
"""Event-time windows over elements without timestamps: Flink fails at run time, too."""
REFUSED = {name for name in PROGRAMS if "EXPECT_ERROR = True" in (GRAPH_PROGRAMS / f"{name}.py").read_text()}


def load(name: str, directory: Path) -> ModuleType:
    """The program with its input and output below `directory`."""
    text = (GRAPH_PROGRAMS / f"{name}.py").read_text()
    text = re.sub(r"/tmp/(firesteel-\w+)", rf"{directory}/\1", text)
    for found in re.findall(rf"{directory}/firesteel-in\w*", text):
        Path(found).mkdir(exist_ok=True)
        Path(found, "lines.txt").write_text("a 1\nb 2\na 3\n")
    alias_pyflink()
    module = ModuleType(f"golden_{name}")
    exec(compile(text, str(GRAPH_PROGRAMS / f"{name}.py"), "exec"), module.__dict__)
    return module


def run(name: str, directory: Path, parallelism: int, **settings: Any) -> LocalResult:
    program = load(name, directory)
    configuration = Configuration()
    configuration.set_string("parallelism.default", str(parallelism))
    for key, value in getattr(program, "CONFIG", {}).items():
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = program.build(env)
    if getattr(program, "COLLECT", False):
        stream.collect_async()
    return run_local(env, default_parallelism=parallelism, **settings)


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ENDLESS])
def test_program_runs_to_its_end_or_is_refused(name: str, parallelism: int, tmp_path: Path) -> None:
    program = load(name, tmp_path)
    if getattr(program, "EXPECT_ERROR", False):
        with pytest.raises((ValueError, RuntimeError)):
            run(name, tmp_path, parallelism)
        return
    if name in NO_EVENT_TIME:
        with pytest.raises(UserFunctionError, match="needs elements with a timestamp"):
            run(name, tmp_path, parallelism)
        return
    result = run(name, tmp_path, parallelism, batch_elements=40)
    assert all(report.has_ended for report in result.subtasks.values())
    assert not list(tmp_path.rglob(".*inprogress*"))


def outcome(result: LocalResult, directory: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the printed, collected and written output of a run, in any order."""
    parts = [path for path in directory.glob("firesteel-out*/**/*") if path.is_file() and path.name[0] != "."]
    written = [line for part in parts for line in part.read_text().splitlines()]
    return sorted(result.lines), sorted(map(repr, result.elements)), sorted(written)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - set(ENDLESS) - NO_EVENT_TIME - REFUSED))
def test_slots_that_die_in_every_stage_change_nothing(name: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    # The machine's clock would end a window of processing time in one run and not in the other.
    with ManualClock() as clock:
        base = run(name, first, 2, batch_elements=100, clock=clock)
    faults = [
        Fault(b, stage, slot, 1) for b in range(base.batches) for stage in range(base.stages) for slot in range(3)
    ]
    with ManualClock() as clock:
        result = run(name, second, 2, batch_elements=100, faults=faults, clock=clock)
    assert outcome(result, second) == outcome(base, first)
