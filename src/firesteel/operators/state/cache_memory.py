"""The memory of a slot for entries of state on disk: a limit in bytes that all tables of the process share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from weakref import WeakSet

from firesteel.common.options.slot_options import TASK_SLOTS
from firesteel.common.options.state_options import MANAGED_MEMORY, ROCKSDB_FIXED_PER_SLOT, ROCKSDB_MANAGED

DEFAULT_BYTES = 160 << 20
"""The limit where nothing is configured."""

_LEAST_BYTES = 32 << 20
"""The limit below which no batch is made smaller for what it changes."""

_SAMPLED = 8
_DEPTH = 4
_CONTAINERS = (tuple, list, set, frozenset)


def memory_of_slot(configuration: Mapping[str, str]) -> int:
    """Return how many bytes a slot may use for entries of state on disk.

    Flink: `state.backend.rocksdb.memory.*` and `taskmanager.memory.managed.size`, which the slots of a TaskManager
    share. Without any of them it is 160 MB; Flink derives it from the size of the JVM.
    """
    fixed = ROCKSDB_FIXED_PER_SLOT.of(configuration)
    if fixed is not None:
        return fixed
    managed = MANAGED_MEMORY.of(configuration) if ROCKSDB_MANAGED.of(configuration) else None
    return DEFAULT_BYTES if managed is None else managed // max(TASK_SLOTS.of(configuration), 1)


class CacheMemory:
    """A number of bytes that the tables of a process share.

    Attributes:
        noted_most: The most bytes that entries which a batch has changed have taken since this was last asked.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.noted_most = 0
        self.shares: WeakSet[CacheShare] = WeakSet()


class CacheShare:
    """The share of one table in the memory of its slot.

    Attributes:
        used: Approximate number of bytes that its entries take.
        noted: Those of them that the entries take which the current batch has changed.
    """

    def __init__(self, memory: CacheMemory) -> None:
        self._memory = memory
        self.used = self.noted = 0
        memory.shares.add(self)

    def allowed(self) -> int:
        """Return the limit of the table in bytes: what other tables leave, but at least half of an equal share."""
        limit, shares = self._memory.limit, self._memory.shares
        others = sum(share.used for share in shares if share is not self)
        return max(limit - others, limit // (2 * len(shares)))

    def note(self, size: int) -> None:
        """Set how many bytes the entries take that the current batch has changed."""
        self.noted = size
        self._memory.noted_most = max(self._memory.noted_most, sum(share.noted for share in self._memory.shares))


class SpillShare(CacheShare):
    """The share of entries that are columns, and the directory for those that have no room in it."""

    def __init__(self, memory: CacheMemory, directory: str) -> None:
        super().__init__(memory)
        self.directory = directory


_of_process: dict[int, CacheMemory] = {}


def memory_of_process(configuration: Mapping[str, str]) -> CacheMemory:
    """Return the memory that the operators of this process share."""
    limit = memory_of_slot(configuration)
    return _of_process.setdefault(limit, CacheMemory(limit))


def noted_part() -> float:
    """Return which part of the memory the entries took that the batch has changed, at most, and begin anew."""
    parts = (memory.noted_most / max(memory.limit, _LEAST_BYTES) for memory in _of_process.values())
    part = max(parts, default=0.0)
    for memory in _of_process.values():
        memory.noted_most = 0
    return part


def approximate_size(value: object, depth: int = _DEPTH) -> int:
    """Return about how many bytes a value takes, with what it refers to.

    Example:
        >>> 1000 < approximate_size(["a" * 100] * 10) < 2000
        True
    """
    size = sys.getsizeof(value)
    if not depth:
        return size
    if isinstance(value, dict):
        return size + _size_of_all(chain.from_iterable(value.items()), 2 * len(value), depth)
    if isinstance(value, _CONTAINERS):
        return size + _size_of_all(value, len(value), depth)
    attributes = [getattr(value, "__dict__", None), *_slots_of(value)]
    return size + sum(approximate_size(attribute, depth - 1) for attribute in attributes if attribute is not None)


def _slots_of(value: object) -> Iterator[object]:
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            yield getattr(value, name, None)


def _size_of_all(values: Iterable[object], count: int, depth: int) -> int:
    """Return the size of some values, estimated by the first ones."""
    sizes = [approximate_size(value, depth - 1) for value in islice(values, _SAMPLED)]
    return sum(sizes) * count // len(sizes) if sizes else 0
