"""One election per process, for all of its components."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from firesteel.runtime.highavailability.high_availability import LeaderContender

__all__ = ["ElectionListener", "LeaderElectionDriver", "Published", "SharedLeaderElection"]

logger = logging.getLogger(__name__)

Published = tuple[str | None, str | None]
"""Address and session id of a leader as published; None, None if there is none."""


class ElectionListener(Protocol):
    """A listener to the driver, called on the loop. Flink: `leaderelection.LeaderElectionDriver.Listener`."""

    def granted(self, session_id: str) -> None:
        """Handle that the process leads, under a session id that was never used before."""

    def revoked(self) -> None:
        """Stop leading with the process."""

    def information_changed(self, component: str, published: Published) -> None:
        """Handle that the published leader of a component may have changed."""


class LeaderElectionDriver(Protocol):
    """The part of an election that depends on the kind of high availability. Flink: `LeaderElectionDriver`."""

    def start(self, listener: ElectionListener) -> None:
        """Join the election."""

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component, None for no leader. No effect if the session is over."""

    async def close(self) -> None:
        """Leave the election; published addresses disappear. The driver may be started again."""


class SharedLeaderElection:
    """An election of processes; all components of a process lead with it, under one session id.

    Flink: `leaderelection.DefaultLeaderElectionService` (1.17 and later). The process contends while it has contenders.

    Args:
        driver: The driver of the election.
    """

    def __init__(self, driver: LeaderElectionDriver) -> None:
        self._driver = driver
        self._session_id: str | None = None
        self._contenders: dict[str, LeaderContender] = {}
        self._confirmed: dict[str, str] = {}
        self._is_started = False

    @property
    def session_id(self) -> str | None:
        """The current leader session; None while another process leads."""
        return self._session_id

    def component(self, component: str) -> ComponentLeaderElection:
        """Return a component's handle to the election."""
        return ComponentLeaderElection(self, component)

    async def close(self) -> None:
        """Leave the election; contenders are not called any more."""
        self._contenders.clear()
        await self._stop()

    # Calls of contenders

    def join(self, component: str, contender: LeaderContender) -> None:
        """Add a component as contender; it is granted leadership at once if the process leads.

        Raises:
            ValueError: the component already contends.
        """
        if component in self._contenders:
            raise ValueError(f"component {component!r} of this process already takes part in the election")
        self._contenders[component] = contender
        if self._session_id is not None:
            self._grant(component, self._session_id)
        elif not self._is_started:
            self._is_started = True
            self._driver.start(self)

    def confirm(self, component: str, session_id: str, address: str) -> None:
        """Publish a component's address if the session is the current one."""
        if self.has_leadership(component, session_id):
            self._confirmed[component] = address
            self._driver.publish(component, session_id, address)
        else:
            logger.info("%s was not confirmed at %s: session %s is over", component, address, session_id)

    def has_leadership(self, component: str, session_id: str) -> bool:
        """Return whether the component leads in a session."""
        return component in self._contenders and self._session_id == session_id

    async def leave(self, component: str) -> None:
        """Remove a component from the election."""
        self._contenders.pop(component, None)
        if self._confirmed.pop(component, None) is not None and self._session_id is not None:
            self._driver.publish(component, self._session_id, None)
        if not self._contenders:
            await self._stop()

    # Calls of the driver

    def granted(self, session_id: str) -> None:
        """Grant leadership to all components of the process."""
        self._session_id = session_id
        for component in list(self._contenders):
            self._grant(component, session_id)

    def revoked(self) -> None:
        """Stop leading with the process."""
        if self._session_id is None:
            return
        self._session_id = None
        self._confirmed.clear()
        for component, contender in list(self._contenders.items()):
            self._soon(component, contender, contender.revoke_leadership)

    def information_changed(self, component: str, published: Published) -> None:
        """Publish the leader again if the entry was overwritten while this process leads."""
        address = self._confirmed.get(component)
        if self._session_id is not None and address is not None and published != (address, self._session_id):
            logger.warning("the leader of %s was overwritten with %s; it is published again", component, published)
            self._driver.publish(component, self._session_id, address)

    async def _stop(self) -> None:
        if self._is_started:
            self._is_started = False
            self.revoked()
            await self._driver.close()

    def _grant(self, component: str, session_id: str) -> None:
        contender = self._contenders[component]
        self._soon(component, contender, lambda: contender.grant_leadership(session_id))

    def _soon(self, component: str, contender: LeaderContender, tell: Callable[[], None]) -> None:
        def tell_if_present() -> None:
            # The component may have left, or joined anew, before the callback runs.
            if self._contenders.get(component) is contender:
                tell()

        asyncio.get_running_loop().call_soon(tell_if_present)


class ComponentLeaderElection:
    """A component's handle to the election of its process. Flink: `leaderelection.DefaultLeaderElection`."""

    def __init__(self, election: SharedLeaderElection, component: str) -> None:
        self._election = election
        self._component = component
        self._has_joined = False

    async def start(self, contender: LeaderContender) -> None:
        """Join the election; leadership is granted asynchronously, never in the caller's stack."""
        self._election.join(self._component, contender)
        self._has_joined = True

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored if the session is not the current one."""
        self._election.confirm(self._component, session_id, address)

    def has_leadership(self, session_id: str) -> bool:
        """Return whether the session is the current one."""
        return self._has_joined and self._election.has_leadership(self._component, session_id)

    async def close(self) -> None:
        """Leave the election; the contender is not called any more."""
        if self._has_joined:
            self._has_joined = False
            await self._election.leave(self._component)
