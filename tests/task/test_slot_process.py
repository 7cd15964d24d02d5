"""A slot's process, and its protocol with the TaskExecutor and Spark's workers."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from firesteel.operators.exchange.buffers import decode
from firesteel.task import slot_process
from firesteel.task.messages import LENGTH, CancelAll, Closed, Deploy, encode_message
from firesteel.task.protocol import (
    END_GATE,
    REPORT_GATE,
    REQUEST_GATE,
    StageRequest,
    read_frame,
    write_frame,
    write_message,
)
from firesteel.task.state_seal import UNSEALED
from firesteel.task.versions import BatchTry, Chain

pytestmark = pytest.mark.libraries


def a_job(function: Callable[[Any], Any] = abs) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.map(function).print()
    return env.get_stream_graph().get_job_graph()


class Slot:
    """The process, and both ends that it talks to."""

    def __init__(self, directory: Path, job: JobGraph) -> None:
        self.directory = directory
        self._job = job
        self._enumerator = SplitEnumerator(self._job, {}, 1)
        control, self._data = str(directory / "control"), str(directory / "data")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(control)
            listener.listen()
            arguments = ("allocation", control, self._data)
            self._process = multiprocessing.get_context("fork").Process(target=slot_process.main, args=arguments)
            self._process.start()
            self._control, _ = listener.accept()
        self._hear()
        self.chain: Chain = ()

    def _hear(self) -> Any:
        (length,) = LENGTH.unpack(self._control.recv(LENGTH.size, socket.MSG_WAITALL))
        return pickle.loads(self._control.recv(length, socket.MSG_WAITALL))

    def order(self, attempt: int) -> None:
        job = cloudpickle.dumps(self._job)
        self._control.sendall(encode_message(Deploy(f"graph_vertex_0_{attempt}", job, 0, 0, attempt, (), {}, UNSEALED)))

    def wait_for_message(self) -> None:
        self._control.recv(1, socket.MSG_PEEK)

    def deploy(self, attempt: int) -> None:
        self.order(attempt)
        assert self._hear().execution_attempt_id == f"graph_vertex_0_{attempt}"

    def answers(self, attempt: int, run: int, batch_id: int) -> bool:
        """Whether it runs a batch for the tasks of an attempt, to the end."""
        (self.directory / f"versions-{run}").mkdir(exist_ok=True)
        plan = pickle.dumps(self._enumerator.plan(0))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._data)
            reader, writer = connection.makefile("rb"), connection.makefile("wb")
            at = BatchTry(run, batch_id)
            request = StageRequest(0, at, str(self.directory), plan, f"graph_{attempt}", self.chain)
            try:  # A refused request may not even be read to its end.
                write_message(writer, REQUEST_GATE, request)
                write_frame(writer, (0, 0, END_GATE, b""))
                writer.flush()
                while (row := read_frame(reader))[2] != END_GATE:
                    assert row[2] == REPORT_GATE
                    self.chain = decode(row[3])[0][0][0].chain  # type: ignore[index]
            except ConnectionError:
                return False
            finally:
                for stream in (reader, writer):
                    with suppress(OSError):
                        stream.close()
        return True

    def cancel(self) -> None:
        self._control.sendall(encode_message(CancelAll()))
        assert isinstance(self._hear(), Closed)

    def interrupt(self) -> None:
        """Send the signal that comes with a cancellation, and see to it that the process has seen it."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGUSR1)
        pending = Path(f"/proc/{self._process.pid}/status")
        while int(next(line.split()[1] for line in pending.read_text().splitlines() if line.startswith("ShdPnd")), 16):
            pass

    def versions(self, run: int) -> list[str]:
        return sorted(path.name for path in (self.directory / f"versions-{run}").glob("0/0/*"))

    def end(self) -> None:
        self._control.close()
        self._process.join(10)
        assert self._process.exitcode == 0


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    started = Slot(tmp_path, a_job())
    yield started
    started.end()


