"""A cache of looked-up rows. Flink: `DefaultLookupCache`."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from firesteel.columns.cells import Cell
from firesteel.connectors.table_options import Options

OPTIONS = (
    "lookup.cache",
    "lookup.cache.max-rows",
    "lookup.cache.ttl",
    "lookup.max-retries",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.max-rows",
)

Row = tuple[Cell, ...]


@dataclass(frozen=True)
class CacheLimits:
    """The limits of a cache.

    Attributes:
        max_keys: The number of keys; None for no limit. The key that was not used for longest goes first.
        after_write_ms: The time after which rows are read anew; None for no limit.
        after_access_ms: The time without use after which rows are read anew; None for no limit.
        keeps_missing: Whether keys without rows are cached.
    """

    max_keys: int | None = None
    after_write_ms: int | None = None
    after_access_ms: int | None = None
    keeps_missing: bool = True


class LookupCache:
    """Rows by key; pickled without its content.

    Args:
        limits: When rows are dropped.
        now_ms: A clock.
    """

    def __init__(self, limits: CacheLimits, now_ms: Callable[[], float] | None = None) -> None:
        self._limits = limits
        self._now_ms = now_ms or _now_ms
        self._entries: OrderedDict[Row, tuple[list[Row], float, float]] = OrderedDict()

    def __reduce__(self) -> tuple[object, ...]:
        return LookupCache, (self._limits,)

    def get(self, key: Row) -> list[Row] | None:
        """Return the rows of a key; None if they have to be read."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        rows, written, used = entry
        now, limits = self._now_ms(), self._limits
        if _is_over(now - written, limits.after_write_ms) or _is_over(now - used, limits.after_access_ms):
            # A getter that evicts: nothing else looks for rows that are too old, and keys that nobody asks for go by
            # `max_keys`.
            del self._entries[key]
            return None
        self._entries[key] = rows, written, now
        self._entries.move_to_end(key)
        return rows

    def put(self, key: Row, rows: list[Row]) -> None:
        """Keep the rows of a key."""
        if not rows and not self._limits.keeps_missing:
            return
        now = self._now_ms()
        self._entries[key] = rows, now, now
        self._entries.move_to_end(key)
        if self._limits.max_keys is not None and len(self._entries) > self._limits.max_keys:
            self._entries.popitem(last=False)


def lookup_cache(options: Options) -> LookupCache | None:
    """Return the cache that options ask for; None for no cache.

    Raises:
        ValidationException: an option is invalid.
    """
    old_limits = CacheLimits(options.number("lookup.cache.max-rows"), options.duration_ms("lookup.cache.ttl"))
    is_old = old_limits.max_keys is not None and old_limits.after_write_ms is not None
    kind = options.choice("lookup.cache", ("none", "partial"), "partial" if is_old else "none")
    if kind == "none":
        return None
    limits = CacheLimits(
        options.number("lookup.partial-cache.max-rows", old_limits.max_keys),
        options.duration_ms("lookup.partial-cache.expire-after-write", old_limits.after_write_ms),
        options.duration_ms("lookup.partial-cache.expire-after-access"),
        options.flag("lookup.partial-cache.cache-missing-key", True),
    )
    if limits.max_keys is None and limits.after_write_ms is None and limits.after_access_ms is None:
        raise options.invalid("lookup.cache", "PARTIAL with one of lookup.partial-cache.max-rows, .expire-after-write "
                              "and .expire-after-access")  # fmt: skip
    return LookupCache(limits)


def _is_over(age: float, limit: int | None) -> bool:
    return limit is not None and age >= limit


def _now_ms() -> float:
    return time.monotonic() * 1_000
