"""Requests that wait for a slot."""

from __future__ import annotations

import itertools
from collections import OrderedDict

from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["RequestQueue"]


class RequestQueue:
    """Ids of waiting requests, oldest first.

    Requests are grouped by profile, so that the request for a slot is found without a scan.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        # Ordered dicts find their first member at once, also after many were removed before it.
        self._by_profile: dict[ResourceProfile, OrderedDict[str, int]] = {}
        self._profiles: dict[str, ResourceProfile] = {}

    def __len__(self) -> int:
        return len(self._profiles)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._profiles

    def __iter__(self) -> itertools.chain[str]:
        """Return an iterator over all requests, grouped by profile."""
        return itertools.chain.from_iterable(list(requests) for requests in list(self._by_profile.values()))

    def push(self, request_id: str, profile: ResourceProfile) -> None:
        """Add a waiting request."""
        self._profiles[request_id] = profile
        self._by_profile.setdefault(profile, OrderedDict())[request_id] = next(self._numbers)

    def remove(self, request_id: str) -> bool:
        """Remove a request; return False if it was not waiting."""
        profile = self._profiles.pop(request_id, None)
        if profile is None:
            return False
        requests = self._by_profile[profile]
        del requests[request_id]
        if not requests:
            del self._by_profile[profile]
        return True

    def first_matching(self, offered: ResourceProfile) -> str | None:
        """Return the oldest request that a slot can serve, or None."""
        firsts = [
            next((number, request_id) for request_id, number in requests.items())
            for profile, requests in self._by_profile.items()
            if offered.is_matching(profile)
        ]
        return min(firsts)[1] if firsts else None

    def drain(self) -> list[str]:
        """Remove and return all requests, oldest first."""
        numbered = [(number, id_) for requests in self._by_profile.values() for id_, number in requests.items()]
        self._profiles.clear()
        self._by_profile.clear()
        return [request_id for _, request_id in sorted(numbered)]
