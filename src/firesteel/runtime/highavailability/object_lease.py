"""The leadership as a lease in an object store.

The leader renews its lease by counting up `beat`. Another process takes over when it has seen the same object for as
long as a lease lasts, by its own clock: clocks of different hosts are never compared. A leader that has not renewed in
time stops leading by itself; if it is suspended, its writes are refused (`object_entries.py`), so two leaders never
both change something.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from firesteel.errors import FiresteelError
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.register import Register, Value
from firesteel.runtime.highavailability.shared_election import Published

__all__ = ["NOBODY", "ObjectLease"]

logger = logging.getLogger(__name__)

_EPOCH, _SESSION, _BEAT, _LEADERS = "epoch", "session", "beat", "leaders"

NOBODY: Value = {_EPOCH: 0, _SESSION: None, _BEAT: 0, _LEADERS: {}}
"""The lease before anybody has led."""


class ObjectLease:
    """What processes contend for. All methods but `leaders` are called in one thread.

    Args:
        lease: The object of the lease.
        entries: The entries that only the leader changes.
        lease_s: Time after which a lease that was not renewed is over, in seconds.
        now_s: A monotonic clock.
    """

    def __init__(
        self, lease: Register, entries: ObjectEntries, lease_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease = lease
        self._entries = entries
        self._lease_s = lease_s
        self._now_s = now_s
        self._held: tuple[Value, str] | None = None
        self._renewed_s = 0.0
        self._claimed: str | None = None
        self._seen: str | None = None
        self._seen_s = 0.0

    def acquire(self) -> str | None:
        """Take over if nobody leads, or if the lease of the leader is over; return the id of the new session."""
        try:
            return self._acquire()
        except FiresteelError as error:
            logger.warning("this process can't contend for leadership: %s", error)
            return None

    def _acquire(self) -> str | None:
        begun_s = self._now_s()
        value, tag = self._lease.read()
        # Its own claim need not end first: it won the lease before, but the entries could not be taken over.
        if value[_SESSION] not in (None, self._claimed) and not self._is_over(tag, begun_s, self._now_s()):
            return None
        self._claimed = session_id = uuid.uuid4().hex
        epoch = max(value[_EPOCH], self._entries.epoch())  # Different if the object of the lease was removed.
        wanted = {_EPOCH: epoch + 1, _SESSION: session_id, _BEAT: 0, _LEADERS: {}}
        written = self._lease.replace(wanted, tag)
        # Until the entries have the new epoch, the former leader may change them, so nothing is read before.
        if written is None or not self._entries.take_over(session_id, wanted[_EPOCH]):
            return None
        self._held, self._renewed_s = (wanted, written), begun_s
        return session_id

    def _is_over(self, tag: str | None, asked_s: float, answered_s: float) -> bool:
        """Return whether the lease has not changed between the first answer with it and this question."""
        if tag != self._seen:
            self._seen, self._seen_s = tag, answered_s
        return asked_s - self._seen_s >= self._lease_s

    def keeps(self, session_id: str) -> bool:
        """Renew the lease; return whether this process still leads."""
        try:
            self._replace(session_id, "renewing the lease", lambda value: value)
        except StaleLeaderError:
            return False
        except Exception as error:  # Whatever the reason is, a lease that is not renewed ends.
            left_s = self._renewed_s + self._lease_s - self._now_s()
            logger.warning("the lease could not be renewed, %.1f s are left: %s", max(0.0, left_s), error)
        return self._now_s() - self._renewed_s < self._lease_s

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component, None for no leader."""

        def change(value: Value) -> Value:
            others = {other: found for other, found in value[_LEADERS].items() if other != component}
            return value | {_LEADERS: others if address is None else others | {component: address}}

        self._replace(session_id, f"publishing {component}", change)

    def _replace(self, session_id: str, what: str, change: Callable[[Value], Value]) -> None:
        """Change the lease of a session, which renews it.

        Raises:
            StaleLeaderError: the session is over.
            RemoteFileError: the store does not answer; the lease may have been changed.
        """
        while self._held is not None:
            begun_s = self._now_s()
            value, tag = self._held
            wanted = change(value) | {_BEAT: value[_BEAT] + 1}
            written = self._lease.replace(wanted, tag)
            if written is not None:
                self._held, self._renewed_s = (wanted, written), begun_s
                return
            found, now = self._lease.read()  # A write whose answer was lost may have been this process's own.
            self._held = None if now is None or found[_SESSION] != session_id else (found, now)
        raise StaleLeaderError(what, session_id)

    def leaders(self, components: tuple[str, ...]) -> dict[str, Published]:
        """Return the leaders of some components."""
        value, _ = self._lease.read()
        found = {component: value[_LEADERS].get(component) for component in components}
        return {one: (None, None) if address is None else (address, value[_SESSION]) for one, address in found.items()}

    def release(self) -> None:
        """Give the lease back, so that others need not wait for its end."""
        held, self._held = self._held, None
        if held is None or self._now_s() - self._renewed_s >= self._lease_s:
            return
        try:
            self._lease.replace(held[0] | {_SESSION: None, _LEADERS: {}}, held[1])
        except FiresteelError as error:
            logger.warning("the lease could not be given back, it ends by itself: %s", error)
