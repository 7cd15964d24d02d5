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


async def ask(path: Path, question: Mapping[str, Json], timeout_s: float, otherwise: A) -> A:
    """Ask the process at a socket; return another answer if it ends meanwhile, or does not answer."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=_MOST_BYTES)
            with contextlib.closing(writer):
                writer.write(json.dumps(question).encode() + b"\n")
                answer: A = json.loads(await reader.read())
                return answer
    except (OSError, TimeoutError, ValueError):
        return otherwise


def forget_process(directory: Path, process_id: int) -> None:
    """Remove the sockets of a process that has ended."""
    for topic in TOPICS:
        with contextlib.suppress(OSError):
            socket_of(directory, process_id, topic).unlink()
