"""High availability as one simulated process sees it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from tests.simulation.core.virtual_time import SimulatedProcess, later


class ProcessHa:
    """High availability as seen by one process: its callbacks run in that process."""

    def __init__(
        self, shared: EmbeddedHaServices, process: SimulatedProcess, learns_late: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._process = process
        self._ha = shared.for_process()
        self._learns_late = learns_late

    def stores(self, session_id: str | None) -> Any:
        stores = self._ha.stores(session_id)
        storage = stores.job_graphs._storage
        watch = storage.watch
        storage.watch = lambda folder, listener: watch(folder, lambda names: self._process.call(listener, names))
        return stores

    def leader_election(self, component: str) -> Any:
        return _Election(self._ha.leader_election(component), self._process, self._learns_late)

    def leader_retrieval(self, component: str) -> Any:
        return _Retrieval(self._ha.leader_retrieval(component), self._process)

    async def close(self) -> None:
        await self._ha.close()

    async def expire(self) -> None:
        """The process is dead, and so by now is its session."""
        await self._ha._election._driver.close()


class _Election:
    """A contender learns of the loss of its leadership late, as from a service that it has to ask."""

    def __init__(self, election: Any, process: SimulatedProcess, learns_late: Callable[[], float]) -> None:
        self._election = election
        self._process = process
        self._learns_late = learns_late
        self._told_until_s = 0.0
        self._news: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()

    async def start(self, contender: Any) -> None:
        self._contender = contender
        await self._election.start(self)

    def grant_leadership(self, session_id: str) -> None:
        self._tell(0.0, self._contender.grant_leadership, session_id)

    def revoke_leadership(self) -> None:
        self._tell(self._learns_late(), self._contender.revoke_leadership)

    def _tell(self, delay_s: float, callback: Callable[..., object], *arguments: object) -> None:
        """In order: a grant does not overtake a revocation."""
        now_s = asyncio.get_running_loop().time()
        self._told_until_s = max(self._told_until_s, now_s + delay_s)
        self._news.append((callback, arguments))
        later(self._told_until_s - now_s, self._tell_next)

    def _tell_next(self) -> None:
        callback, arguments = self._news.popleft()
        self._process.call(callback, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._election, name)


class _Retrieval:
    def __init__(self, retrieval: Any, process: SimulatedProcess) -> None:
        self._retrieval = retrieval
        self._process = process

    def start(self, listener: Any) -> None:
        self._retrieval.start(_Told(listener, self._process))

    def stop(self) -> None:
        self._retrieval.stop()


class _Told:
    """A contender or listener that is called in its process."""

    def __init__(self, listener: Any, process: SimulatedProcess) -> None:
        self._listener = listener
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self._process.call(getattr(self._listener, name), *arguments)
