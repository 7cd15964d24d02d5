"""Programs that tests start as processes of their own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping


async def python(*arguments: object) -> asyncio.subprocess.Process:
    """A module of the tests, run as a program."""
    command = [sys.executable, "-m", *map(str, arguments)]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)


async def paused_leader(configuration: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await python("tests.runtime.highavailability.paused_leader", json.dumps(configuration))


async def line(of: asyncio.subprocess.Process) -> str:
    """The next line that a program says."""
    assert of.stdout is not None
    return (await asyncio.wait_for(of.stdout.readline(), 30)).decode().strip()
