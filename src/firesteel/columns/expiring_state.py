"""Query state with a time to live (`table.exec.state.ttl`).

As in Flink, queries use `StateTtlConfig` with `OnCreateAndWrite` and `NeverReturnExpired`: a value expires a fixed
time after its last write and is never returned afterwards. Reads remove expired values, and each write checks a few
more entries, so keys that never return do not make the state grow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import KernelContext, StateTable

if TYPE_CHECKING:
    from firesteel.common.encoding.entry_columns import ColumnSource

__all__ = ["CleaningTime", "ExpiringTable", "HeldClock", "expiring_table", "taken_values", "values_of"]

_TAKEN_AT_ONCE = 10_000
_VISITS_PER_WRITE = 2
"""Entries visited per write. More than one, so that a round ends even if each write adds an entry."""


class CleanupRounds:
    """Visits the entries of a table a few at a time, in repeated rounds.

    Args:
        entries: Returns all entries; called at the start of each round.
        clean: Removes an entry, or its expired part.
    """

    def __init__(self, entries: Callable[[], Iterable[Any]], clean: Callable[[Any], object]) -> None:
        self._entries = entries
        self._clean = clean
        self._waiting: list[Any] = []

    def after_write(self) -> None:
        """Visit the entries that one write pays for."""
        if not self._waiting:
            self._waiting = list(self._entries())
        for _ in range(min(_VISITS_PER_WRITE, len(self._waiting))):
            self._clean(self._waiting.pop())


class HeldClock:
    """A clock that stands still while a batch is processed, so that all of its state expires at the same moment."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.move()

    def move(self) -> None:
        """Set the clock."""
        self._held_ms = self._now_ms()

    def __call__(self) -> int:
        """Return the time (ms)."""
        return self._held_ms


class CleaningTime:
    """The time of the next cleanup of expired state: one time to live after the last cleanup."""

    def __init__(self, ttl_ms: int, now_ms: Callable[[], int]) -> None:
        self._ttl_ms, self._now_ms = ttl_ms, now_ms
        self.done()

    def is_due(self) -> bool:
        """Return whether a cleanup is due; without a time to live it never is."""
        return self._ttl_ms > 0 and self._now_ms() >= self._last_ms + self._ttl_ms

    def done(self) -> None:
        """Note that a cleanup ended now."""
        self._last_ms = self._now_ms()


class ExpiringTable:
    """A table whose entries expire a fixed time after their last write.

    The write times are stored in a table of their own. State that was written without a time to live starts to age when
    it is first read.

    Attributes:
        data: The entries that have not expired.
        values: The table of all values.
        times: That of the times (ms) at which they were written.
        now_ms: Returns the time.
    """

    def __init__(self, values: StateTable, times: StateTable, ttl_ms: int, now_ms: Callable[[], int]) -> None:
        self.values = values
        self.times = times
        self._ttl_ms = ttl_ms
        self.now_ms = now_ms
        self._rounds = CleanupRounds(times.data.keys, self.is_live)
        self.data: MutableMapping[Any, Any] = _LiveEntries(values.data, self)
        self.source: ColumnSource | None = None  # A kernel keeps the entries of both tables apart.

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read the values and times of entries that are going to be asked for, if they are on disk."""
        wanted = list(entries)
        self.values.prefetch(wanted)
        self.times.prefetch(wanted)

    def put(self, entry: object, value: object) -> None:
        """Set a value and restart its time to live."""
        self.values.put(entry, value)
        self.times.put(entry, self.now_ms())
        self._rounds.after_write()

    def put_all(self, entries: Sequence[object], values: Sequence[object]) -> None:
        """Set the values of entries and restart their time to live."""
        for entry, value in zip(entries, values, strict=True):
            self.put(entry, value)

    def append(self, entry: object, elements: list[Cell]) -> None:
        """Add to the list of an entry and restart its time to live."""
        self.values.append(entry, elements)
        self.times.put(entry, self.now_ms())
        self._rounds.after_write()

    def remove(self, entry: object) -> None:
        """Remove an entry if it exists."""
        self.values.remove(entry)
        self.times.remove(entry)

    def deadline_ms(self) -> int:
        """Return the time up to which entries were written that have expired."""
        return self.now_ms() - self._ttl_ms

    def take_times(self, entries: Collection[object]) -> Array:
        """Remove the times of some entries, and return them."""
        self.times.prefetch(entries)
        times = map(self.times.data.pop, entries, repeat(self.now_ms()))
        return np.fromiter(times, np.int64, len(entries))

    def is_live(self, entry: object) -> bool:
        """Return whether an existing entry has not expired; remove it if it has."""
        written_ms = self.times.data.get(entry)
        if written_ms is None:
            self.times.put(entry, self.now_ms())
        elif written_ms <= self.deadline_ms():
            self.remove(entry)
            return False
        return True


class _LiveEntries(MutableMapping[Any, Any]):
    """The entries of an `ExpiringTable` that have not expired."""

    def __init__(self, values: MutableMapping[Any, Any], table: ExpiringTable) -> None:
        self._values = values
        self._table = table

    def __getitem__(self, entry: object) -> Any:
        value = self._values[entry]
        if not self._table.is_live(entry):
            raise KeyError(entry)
        return value

    def __setitem__(self, entry: object, value: object) -> None:
        self._table.put(entry, value)

    def __delitem__(self, entry: object) -> None:
        self._table.remove(entry)

    def __iter__(self) -> Iterator[object]:
        return (entry for entry in list(self._values) if self._table.is_live(entry))

    def __len__(self) -> int:
        return len(self._values)


def values_of(table: StateTable) -> StateTable:
    """Return the table of all values, whose times do not change with them."""
    return table.values if isinstance(table, ExpiringTable) else table


def taken_values(context: KernelContext, name: str) -> Iterator[tuple[list[Cell], Array]]:
    """Remove the values of a kernel's table, and yield them as `taken_entries` does."""
    return ((found, written) for _, found, written in taken_entries(context, name))


def taken_entries(context: KernelContext, name: str) -> Iterator[tuple[list[Cell], list[Cell], Array]]:
    """Remove the entries of a kernel's table, and yield them in parts.

    Returns:
        The keys of the table, their values, and the times at which they were written (ms). Values without a time start
        to age now.
    """
    values, times = context.table(name), context.table(f"{name} times")
    # In parts, and begun anew for each, as what is iterated must not change.
    while entries := list(islice(values.data, _TAKEN_AT_ONCE)):
        values.prefetch(entries)
        times.prefetch(entries)
        found = [values.data[entry] for entry in entries]
        written = [times.data.get(entry, context.now_ms()) for entry in entries]
        for entry in entries:
            values.remove(entry)
            times.remove(entry)
        yield entries, found, np.array(written, np.int64)


def expiring_table(context: KernelContext, name: str, ttl_ms: int | None = None) -> StateTable:
    """Return a kernel's state table, whose entries expire if they have a time to live.

    Args:
        context: The environment of the kernel.
        name: The name of the table.
        ttl_ms: The time to live of the hint STATE_TTL, 0 for no expiry; None for that of the job.
    """
    values = context.table(name)
    lives_ms = context.state_ttl_ms if ttl_ms is None else ttl_ms
    if not lives_ms:
        return values
    return ExpiringTable(values, context.table(f"{name} times"), lives_ms, context.now_ms)
