"""An election whose state is polled, as it has no notifications."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.polling import Poller
from firesteel.runtime.highavailability.shared_election import ElectionListener, Published

__all__ = ["Leadership", "PolledLeaderElectionDriver"]

logger = logging.getLogger(__name__)


class Leadership(Protocol):
    """What processes contend for. All methods block, and are called in one thread."""

    def acquire(self) -> str | None:
        """Return the id of a new session if this process leads now."""
        ...

    def keeps(self, session_id: str) -> bool:
        """Return whether this process still leads in a session; renew it if it has to be renewed."""
        ...

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component, None for no leader.

        Raises:
            StaleLeaderError: the session is over.
        """

    def leaders(self, components: tuple[str, ...]) -> dict[str, Published]:
        """Return the leaders of some components, ignoring those published by former leaders."""
        ...

    def release(self) -> None:
        """Stop leading; what was published is removed before."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """The result of polling the election: this process's session if it leads, and the published leaders."""

    session_id: str | None
    leaders: dict[str, Published]


class PolledLeaderElectionDriver:
    """An election driver that asks for the leadership again and again.

    Args:
        leadership: What the processes contend for.
        interval_s: Polling interval in seconds.
    """

    def __init__(self, leadership: Leadership, interval_s: float) -> None:
        self._leadership = leadership
        self._interval_s = interval_s
        # One thread, so that no address is published under a session that was just given up.
        self._thread = ThreadPoolExecutor(1, "leader-election")
        self._session_id: str | None = None
        self._published: set[str] = set()
        self._due: dict[str, str | None] = {}
        self._poller: Poller[_Finding] | None = None
        self._listener: ElectionListener | None = None
        self._told: str | None = None

    def start(self, listener: ElectionListener) -> None:
        """Join the election."""
        self._listener = listener
        self._poller = Poller(self._interval_s, self._look, self._tell, self._in_thread)

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component."""
        work = self._thread.submit(self._publish_if_possible, component, session_id, address)
        work.add_done_callback(lambda done: _log_error(done, component))

    async def close(self) -> None:
        """Leave the election; published addresses disappear."""
        if self._poller is not None:
            await self._poller.stop()
            self._poller = None
        self._told = None
        await asyncio.wrap_future(self._thread.submit(self._leave))

    def _in_thread(self, look: Callable[[], _Finding]) -> Awaitable[_Finding]:
        return asyncio.wrap_future(self._thread.submit(look))

    def _tell(self, finding: _Finding) -> None:
        if self._listener is None:
            return
        if finding.session_id == self._told:
            for component, leader in finding.leaders.items():
                self._listener.information_changed(component, leader)
            return
        former, self._told = self._told, finding.session_id
        if former is not None:
            self._listener.revoked()
        if finding.session_id is not None:
            self._listener.granted(finding.session_id)

    # Run in the thread, which serializes all actions on this process's leadership.

    def _look(self) -> _Finding:
        if self._session_id is None:
            self._session_id = self._leadership.acquire()
        elif not self._leadership.keeps(self._session_id):
            self._give_up()
        for component, address in list(self._due.items()):
            if self._session_id is None or not self._publish_or_note(component, self._session_id, address):
                break  # Each attempt may take a time-out, and the renewal of the leadership must not wait for all.
        return _Finding(self._session_id, self._published_leaders())

    def _published_leaders(self) -> dict[str, Published]:
        """Return what others read of this process; nothing if that fails, which must not hide a lost leadership."""
        try:
            return self._leadership.leaders(tuple(self._published)) if self._published else {}
        except (OSError, FiresteelError) as error:
            logger.info("the published leaders could not be read: %s", error)
            return {}

    def _publish_if_possible(self, component: str, session_id: str, address: str | None) -> None:
        """Publish an address; while others are due, it waits with them for the next poll."""
        if self._due and session_id == self._session_id:
            self._due[component] = address
        else:
            self._publish_or_note(component, session_id, address)

    def _publish_or_note(self, component: str, session_id: str, address: str | None) -> bool:
        """Publish an address and return True; if the disk or store rejects it, the next poll retries."""
        if session_id != self._session_id:
            return True
        try:
            self._publish(component, session_id, address)
        except StaleLeaderError:
            raise
        except Exception as error:
            if component not in self._due:
                logger.warning("the leader of %s could not be published; it is retried: %s", component, error)
            self._due[component] = address
            return False
        self._due.pop(component, None)
        return True

    def _publish(self, component: str, session_id: str, address: str | None) -> None:
        if address is None:
            self._published.discard(component)
        self._leadership.publish(component, session_id, address)
        if address is not None:
            self._published.add(component)

    def _leave(self) -> None:
        try:
            for component in self._published:
                if self._session_id is not None:
                    self._leadership.publish(component, self._session_id, None)
        except StaleLeaderError:
            logger.info("another process is already the leader")
        except (OSError, FiresteelError) as error:
            logger.warning("the address of a former leader could not be removed: %s", error)
        self._give_up()

    def _give_up(self) -> None:
        self._published.clear()
        self._due.clear()
        self._session_id = None
        self._leadership.release()


def _log_error(done: Future[None], component: str) -> None:
    if done.exception() is not None:
        logger.info("the leader of %s could not be published: %s", component, done.exception())