def test_late_requests_of_an_earlier_run_are_not_served(slot: Slot) -> None:
    slot.deploy(0)
    assert slot.answers(attempt=0, run=1, batch_id=0)
    slot.deploy(1)
    slot.chain = ()
    assert not slot.answers(attempt=0, run=1, batch_id=1)
    assert slot.versions(1) == ["0-1.full"]
    assert slot.answers(attempt=1, run=2, batch_id=0)
    assert not slot.answers(attempt=0, run=1, batch_id=1)
    assert slot.answers(attempt=1, run=2, batch_id=1)
    assert (slot.versions(1), slot.versions(2)) == (["0-1.full"], ["0-1.full", "1-1.delta"])


def test_a_new_process_does_nothing_for_other_tasks_than_its_own(slot: Slot) -> None:
    """A process that was just forked does not know what came before."""
    slot.deploy(1)
    assert not slot.answers(attempt=0, run=1, batch_id=0)
    assert slot.answers(attempt=1, run=2, batch_id=0)
    assert (slot.versions(1), slot.versions(2)) == ([], ["0-1.full"])


def test_a_process_without_tasks_leaves_the_address_to_the_one_that_has_them(slot: Slot) -> None:
    """Two processes may have been ordered for a slot; the TaskExecutor deploys tasks in the first that connects."""
    slot.deploy(0)
    (slot.directory / "control").unlink()
    other = Slot(slot.directory, a_job())
    assert slot.answers(attempt=0, run=1, batch_id=0)
    other.end()
    assert slot.answers(attempt=0, run=1, batch_id=1)


def test_a_process_whose_messages_are_not_read_ends_in_order(slot: Slot) -> None:
    """The socket of a TaskExecutor that ends is reset if it has unread messages."""
    slot.order(0)
    slot.wait_for_message()  # The fixture checks the exit code.


def test_a_late_cancellation_signal_does_not_affect_the_next_task(slot: Slot) -> None:
    slot.deploy(0)
    assert slot.answers(attempt=0, run=1, batch_id=0)
    slot.cancel()
    slot.interrupt()
    slot.deploy(1)
    slot.chain = ()
    assert slot.answers(attempt=1, run=2, batch_id=0)


def test_requests_between_a_signal_and_its_cancellation_are_not_served(slot: Slot) -> None:
    slot.deploy(0)
    slot.interrupt()
    assert not slot.answers(attempt=0, run=1, batch_id=0)
    slot.cancel()
    slot.deploy(1)
    assert slot.answers(attempt=1, run=2, batch_id=0)


def test_an_import_is_not_interrupted(tmp_path: Path) -> None:
    """A package whose import was interrupted could never be imported again."""
    package = tmp_path / "package"
    package.mkdir()
    started, go_on = package / "started", package / "go_on"
    (package / "part.py").write_text("__all__ = ['VALUE']; VALUE = 1")
    (package / "__init__.py").write_text(
        f"import os, time; from .part import *\n"
        f"open({str(started)!r}, 'w').close()\n"
        f"while not os.path.exists({str(go_on)!r}): time.sleep(0.001)\n"
        f"__all__ = part.__all__"
    )

    def plus_one(value):
        sys.path.append(str(tmp_path))
        import package

        while package.VALUE and not (tmp_path / "interrupted").exists():
            time.sleep(0.001)
        return value + package.VALUE

    slot = Slot(tmp_path, a_job(plus_one))
    slot.deploy(0)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(slot.answers, attempt=0, run=1, batch_id=0)
        while not started.exists():
            time.sleep(0.001)
        slot.interrupt()
        go_on.touch()
        assert not answer.result()
    (tmp_path / "interrupted").touch()
    slot.cancel()
    slot.deploy(1)
    slot.chain = ()
    assert slot.answers(attempt=1, run=2, batch_id=0)
    slot.end()
