"""Expiry of values in states with a time to live, and the removal of expired values.

A value is stored as `(value, timestamp of its last renewal in ms)`; lists and maps hold one such pair per element or
entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from firesteel.functions.state_ttl import StateTtlConfig
from firesteel.operators.chain.clock import MILLISECOND, now_ms, running_ns
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.map_table import MapTable
from firesteel.operators.state.state_table import StateTable

Stamped = tuple[Stored, int]
"""A value and the timestamp (ms) of its last renewal; Flink: `runtime.state.ttl.TtlValue`."""

Unexpired = Callable[[Stored, int], Stored]
"""(stored, deadline) -> the part renewed after the deadline: `stored` itself if all of it was, None if nothing."""


def with_time(value: Stored, time_ms: int) -> Stamped | None:
    """Return what is stored for the result of a function; None is no value."""
    return None if value is None else (value, time_ms)


def unexpired_value(stored: Stamped, deadline: int) -> Stamped | None:
    """Return the value if it was renewed after `deadline` (ms), else None.

    Example:
        >>> unexpired_value(("a", 10), 9), unexpired_value(("a", 10), 10)
        (('a', 10), None)
    """
    return stored if stored[1] > deadline else None


def unexpired_list(stored: list[Stamped], deadline: int) -> list[Stamped] | None:
    """Return the elements renewed after `deadline` (ms), or None if there are none.

    Example:
        >>> unexpired_list([("a", 10), ("b", 20)], 15)
        [('b', 20)]
    """
    kept = [stamped for stamped in stored if stamped[1] > deadline]
    return stored if len(kept) == len(stored) else kept or None


def rewriter(
    had_ttl: bool, has_ttl: bool, convert: Callable[[Stored], Stored] | None, is_list: bool
) -> Callable[[Stored], Stored]:
    """Return how to write a restored value, if its type has changed or its time to live was switched on or off.

    A time to live that is switched on begins now.
    """
    now = now_ms()

    def rewritten(stored: Stored) -> Stored:
        value, time = stored if had_ttl else (stored, now)
        if convert is not None:
            value = convert(value)
        return (value, time) if has_ttl else value

    return (lambda stored: list(map(rewritten, stored))) if is_list else rewritten


class IncrementalCleanup:
    """An incremental cleanup that visits the entries of a table in rounds and removes expired ones.

    Flink: `runtime.state.ttl.TtlIncrementalCleanup`.

    Args:
        entries: Returns all entries, at the start of a round.
        clean: Removes the parts of an entry that were renewed at or before a deadline (ms).
        ttl_ms: The time to live in ms.
    """

    __slots__ = ("_clean", "_entries", "_ttl_ms", "_waiting")

    def __init__(
        self, entries: Callable[[], Iterable[object]], clean: Callable[[object, int], None], ttl_ms: int
    ) -> None:
        self._entries = entries
        self._clean = clean
        self._ttl_ms = ttl_ms
        self._waiting: list[Entry] = []

    def visit(self, count: int) -> None:
        """Visit `count` entries, each at most once; a new round starts when the previous one is complete."""
        deadline, waiting = now_ms() - self._ttl_ms, self._waiting
        if len(waiting) < count:
            seen = set(waiting)
            # In front of those that are left, which `pop` takes first.
            waiting[:0] = [entry for entry in self._entries() if entry not in seen]
        for _ in range(min(count, len(waiting))):
            self._clean(waiting.pop(), deadline)


def _clean_values(table: StateTable, unexpired: Unexpired, entry: object, deadline: int) -> None:
    stored = table.data.get(entry)
    if stored is not None:
        kept = unexpired(stored, deadline)
        if kept is None:
            table.remove(entry)
        elif kept is not stored:
            table.put(entry, kept)


def _clean_maps(table: MapTable, unexpired: Unexpired, entry: object, deadline: int) -> None:
    for key, stored in table.items(entry):
        if unexpired(stored, deadline) is None:
            table.remove(entry, key)


class Life:
    """The time to live of the values in one table: expiry, visibility, renewal on read, and cleanup.

    Flink: `runtime.state.ttl.AbstractTtlDecorator`, and the strategies that `TtlStateFactory` sets up.

    Attributes:
        access: Runs the cleanup of one access, and returns the current time in ms.
        cleans: Whether there is such a cleanup.
        ttl_ms: The time to live in ms.
        renews_on_read: Whether reading renews a value.
        returns_expired: Whether an expired value may be read once more.
    """

    __slots__ = ("_clean_up", "_size", "access", "cleans", "renews_on_read", "returns_expired", "ttl_ms")

    def __init__(
        self, config: StateTtlConfig, backend: KeyedStateBackend, table: StateTable | MapTable, unexpired: Unexpired
    ) -> None:
        self.ttl_ms = config.get_ttl().to_milliseconds()
        self.renews_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        visibility = config.get_state_visibility()
        self.returns_expired = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        if isinstance(table, MapTable):
            cleanup = IncrementalCleanup(table.maps, partial(_clean_maps, table, unexpired), self.ttl_ms)
        else:
            cleanup = IncrementalCleanup(table.data.keys, partial(_clean_values, table, unexpired), self.ttl_ms)
        self._clean_up = cleanup.visit
        strategies = config.get_cleanup_strategies()
        self._size, every_record = _increments(strategies)
        if self._size and every_record:
            backend.on_records.append(lambda records: self._clean_up(self._size * records))
        self.cleans = self._size > 0
        self.access: Callable[[], int] = self._clean if self.cleans else now_ms
        if _cleans_with_files(strategies):
            table.unexpired = lambda items: self._cleaned(table, unexpired, items)
        elif strategies.in_full_snapshot():
            table.unexpired = lambda items: self._snapshot(unexpired, items)

    def _clean(self) -> int:
        self._clean_up(self._size)
        return now_ms()

    def is_over(self, stamped: Stamped, now: int) -> bool:
        """Return whether a value has expired."""
        return stamped[1] + self.ttl_ms <= now

    def usable(self, stamped: Stamped | None, now: int) -> Stamped | None:
        """Return the stored value if it exists and may be read or added to, else None."""
        if stamped is None or (not self.returns_expired and self.is_over(stamped, now)):
            return None
        return stamped

    def read(self, table: StateTable, entry: object) -> Stored:
        """Return the value of an entry or None; remove it if expired, and then return it only if configured so."""
        if self.cleans:
            self.access()
        stamped = table.data.get(entry)
        return None if stamped is None else self.found(table, entry, stamped)

    def found(self, table: StateTable, entry: object, stamped: Stamped) -> Stored:
        """Do what `read` does with an entry that is there."""
        if running_ns() >= MILLISECOND.until_ns:
            MILLISECOND.tick()
        now = MILLISECOND.ms
        if stamped[1] + self.ttl_ms <= now:
            table.remove(entry)
            return stamped[0] if self.returns_expired else None
        if self.renews_on_read:
            table.put(entry, (stamped[0], now))
        return stamped[0]

    def _snapshot(
        self, unexpired: Unexpired, items: Iterable[tuple[object, object]]
    ) -> Iterator[tuple[object, object]]:
        deadline = now_ms() - self.ttl_ms
        for entry, stored in items:
            kept = unexpired(stored, deadline)
            if kept is not None:
                yield entry, kept

    def _cleaned(
        self, table: StateTable | MapTable, unexpired: Unexpired, items: Iterable[tuple[object, object]]
    ) -> Iterator[tuple[object, object]]:
        """Yield what has not expired, and remove the rest from the table at the end."""
        deadline = now_ms() - self.ttl_ms
        expired: list[tuple[object, object]] = []
        for entry, stored in items:
            kept = unexpired(stored, deadline)
            if kept is not None:
                yield entry, kept
            if kept is not stored:
                expired.append((entry, kept))
        for entry, kept in expired:
            # Not as a change: the version that contains all entries has them already as they are now.
            table.discard(entry)
            if kept is not None:
                table.load(entry, kept)


def _increments(strategies: StateTtlConfig.CleanupStrategies) -> tuple[int, bool]:
    """Return how many entries an access visits (0: none), and whether each record triggers a visit, too."""
    chosen = strategies.get_incremental_cleanup_strategy()
    if chosen is None or not strategies.has(strategies.Strategies.INCREMENTAL_CLEANUP):
        return 0, False
    return chosen.get_cleanup_size(), chosen.run_cleanup_for_every_record()


def _cleans_with_files(strategies: StateTtlConfig.CleanupStrategies) -> bool:
    """Return whether expired entries go away when a full version is written, which merges the files of the state.

    A full version follows when the changes since the last one are as large as it is, so at most as much as is alive has
    expired and is still there; Flink's compaction filter gives no bound. It also replaces Flink's default of visiting
    5 entries on each access of state in memory, which cost more than the access.
    """
    return strategies.is_cleanup_in_background() or strategies.has(strategies.Strategies.ROCKSDB_COMPACTION_FILTER)
