"""Runs the programs of this directory and compares what they print with what is written beside them."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.testing import Fault, LocalResult, run_local
from tests.seeds import combinations

pytestmark = pytest.mark.slow

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parent / "programs").glob("*.py"))}
MODES = {"STREAMING": RuntimeExecutionMode.STREAMING, "BATCH": RuntimeExecutionMode.BATCH}


def load(name: str) -> ModuleType:
    module = ModuleType(f"program_{name}")
    exec(compile(PROGRAMS[name].read_text(), str(PROGRAMS[name]), "exec", dont_inherit=True), module.__dict__)
    return module


def run(program: ModuleType, mode: str, parallelism: int, chaining: bool = True, **settings: Any) -> LocalResult:
    configuration = Configuration()
    configuration.set_string("parallelism.default", str(parallelism))
    configuration.set_string("pipeline.operator-chaining.enabled", str(chaining).lower())
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(MODES[mode])
    program.build(env)
    return run_local(env, default_parallelism=parallelism, **settings)


def sorted_lines(result: LocalResult) -> list[str]:
    """Return the printed lines, without the numbers of the subtasks."""
    return sorted(re.sub(r"^\d+> ", "", line) for line in result.lines)


def expected(program: ModuleType, mode: str) -> list[str]:
    return sorted(getattr(program, mode, None) or program.BOTH)


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_prints_the_expected_output(name: str, mode: str, parallelism: int) -> None:
    program = load(name)
    assert sorted_lines(run(program, mode, parallelism)) == expected(program, mode)


@pytest.mark.parametrize(("name", "batch_elements"), combinations(PROGRAMS, [1, 2]))
def test_results_do_not_depend_on_the_cut_into_batches(name: str, batch_elements: int) -> None:
    program = load(name)
    result = run(program, "STREAMING", 2, batch_elements=batch_elements)
    assert result.batches > 1
    assert sorted_lines(result) == expected(program, "STREAMING")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_chaining(name: str, mode: str) -> None:
    program = load(name)
    assert sorted_lines(run(program, mode, 2, chaining=False, batch_elements=2)) == expected(program, mode)


@pytest.mark.parametrize(("name", "after_rows"), combinations(PROGRAMS, [0, 1, 1000]))
def test_slots_that_die_in_each_stage_change_nothing(name: str, after_rows: int) -> None:
    program = load(name)
    shape = run(program, "STREAMING", 2, batch_elements=2)
    places = product(range(shape.batches), range(shape.stages), (0, 1))
    faults = [Fault(batch, stage, slot, after_rows) for batch, stage, slot in places]
    result = run(program, "STREAMING", 2, batch_elements=2, faults=faults)
    assert sorted_lines(result) == expected(program, "STREAMING")


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_that_run_again_change_nothing(name: str) -> None:
    program = load(name)
    result = run(program, "STREAMING", 2, batch_elements=2, replayed=range(0, 100, 2))
    assert sorted_lines(result) == expected(program, "STREAMING")


@pytest.mark.parametrize("name", PROGRAMS)
def test_killed_batch_tasks_do_not_change_the_result(name: str) -> None:
    program = load(name)
    shape = run(program, "BATCH", 2)
    faults = [Fault(0, stage, slot, 1) for stage in range(shape.stages) for slot in (0, 1)]
    assert sorted_lines(run(program, "BATCH", 2, faults=faults)) == expected(program, "BATCH")
