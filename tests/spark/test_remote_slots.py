"""The slots of a lane are served concurrently."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from firesteel.common.files.spill_file import SpillFile
from firesteel.spark import remote_slots
from firesteel.spark.remote_slots import RemoteSlots
from firesteel.spark.shim import SlotFailedError
from firesteel.task.protocol import (
    END_GATE,
    ERROR_GATE,
    IDLE_GATE,
    TRY_OVER_GATE,
    Row,
    StageRequest,
    read_frame,
    write_frame,
    write_message,
)
from firesteel.task.versions import BatchTry, TryIsOverError

Serve = Callable[[int, StageRequest, IO[bytes], IO[bytes]], None]
"""(slot, request, rows in, rows out)"""

REQUEST = StageRequest(1, BatchTry(1, 0), "", b"")


@contextmanager
def slots(directory: Path, count: int, serve: Serve) -> Iterator[RemoteSlots]:
    """Slots that serve one stage each."""
    with ExitStack() as stack:
        for slot in range(count):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(directory / f"{slot}"))
            listener.listen()
            threading.Thread(target=_serve_one, args=(slot, listener, serve), daemon=True).start()
        yield RemoteSlots(
            {slot: f"slot://{directory}/{slot}" for slot in range(count)}, dict.fromkeys(range(count), "d")
        )


def _serve_one(slot: int, listener: socket.socket, serve: Serve) -> None:
    try:
        connection, _ = listener.accept()
    except OSError:  # No request came before the test was over.
        return
    # The other side may give the stage up at any time.
    with (
        suppress(ConnectionError),
        connection,
        connection.makefile("rb") as reader,
        connection.makefile("wb") as writer,
    ):
        serve(slot, pickle.loads(read_frame(reader)[3]), reader, writer)


def rows_of(reader: IO[bytes]) -> list[Row]:
    return list(iter(lambda: read_frame(reader), (0, 0, END_GATE, b"")))


def run(remote: RemoteSlots, rows: list[Row]) -> list[Row]:
    return list(remote(dict.fromkeys(range(len(remote.addresses)), REQUEST), iter(rows)))


def test_all_slots_of_a_lane_work_at_the_same_time(tmp_path: Path) -> None:
    all_have_their_rows = threading.Barrier(8, timeout=60)

    def serve(slot: int, request: StageRequest, reader: Any, writer: Any) -> None:
        assert (request.deployment, request.is_remote) == ("d", False)
        rows = rows_of(reader)
        all_have_their_rows.wait()
        for row in rows:
            write_frame(writer, (slot, *row[1:]))
        write_frame(writer, (0, 0, END_GATE, b""))

    rows = [(slot, source, 3, bytes([slot, source])) for source in range(4) for slot in range(8)]
    with slots(tmp_path, 8, serve) as remote:
        assert sorted(run(remote, rows)) == sorted(rows)


def test_a_slot_that_sends_before_it_listens_does_not_block_others(tmp_path: Path) -> None:
    large = b"x" * 20_000_000

    def serve(slot: int, _: StageRequest, reader: Any, writer: Any) -> None:
        write_frame(writer, (slot, slot, 7, large))
        writer.flush()
        total = sum(len(row[3]) for row in rows_of(reader))
        write_frame(writer, (slot, slot, 7, f"{total}".encode()))
        write_frame(writer, (0, 0, END_GATE, b""))

    with slots(tmp_path, 2, serve) as remote:
        found = run(remote, [(slot, 0, 3, large) for slot in (0, 1)])
    assert sorted(found) == sorted((slot, slot, 7, said) for slot in (0, 1) for said in (b"20000000", large))


def test_rows_that_do_not_fit_in_memory_wait_in_files_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(remote_slots, "_WAITING_BYTES", 1000)
    write = SpillFile.write
    monkeypatch.setattr(SpillFile, "write", lambda file, chunk: written.append(chunk) or write(file, chunk))

    def serve(slot: int, _: StageRequest, reader: Any, writer: Any) -> None:
        for row in rows_of(reader):
            write_frame(writer, row)
        write_frame(writer, (0, 0, END_GATE, b""))

    rows = [(number % 2, number, 3, b"x" * 100) for number in range(100)]
    with slots(tmp_path, 2, serve) as remote:
        found = run(remote, rows)
    for slot in (0, 1):
        assert [row for row in found if row[0] == slot] == [row for row in rows if row[0] == slot]
    assert written


def test_a_slot_without_rows_is_skipped_if_allowed(tmp_path: Path) -> None:
    def serve(slot: int, _: StageRequest, reader: Any, writer: Any) -> None:
        write_frame(writer, (slot, slot, 7, f"{len(rows_of(reader))}".encode()))
        write_frame(writer, (0, 0, END_GATE, b""))

    with slots(tmp_path, 3, serve) as remote:
        requests = {slot: replace(REQUEST, only_with_rows=slot > 0) for slot in range(3)}
        found = list(remote(requests, iter([(1, 0, 3, b"x")])))
    assert sorted(found) == [(0, 0, 7, b"0"), (1, 1, 7, b"1"), (2, 2, IDLE_GATE, b"1")]


@pytest.mark.parametrize(
    ("gate", "message", "expected"),
    [
        (ERROR_GATE, {"message": "boom"}, SlotFailedError),
        (TRY_OVER_GATE, "another process had it", TryIsOverError),
        (None, None, ConnectionError),
    ],
)
def test_an_error_in_one_slot_ends_the_stage(
    gate: int | None, message: Any, expected: type[Exception], tmp_path: Path
) -> None:
    def serve(slot: int, _: StageRequest, reader: Any, writer: Any) -> None:
        if slot == 1:
            if gate is not None:
                write_message(writer, gate, message)
        else:
            rows_of(reader)
            reader.read()  # Until the stage is aborted here, too.

    with slots(tmp_path, 3, serve) as remote, pytest.raises(expected):
        run(remote, [(slot, 0, 3, b"x" * 1_000_000) for slot in range(3)])
