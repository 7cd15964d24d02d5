"""Runs whole programs that import PyFlink, as they are, and compares what they leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from firesteel.common.configuration import set_default_options
from firesteel.compat import run_as_main
from tests.end_to_end.database_runs import DATABASE_RUNS
from tests.end_to_end.inputs import write_inputs
from tests.end_to_end.kafka_runs import KAFKA_RUNS
from tests.end_to_end.local_executor import local_execution
from tests.end_to_end.other_runs import OTHER_RUNS
from tests.end_to_end.outcome import outcome
from tests.end_to_end.recorded_runs import PROGRAMS, PYFLINK, RECORDED
from tests.end_to_end.systems import Systems

pytestmark = pytest.mark.slow

RUNS = {**KAFKA_RUNS, **DATABASE_RUNS, **OTHER_RUNS}
WITH_SPARK = ("spark_orc",)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    write_inputs(directory)
    return directory


@pytest.fixture(scope="module")
def systems() -> Iterator[Systems]:
    with ExitStack() as stack:
        yield Systems(stack)


@pytest.fixture
def as_main(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a program be `__main__`, and put back what that changes."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    yield
    set_default_options({})


@pytest.mark.usefixtures("as_main")
@pytest.mark.parametrize("program", PYFLINK)
def test_a_program_leaves_what_it_leaves_with_pyflink(
    program: str, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_execution():
        run_as_main(PROGRAMS / f"{program}.py", ("--input", str(inputs), "--output", str(tmp_path)), pyflink=True)
    recorded = json.loads(RECORDED.read_text())
    assert outcome(capsys.readouterr().out, tmp_path) == recorded[program]


@pytest.mark.usefixtures("as_main")
@pytest.mark.parametrize("program", [name for name in RUNS if name not in WITH_SPARK])
def test_a_program_leaves_in_its_systems_what_was_reckoned(
    program: str, systems: Systems, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RUNS[program].prepare(systems, inputs, tmp_path)
    set_default_options(dict(run.options))
    arguments = [text for name, value in run.arguments.items() for text in (f"--{name}", str(value))]
    with local_execution(run.batches, run.between):
        run_as_main(PROGRAMS / f"{program}.py", tuple(arguments), pyflink=True)
    assert run.left(capsys.readouterr().out) == run.expected
