"""Answers questions about a slot process while its main thread, which runs user code, is busy.

A thread waits at a Unix socket beside the slot's own and does nothing until the TaskExecutor connects: it needs no
processor and never asks for the interpreter's lock.

Question: a line with a JSON object. Answer: a line with a JSON object. Then the next question may come. There is one
connection at a time, as only the TaskExecutor asks.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from firesteel.common.json_types import Json
from firesteel.common.short_turns import take_short_turns

STACKS, STATE = "stacks", "state"
TOPICS = (STACKS, STATE)
"""What questions are about; there is a server for each."""

_LONGEST_QUESTION = 16 << 20
_READ_AT_ONCE = 1 << 16

Question = TypeVar("Question")
Answer = Callable[[Question], Json]
"""Answers a question, which is a JSON object, in the thread of the server."""


def socket_of(directory: Path, process_id: int, topic: str) -> Path:
    """Return the socket at which a slot process answers questions about a topic."""
    return directory / f"{topic}-{process_id}"


class QuestionServer(Generic[Question]):
    """Answers the questions about one topic, one at a time.

    Args:
        path: The socket.
        answer: Answers a question.
        rest: Called by the same thread when the connection ends, also because of nobody asking for `rest_after_s`
            seconds.
        rest_after_s: How long that is.
    """

    def __init__(
        self, path: Path, answer: Answer[Question], rest: Callable[[], None] | None = None, rest_after_s: float = 60.0
    ) -> None:
        self._answer = answer
        self._rest, self._rest_after_s = rest, rest_after_s
        self._name = f"{path.name.partition('-')[0]}-server"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)  # of a former process with the same id
        self._socket.bind(str(path))
        self._socket.listen()

    def start(self) -> None:
        """Start the thread, which ends with the process."""
        threading.Thread(target=self._serve, name=self._name, daemon=True).start()

    def _serve(self) -> None:
        take_short_turns()
        while True:
            connection, _ = self._socket.accept()
            _limit_waiting(connection, self._rest_after_s)
            try:
                with connection:
                    self._answer_all(connection)
            except OSError:
                pass  # The TaskExecutor has given up, or has not asked for long.
            except Exception:
                traceback.print_exc()  # The next question may be answered.
            if self._rest is not None:
                self._rest()

    def _answer_all(self, connection: socket.socket) -> None:
        while line := _line(connection):
            connection.sendall(json.dumps(self._answer(json.loads(line))).encode() + b"\n")


def _limit_waiting(connection: socket.socket, seconds: float) -> None:
    """Let the kernel end the waiting for a question: with Python's own timeout each `recv` is two calls."""
    # After each call the thread waits for the interpreter's lock, which user code may hold for long.
    connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    )


def _line(connection: socket.socket) -> bytes:
    # Not by a file object: each read gives up the interpreter's lock, and busy user code lets it wait for that.
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST_QUESTION:
        part = connection.recv(_READ_AT_ONCE)
        if not part:
            break
        data += part
    return data
