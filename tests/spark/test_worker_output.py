"""What functions print in Spark's Python workers is shown by the process that runs the job."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.spark.forwarded_output import OutputPipes

WORKER = """
import os, sys
from firesteel.spark.worker_output import shown

def stage(number, before):
    with shown(sys.argv[1:]):
        for value in before:
            print(f"stage {number}, {value}")
            yield value

for value in stage(2, stage(1, ["grüße", "b"])):
    os.system(f"echo of a child: {value} >&2")
print("after")
"""


class Task:
    vertex_id = vertex_name = "v"
    subtask_index, parallelism = 0, 1


class Operator:
    name, description, user_location, task = "Map", None, None, Task()


@pytest.fixture
def pipes() -> Iterator[OutputPipes]:
    pipes = OutputPipes(None)
    yield pipes
    pipes.close()


def test_what_stages_and_their_children_print_is_shown_here_until_they_end(
    pipes: OutputPipes, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", WORKER, *pipes.paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    pipes.close()
    assert capsys.readouterr() == (
        "stage 1, grüße\nstage 2, grüße\nstage 1, b\nstage 2, b\n",
        "of a child: grüße\nof a child: b\n",
    )
    assert done.stdout == "after\n"
    assert not Path(pipes.paths[0]).parent.exists()


def test_a_worker_whose_job_has_ended_prints_where_it_did_before(pipes: OutputPipes) -> None:
    pipes.close()
    command = [sys.executable, "-c", WORKER, *pipes.paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-2:] == ["stage 2, b", "after"]


class Closed(io.StringIO):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def test_a_worker_learns_that_nobody_reads_what_it_prints(pipes: OutputPipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    program = "import sys\nwith open(sys.argv[1], 'w', buffering=1) as file:\n    while True: print('a', file=file)"
    command = [sys.executable, "-c", program, pipes.paths[0]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.endswith("BrokenPipeError: [Errno 32] Broken pipe\n")


def shout(number: int) -> int:
    print("function", number, flush=True)
    print("warning", number, file=sys.stderr)
    return number


def job() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    env.from_collection([1, 2], Types.INT()).map(shout, Types.INT()).print()
    return env


@pytest.mark.spark
def test_functions_of_a_batch_job_print_before_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    job().execute()
    assert capsys.readouterr() == ("function 1\nfunction 2\n1\n2\n", "warning 1\nwarning 2\n")


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_function_whose_output_nobody_reads_ends_its_job_for_good(
    is_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    if is_closed:
        os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        failure = UserFunctionError.of(BrokenPipeError(), Operator()).failure
        monkeypatch.undo()
    assert failure["is_recoverable"] is not is_closed
    assert failure["message"] == ("OutputClosedError" if is_closed else "BrokenPipeError")
    if not is_closed:
        os.close(reading)
