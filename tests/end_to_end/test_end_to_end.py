"""Runs whole programs that import PyFlink, as they are, and compares what they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from firesteel.common.configuration import set_default_options
from firesteel.compat import run_as_main
from tests.end_to_end.inputs import write_inputs
from tests.end_to_end.local_executor import local_execution
from tests.end_to_end.outcome import outcome
from tests.end_to_end.recorded_runs import PROGRAMS, PYFLINK, RECORDED
from tests.end_to_end.runs import RUNS, WITH_SPARK, listed
from tests.end_to_end.systems import Systems
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

RECORDINGS: dict[str, list[str]] = json.loads(RECORDED.read_text())
IS_NIGHT = bool(os.environ.get("FIRESTEEL_ALL_SEEDS"))
OF_THE_ISSUE = {
    "files", "print", "datagen", "faker", "Kafka", "PostgreSQL", "PostgreSQL CDC", "MariaDB", "MariaDB CDC", "Redis",
    "ClickHouse", "MongoDB (SecantusDB)", "OpenSearch (osmem)", "Elasticsearch (bulk API)", "HTTP", "S3 (moto)",
    "Kinesis (moto)", "Firehose (moto)", "Iceberg", "Delta Lake", "Spark's ORC",
}  # fmt: skip
"""The systems that programs must be run with."""


def test_the_list_names_each_program_and_each_system() -> None:
    assert (Path(__file__).parent / "README.md").read_text().endswith(listed())
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {*PYFLINK, *RUNS}
    assert RECORDINGS.keys() == PYFLINK.keys()
    assert len(PYFLINK) + len(RUNS) >= 40
    assert {
        system for run in (*PYFLINK.values(), *(run.systems for run in RUNS.values())) for system in run
    } == OF_THE_ISSUE
    assert all(
        "import firesteel" not in (text := path.read_text()) and "pyflink" in text for path in PROGRAMS.glob("*.py")
    )


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
    assert outcome(capsys.readouterr().out, tmp_path) == RECORDINGS[program]


@pytest.mark.usefixtures("as_main")
@pytest.mark.parametrize("program", [name for name in RUNS if name not in WITH_SPARK])
def test_a_program_leaves_in_its_systems_what_was_reckoned(
    program: str, systems: Systems, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if RUNS[program].is_nightly and not IS_NIGHT:
        pytest.skip("runs at night: FIRESTEEL_ALL_SEEDS")
    run = RUNS[program].prepare(systems, inputs, tmp_path)
    set_default_options(dict(run.options))
    with local_execution(run.batches, run.between):
        run_as_main(PROGRAMS / f"{program}.py", given(run.arguments), pyflink=True)
    assert run.left(capsys.readouterr().out) == run.expected


# --- with Spark ------------------------------------------------------------------------------------------------------

at_night = pytest.mark.skipif(not IS_NIGHT, reason="runs at night: FIRESTEEL_ALL_SEEDS")


@at_night
@pytest.mark.spark
@pytest.mark.parametrize("program", PYFLINK)
def test_with_spark_a_program_leaves_what_it_leaves_with_pyflink(program: str, inputs: Path, tmp_path: Path) -> None:
    printed = printed_by(command(program, {"input": inputs, "output": tmp_path}, {}))
    assert outcome(printed, tmp_path) == RECORDINGS[program]


@at_night
@pytest.mark.spark
@pytest.mark.parametrize("program", RUNS)
def test_with_spark_a_program_leaves_in_its_systems_what_was_reckoned(
    program: str, systems: Systems, inputs: Path, tmp_path: Path
) -> None:
    run = RUNS[program].prepare(systems, inputs, tmp_path)
    started = command(program, run.arguments, run.options)
    if run.batches is None:
        assert run.left(printed_by(started)) == run.expected
        return
    with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            if run.between is not None:
                wait_for(lambda: run.left(""), 60)
                run.between()
            wait_for(lambda: run.left("") == run.expected, 60)
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors


def command(program: str, arguments: Mapping[str, object], options: Mapping[str, str]) -> list[str]:
    defined = [text for key, value in options.items() for text in ("-D", f"{key}={value}")]
    file = str(PROGRAMS / f"{program}.py")
    return [sys.executable, "-m", "firesteel", "run", "--quiet", "--pyflink", *defined, file, *given(arguments)]


def given(arguments: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(text for name, value in arguments.items() for text in (f"--{name}", str(value)))


def printed_by(started: list[str]) -> str:
    done = subprocess.run(started, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
