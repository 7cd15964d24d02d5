"""Fair scheduling of bursts of work on the event loop."""

from __future__ import annotations

import asyncio

__all__ = ["Turns"]


class Turns:
    """A lock that lets one caller continue per iteration of the event loop, in order of arrival.

    An event loop runs all ready callbacks before it polls for new events, so a thousand jobs submitted at once would
    block all other requests until each of them is accepted. After its turn a caller runs concurrently with others.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until it is the caller's turn."""
        async with self._lock:
            await asyncio.sleep(0)
