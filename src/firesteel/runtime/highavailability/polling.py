"""Polling in threads, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from firesteel.runtime.highavailability.high_availability import LeaderListener
from firesteel.runtime.highavailability.shared_election import Published
from firesteel.runtime.thread_pools import HIGH_AVAILABILITY

__all__ = ["LeaderPoller", "PolledLeaderRetrieval", "Poller"]

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Poller(Generic[T]):
    """A loop that calls `look` in a thread, immediately and then every `interval_s`, and `tell` with each result.

    Args:
        interval_s: Pause between two polls.
        look: Returns a result; may block.
        tell: Called on the event loop with the result. Errors of both are logged and do not end the polling.
        run: Runs `look` in a thread; None uses the threads of high availability, which a slow store may all block.
    """

    def __init__(
        self,
        interval_s: float,
        look: Callable[[], T],
        tell: Callable[[T], object],
        run: Callable[[Callable[[], T]], Awaitable[T]] | None = None,
    ) -> None:
        self._interval_s = interval_s
        self._look = look
        self._tell = tell
        self._run_look = run or HIGH_AVAILABILITY.run
        self._stopping = asyncio.Event()
        self._task: asyncio.Future[None] = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Stop polling; returns after the last poll has ended. Idempotent."""
        self._stopping.set()
        # A listener may stop the poller that is calling it, which must not wait for itself.
        if asyncio.current_task() is not self._task:
            await self._task

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                found = await self._run_look(self._look)
                if not self._stopping.is_set():
                    self._tell(found)
            # A poll that fails changes nothing: leadership ends by its lock or lease alone, and the next poll may
            # succeed.
            except OSError as error:
                logger.warning("polling the state of high availability failed: %s", error)
            except Exception:
                logger.warning("polling the state of high availability failed", exc_info=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._interval_s)


class LeaderPoller:
    """A poller of leaders that serves all listeners with one poll.

    Args:
        interval_s: Pause between two polls.
        look: Returns the leaders of some components; may block.
    """

    def __init__(self, interval_s: float, look: Callable[[tuple[str, ...]], dict[str, Published]]) -> None:
        self._interval_s = interval_s
        self._look = look
        self._retrievals: list[PolledLeaderRetrieval] = []
        self._poller: Poller[dict[str, Published]] | None = None

    def add(self, retrieval: PolledLeaderRetrieval) -> None:
        """Serve another listener from the next poll on."""
        self._retrievals.append(retrieval)
        if self._poller is None:
            self._poller = Poller(self._interval_s, self._find, self._tell)

    def discard(self, retrieval: PolledLeaderRetrieval) -> None:
        """Stop serving a listener."""
        if retrieval in self._retrievals:
            self._retrievals.remove(retrieval)

    async def close(self) -> None:
        """Stop polling."""
        self._retrievals.clear()
        if self._poller is not None:
            await self._poller.stop()
            self._poller = None

    def _find(self) -> dict[str, Published]:
        return self._look(tuple({retrieval.component for retrieval in list(self._retrievals)}))

    def _tell(self, leaders: dict[str, Published]) -> None:
        for retrieval in list(self._retrievals):
            if retrieval.component in leaders:
                retrieval.tell(leaders[retrieval.component])


class PolledLeaderRetrieval:
    """A leader retrieval for one listener and component."""

    def __init__(self, poller: LeaderPoller, component: str) -> None:
        self.component = component
        self._poller = poller
        self._listener: LeaderListener | None = None
        self._told: Published = (None, None)

    def start(self, listener: LeaderListener) -> None:
        """Notify the listener of the current leader, asynchronously, and of every later one."""
        self._listener = listener
        self._poller.add(self)

    def stop(self) -> None:
        """Stop notifying the listener."""
        self._listener = None
        self._poller.discard(self)

    def tell(self, leader: Published) -> None:
        """Notify the listener of the leader if it has changed."""
        if self._listener is not None and leader != self._told:
            self._told = leader
            self._listener.notify_leader(*leader)
