"""Writers of a job whose parallelism changes: nothing that a subtask has numbered is numbered so again."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from typing import Any

import pytest

import firesteel.connectors
from firesteel.common.keys.key_groups import default_max_parallelism
from firesteel.functions.connector_base import CommitRequest, Sink, SinkWriter
from firesteel.operators.chain.operator import TaskInfo
from firesteel.operators.sinks.sinks import SinkWriterRunner

NUMBERS_NOTHING = {
    "DataFileWriter": "a base of writers; what numbers them is their own",
    "DeltaWriter": "each instance begins a transaction log of its own with a random id",
    "IcebergWriter": "its committables have random ids",
}
"""Writers with a state that keep no numbers, with the reason."""


def writers() -> list[type[SinkWriter[Any]]]:
    found = set()
    for module in pkgutil.walk_packages(firesteel.connectors.__path__, "firesteel.connectors."):
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, SinkWriter) and value is not SinkWriter:
                found.add(value)
    return sorted(found, key=lambda writer: writer.__name__)


def test_each_writer_with_a_state_says_what_it_does_with_the_numbers_of_others() -> None:
    undecided = [
        writer.__name__
        for writer in writers()
        if writer.snapshot_state is not SinkWriter.snapshot_state
        and writer.begin_after is SinkWriter.begin_after
        and writer.__name__ not in NUMBERS_NOTHING
    ]
    assert len(writers()) > 4
    assert undecided == []


class Letters(Sink[str]):
    """Prepares each element as a committable."""

    def is_two_phase(self) -> bool:
        return True

    def create_writer(self, context: Any) -> SinkWriter[str]:
        return _LettersWriter()


class _LettersWriter(SinkWriter[str]):
    def __init__(self) -> None:
        self._written: list[str] = []

    def write(self, element: str, timestamp: int | None) -> None:
        self._written.append(element)

    def prepare_commit(self) -> Sequence[str]:
        written, self._written = self._written, []
        return written


class Output:
    def __init__(self) -> None:
        self.requests: list[CommitRequest] = []

    def emit(self, requests: list[CommitRequest], _: object) -> None:
        self.requests += requests


def writer(subtask: int, parallelism: int) -> tuple[SinkWriterRunner, Output]:
    task = TaskInfo("job", "vertex", "sink", subtask, parallelism, default_max_parallelism(1), 0, False, {}, None)
    output = Output()
    runner = SinkWriterRunner("sink", task, output, Letters(), None)  # type: ignore[arg-type]
    runner.open()
    return runner, output


@pytest.mark.parametrize("parallelisms", [(3, 1, 3), (1, 3, 2), (2, 3, 1, 3)])
def test_a_subtask_that_comes_back_numbers_its_requests_anew(parallelisms: tuple[int, ...]) -> None:
    seen: set[tuple[int, int]] = set()
    snapshots: list[Any] = []
    for generation, parallelism in enumerate(parallelisms):
        runners = [writer(subtask, parallelism) for subtask in range(parallelism)]
        for subtask, (runner, output) in enumerate(runners):
            if snapshots:
                runner.take_over(snapshots)
            runner.process(["a"] * (5 - generation + subtask), None)
            runner.end_batch()
            numbered = {(request.subtask_index, request.number) for request in output.requests}
            assert seen.isdisjoint(numbered)
            seen |= numbered
        snapshots = [snapshot for runner, _ in runners if (snapshot := runner.snapshot()) is not None]
