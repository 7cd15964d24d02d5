"""Runs an endpoint while it leads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from firesteel.runtime.highavailability.high_availability import LeaderElection

__all__ = ["LeaderProcess", "LeaderRunner"]

logger = logging.getLogger(__name__)


class LeaderProcess(Protocol):
    """A process that runs per leader session: an endpoint fenced by the session id."""

    address: str

    async def start(self) -> None:
        """Start the process."""

    async def stop(self) -> None:
        """Stop the process. Idempotent."""


class LeaderRunner:
    """A contender that runs one process per leader session.

    Grants and revocations are serialized: a new process is created only after the old one has stopped, and an address
    is confirmed only if its session is still the current one. Flink: `DispatcherRunner`,
    `ResourceManagerService`, `JobMasterServiceLeadershipRunner` share this.

    Args:
        election: The election.
        create: Creates the process of a session.
        on_error: Called when a process can't be created, started or stopped; not if it can't be started because the
            leadership was lost meanwhile.
        on_revoked: Called at once when the leadership is lost, before the process stops.
    """

    def __init__(
        self,
        election: LeaderElection,
        create: Callable[[str], Awaitable[LeaderProcess]],
        on_error: Callable[[Exception], object],
        on_revoked: Callable[[], object] = lambda: None,
    ) -> None:
        self._election = election
        self._create = create
        self._on_error = on_error
        self._on_revoked = on_revoked
        self._process: LeaderProcess | None = None
        self._last: asyncio.Future[None] | None = None
        self._is_closed = False

    async def start(self) -> None:
        """Join the election."""
        await self._election.start(self)

    def grant_leadership(self, session_id: str) -> None:
        """Run a process for the session, after the previous one has stopped."""
        self._then(lambda: self._begin(session_id))

    def revoke_leadership(self) -> None:
        """Stop the current process."""
        # At once, while the process may still be starting: who asks it must not be told of a leader that is none.
        self._on_revoked()
        self._then(self._end)

    async def close(self) -> None:
        """Stop the process and leave the election. Idempotent."""
        self._is_closed = True
        self._then(self._end)
        if self._last is not None:
            # A caller that is cancelled must not cancel the end of the process, which others wait for.
            await asyncio.shield(self._last)
        await self._election.close()

    def _then(self, operation: Callable[[], Awaitable[None]]) -> None:
        self._last = asyncio.ensure_future(self._after(self._last, operation))

    async def _after(self, former: asyncio.Future[None] | None, operation: Callable[[], Awaitable[None]]) -> None:
        if former is not None:
            await former
        try:
            await operation()
        except Exception as error:
            logger.debug("a leader process failed", exc_info=True)
            self._on_error(error)

    async def _begin(self, session_id: str) -> None:
        # The session may have ended while the previous process was being stopped.
        if self._is_closed or not self._election.has_leadership(session_id):
            return
        await self._end()
        try:
            self._process = await self._create(session_id)
            if not self._election.has_leadership(session_id):
                return  # The revocation that follows stops it.
            await self._process.start()
        except Exception as error:
            if self._election.has_leadership(session_id):
                raise
            logger.info("session %s ended before it could lead: %s", session_id, error)
            return
        self._election.confirm_leadership(session_id, self._process.address)
        logger.info("%s leads in session %s", self._process.address, session_id)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.stop()
