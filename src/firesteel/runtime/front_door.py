"""A bound on the connections of a server, which holds before anybody has proved anything.

Connections that do nothing give way to new ones: the longest idle one of the peer with the most connections is closed.
So neither a peer that opens many connections nor one that keeps them open locks others out, and descriptors are left
for the other work of the process.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["MAX_STRANGERS", "FrontDoor", "Visit", "connection_limit"]

MAX_STRANGERS = 500
"""Maximum number of connections between processes that have not proved yet that they know the secret."""


def connection_limit(most: int) -> int:
    """Return how many connections a server may have: `most`, or half of the descriptors that this process may open."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if descriptors == resource.RLIM_INFINITY else max(4, min(most, descriptors // 2))


@dataclass(eq=False, slots=True)
class Visit:
    """A connection.

    Attributes:
        peer: The address of the host at the other end.
        close: Closes the connection at once.
    """

    peer: str
    close: Callable[[], object]
    _door: FrontDoor = field(repr=False)

    def begin(self) -> None:
        """Record that the connection serves a request, and is not idle."""
        self._door.idle.pop(self, None)

    def end(self) -> None:
        """Record that the connection has served its request."""
        if self in self._door.visits:
            self._door.idle.pop(self, None)
            self._door.idle[self] = None

    def leave(self) -> None:
        """Record that the connection is closed, or does not count any more. Idempotent."""
        if self in self._door.visits:
            self._door.visits.discard(self)
            self._door.idle.pop(self, None)
            self._door.of_peer[self.peer] -= 1
            self._door.of_peer += Counter()  # Remove peers without connections.


class FrontDoor:
    """Admits connections.

    Args:
        maximum: Maximum number of connections.
        per_peer: Maximum number of connections of one host; half of all if None.

    Example:
        >>> closed = []
        >>> door = FrontDoor(2, per_peer=2)
        >>> visits = [door.admit("10.0.0.1", lambda n=n: closed.append(n)) for n in range(3)]
        >>> closed
        [0]
    """

    def __init__(self, maximum: int, per_peer: int | None = None) -> None:
        self._maximum = maximum
        self._per_peer = max(1, maximum // 2) if per_peer is None else per_peer
        self.visits: set[Visit] = set()
        self.idle: dict[Visit, None] = {}
        self.of_peer: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self.visits)

    def admit(self, peer: str, close: Callable[[], object]) -> Visit | None:
        """Return the visit of a new connection, which is idle at first; None if it must be refused."""
        if self.of_peer[peer] >= self._per_peer:
            if not self._evict(peer):
                return None
        elif len(self.visits) >= self._maximum and not self.make_room():
            return None
        visit = Visit(peer, close, self)
        self.visits.add(visit)
        self.idle[visit] = None
        self.of_peer[peer] += 1
        return visit

    def make_room(self) -> bool:
        """Close the longest idle connection of the peer with the most; return False if all connections are in use."""
        return any(self._evict(peer) for peer, _ in self.of_peer.most_common())

    def _evict(self, peer: str) -> bool:
        visit = next((visit for visit in self.idle if visit.peer == peer), None)
        if visit is None:
            return False
        visit.leave()
        visit.close()
        return True
