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
"""Address and session id of a leader, as retrievals see them; None, None if there is none."""


class ElectionListener(Protocol):
    """Hears from the driver, on the loop. Flink: `leaderelection.LeaderElectionDriver.Listener`."""

    def granted(self, session_id: str) -> None:
        """The process leads, under a session id that was never used before."""

    def revoked(self) -> None:
        """The process leads no longer."""

    def information_changed(self, component: str, published: Published) -> None:
        """Who leads a component, as all can see it, may have changed."""


class LeaderElectionDriver(Protocol):
    """Contends for the process where the kind of high availability says. Flink: `LeaderElectionDriver`."""

    def start(self, listener: ElectionListener) -> None:
        """Take part."""

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Let all see who leads a component; None: nobody. Without effect if the session is over."""

    async def close(self) -> None:
        """Leave; what was published disappears. May be started again."""


class SharedLeaderElection:
    """Elects a process; all of its components lead with it, under one session id.

    Flink: `leaderelection.DefaultLeaderElectionService` (1.17 and later). The process takes part while it has
    contenders.

    Args:
        driver: How the process contends.
    """

    def __init__(self, driver: LeaderElectionDriver) -> None:
        self._driver = driver
        self._session_id: str | None = None
        self._contenders: dict[str, LeaderContender] = {}
        self._confirmed: dict[str, str] = {}
        self._is_started = False

    @property
    def session_id(self) -> str | None:
        """The present leader session; None while another process leads."""
        return self._session_id

    def component(self, component: str) -> ComponentLeaderElection:
        """One component's side of the election."""
        return ComponentLeaderElection(self, component)

    async def close(self) -> None:
        """Leave the election, and call no contender any more."""
        self._contenders.clear()
        await self._stop()

    # What contenders do

    def join(self, component: str, contender: LeaderContender) -> None:
        """Let a component take part; it is granted at once if the process leads.

        Raises:
            ValueError: the component takes part already.
        """
        if component in self._contenders:
            raise ValueError(f"component {component!r} of this process takes part in the election already")
        self._contenders[component] = contender
        if self._session_id is not None:
            self._grant(component, self._session_id)
        elif not self._is_started:
            self._is_started = True
            self._driver.start(self)

    def confirm(self, component: str, session_id: str, address: str) -> None:
        """Publish a component's address, if the session is the present one."""
        if self.has_leadership(component, session_id):
            self._confirmed[component] = address
            self._driver.publish(component, session_id, address)
        else:
            logger.info("%s was not confirmed at %s: session %s is over", component, address, session_id)

    def has_leadership(self, component: str, session_id: str) -> bool:
        """Whether the component leads in that session."""
        return component in self._contenders and self._session_id == session_id

    async def leave(self, component: str) -> None:
        """Let a component take part no longer."""
        self._contenders.pop(component, None)
        if self._confirmed.pop(component, None) is not None and self._session_id is not None:
            self._driver.publish(component, self._session_id, None)
        if not self._contenders:
            await self._stop()

    # What the driver tells

    def granted(self, session_id: str) -> None:
        """The process leads: so do its components."""
        self._session_id = session_id
        for component in list(self._contenders):
            self._grant(component, session_id)

    def revoked(self) -> None:
        """The process leads no longer."""
        if self._session_id is None:
            return
        self._session_id = None
        self._confirmed.clear()
        for component, contender in list(self._contenders.items()):
            self._soon(component, contender, contender.revoke_leadership)

    def information_changed(self, component: str, published: Published) -> None:
        """Publish again what someone overwrote; only a leader does."""
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
            if self._contenders.get(component) is contender:
                tell()

        asyncio.get_running_loop().call_soon(tell_if_present)


class ComponentLeaderElection:
    """One component's side of the election of its process. Flink: `leaderelection.DefaultLeaderElection`."""

    def __init__(self, election: SharedLeaderElection, component: str) -> None:
        self._election = election
        self._component = component
        self._has_joined = False

    async def start(self, contender: LeaderContender) -> None:
        """Take part; the grant comes soon, not in the caller's stack."""
        self._election.join(self._component, contender)
        self._has_joined = True

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored unless that session is the present one."""
        self._election.confirm(self._component, session_id, address)

    def has_leadership(self, session_id: str) -> bool:
        """Whether that session is the present one."""
        return self._has_joined and self._election.has_leadership(self._component, session_id)

    async def close(self) -> None:
        """Take part no longer; nothing is called afterwards."""
        if self._has_joined:
            self._has_joined = False
            await self._election.leave(self._component)
