"""Requests that wait for a slot."""

from __future__ import annotations

import itertools
from collections import OrderedDict

from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["RequestQueue"]


class RequestQueue:
    """Ids of waiting requests, oldest first.

    Those of equal profiles are kept together, so that a slot finds its request without looking at each.
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
        """All, those of one profile after those of another."""
        return itertools.chain.from_iterable(list(requests) for requests in list(self._by_profile.values()))

    def push(self, request_id: str, profile: ResourceProfile) -> None:
        """A request waits from now on."""
        self._profiles[request_id] = profile
        self._by_profile.setdefault(profile, OrderedDict())[request_id] = next(self._numbers)

    def remove(self, request_id: str) -> bool:
        """A request waits no longer; False if it did not wait."""
        profile = self._profiles.pop(request_id, None)
        if profile is None:
            return False
        requests = self._by_profile[profile]
        del requests[request_id]
        if not requests:
            del self._by_profile[profile]
        return True

    def first_matching(self, offered: ResourceProfile) -> str | None:
        """The request that waits longest among those that a slot can serve."""
        firsts = [
            next((number, request_id) for request_id, number in requests.items())
            for profile, requests in self._by_profile.items()
            if offered.is_matching(profile)
        ]
        return min(firsts)[1] if firsts else None

    def drain(self) -> list[str]:
        """Take all out, oldest first."""
        numbered = [(number, id_) for requests in self._by_profile.values() for id_, number in requests.items()]
        self._profiles.clear()
        self._by_profile.clear()
        return [request_id for _, request_id in sorted(numbered)]
