"""The TaskExecutor's side of `task.question_server`: it asks slot processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

from firesteel.common.json_types import Json
from firesteel.task.question_server import TOPICS, socket_of

_MOST_BYTES: Final = 64 << 20

A = TypeVar("A")


class SlotConnection:
    """A connection to a slot process, made by the first question, for those that follow.

    A new connection would wait for the lock of the interpreter, which user code holds, twice more than a question does.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, question: Mapping[str, Json], timeout_s: float, otherwise: A) -> A:
        """Ask the process; return another answer if it ends meanwhile, or does not answer."""
        try:
            async with asyncio.timeout(timeout_s), self._turn:
                return await self._answer(question)
        except (OSError, TimeoutError, ValueError):
            return otherwise

    async def _answer(self, question: Mapping[str, Json]) -> A:
        if self._streams is not None and self._streams[0].at_eof():
            self.close()  # The process closes it if nobody asks for long.
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(str(self._path), limit=_MOST_BYTES)
        reader, writer = self._streams
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            answer: A = json.loads(await reader.readline())
        except BaseException:  # Nor may the next question take what comes late for its answer.
            self.close()
            raise
        return answer

    def close(self) -> None:
        """Close it; another question would connect again."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def ask(path: Path, question: Mapping[str, Json], timeout_s: float, otherwise: A) -> A:
    """Ask the process at a socket once; return another answer if it ends meanwhile, or does not answer."""
    with contextlib.closing(SlotConnection(path)) as connection:
        return await connection.ask(question, timeout_s, otherwise)


def forget_process(directory: Path, process_id: int) -> None:
    """Remove the sockets of a process that has ended."""
    for topic in TOPICS:
        with contextlib.suppress(OSError):
            socket_of(directory, process_id, topic).unlink()
