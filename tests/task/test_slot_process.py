"""A slot's process, as the TaskExecutor and Spark's workers speak with it."""

from __future__ import annotations

import multiprocessing
import pickle
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.graph.job_graph import JobGraph
from firesteel.task import slot_process
from firesteel.task.messages import LENGTH, Deploy, encode_message
from firesteel.task.protocol import END_GATE, REQUEST_GATE, StageRequest, read_frame, write_frame, write_message


def a_job() -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).print()
    return env.get_stream_graph().get_job_graph()


class Slot:
    """The process, and both ends that it talks to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._job = a_job()
        self._enumerator = SplitEnumerator(self._job, 1)
        control, self._data = str(directory / "control"), str(directory / "data")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(control)
            listener.listen()
            arguments = ("allocation", control, self._data)
            self._process = multiprocessing.get_context("fork").Process(target=slot_process.main, args=arguments)
            self._process.start()
            self._control, _ = listener.accept()
        self._hear()

    def _hear(self) -> Any:
        (length,) = LENGTH.unpack(self._control.recv(LENGTH.size, socket.MSG_WAITALL))
        return pickle.loads(self._control.recv(length, socket.MSG_WAITALL))

    def deploy(self, attempt: int) -> None:
        job = cloudpickle.dumps(self._job)
        self._control.sendall(encode_message(Deploy(f"attempt-{attempt}", job, 0, attempt, (), {})))
        assert self._hear().execution_attempt_id == f"attempt-{attempt}"

    def answers(self, run: int, batch_id: int) -> bool:
        """Whether it runs a batch for a run, to the end."""
        versions, plan = self.directory / f"versions-{run}", pickle.dumps(self._enumerator.plan(0))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._data)
            reader, writer = connection.makefile("rb"), connection.makefile("wb")
            request = StageRequest(0, batch_id, str(self.directory), str(versions), plan)
            try:  # A refused request may not even be read to its end.
                write_message(writer, REQUEST_GATE, request)
                write_frame(writer, (0, 0, END_GATE, b""))
                writer.flush()
                while read_frame(reader)[2] != END_GATE:
                    pass
            except ConnectionError:
                return False
            finally:
                for stream in (reader, writer):
                    with suppress(OSError):
                        stream.close()
        return True

    def versions(self, run: int) -> list[str]:
        return sorted(path.name for path in (self.directory / f"versions-{run}").glob("0/0/*"))

    def end(self) -> None:
        self._control.close()
        self._process.join(10)
        assert self._process.exitcode == 0


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    started = Slot(tmp_path)
    yield started
    started.end()


def test_what_comes_late_of_a_run_before_is_not_done_for_the_next_one(slot: Slot) -> None:
    slot.deploy(0)
    assert slot.answers(run=1, batch_id=0)
    slot.deploy(1)
    assert not slot.answers(run=1, batch_id=1)
    assert slot.versions(1) == ["0.full"]
    assert slot.answers(run=2, batch_id=0)
    assert not slot.answers(run=1, batch_id=1)
    assert slot.answers(run=2, batch_id=1)
    assert (slot.versions(1), slot.versions(2)) == (["0.full"], ["0.full", "1.delta"])


def test_a_run_has_versions_of_its_own_though_one_before_came_first(slot: Slot) -> None:
    """A process that was forked for a run does not know those before."""
    slot.deploy(1)
    assert slot.answers(run=1, batch_id=0)
    assert slot.answers(run=2, batch_id=0)
    assert not slot.answers(run=1, batch_id=1)
    assert slot.answers(run=2, batch_id=1)
    assert slot.versions(2) == ["0.full", "1.delta"]
