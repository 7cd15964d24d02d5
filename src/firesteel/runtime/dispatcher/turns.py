"""Work that comes in crowds, spread over the rounds of the loop."""

from __future__ import annotations

import asyncio

__all__ = ["Turns"]


class Turns:
    """Lets one caller go on in each round of the loop, in the order in which they came.

    A loop carries out all that is ready before it looks for anything new: a thousand jobs submitted at once would keep
    everybody else waiting until each of them has been taken. What a caller does after its turn goes on beside others.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Return when it is the caller's turn."""
        async with self._lock:
            await asyncio.sleep(0)
