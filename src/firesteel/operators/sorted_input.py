"""The input of a keyed operator in BATCH mode: collected until it ended, then returned key by key in bounded memory.

When the memory is full, its elements are sorted by the hash of the key, then by timestamp, and spilled as a run; at the
end the runs are merged. Flink: `runtime.sort.SortingDataInput` and `MultiInputSortingDataInput`. The order of keys
differs: Flink orders them by serialized bytes. Here keys are ordered by their first element if everything fits in
memory, else by hash.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

from firesteel.common.files.spill_file import SpillFile
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import MAX_WATERMARK, TaskInfo, Timestamps
from firesteel.operators.exchange.spill import CHUNK_ELEMENTS, SpilledList, memory_of

Batch = tuple[int, list[Any], list[int | None]]
"""(input, `(key, value)` elements of one key, timestamps)."""

_Element = tuple[int, Any, int | None]
"""(input, (key, value), timestamp)."""

_Entry = tuple[int, int, _Element]
"""(hash of the key, timestamp, element); runs are sorted by the first two."""

_FAN_IN = 64
_KEY_BYTES = 200
_by_hash_and_time = itemgetter(0, 1)


class _Runs:
    """Up to `_FAN_IN` sorted runs in one file."""

    def __init__(self, directory: str | None) -> None:
        self._file = SpillFile(directory)
        self._runs: list[list[tuple[int, int]]] = []

    def write(self, entries: Iterator[_Entry], chunk_elements: int) -> None:
        """Append a run."""
        places = []
        while chunk := list(islice(entries, chunk_elements)):
            places.append(self._file.write(chunk))
        self._runs.append(places)

    @property
    def are_full(self) -> bool:
        """Whether the runs must be merged into one."""
        return len(self._runs) >= _FAN_IN

    def readers(self) -> list[Iterator[_Entry]]:
        """Return an iterator over each run, the oldest first."""
        return [chain.from_iterable(map(self._file.read, run)) for run in self._runs]

    def close(self) -> None:
        """Close the file and free its space."""
        self._file.close()


class SortedInput:
    """A sorter of one or two inputs by key; elements of a key are ordered by timestamp, then by arrival.

    All keyed operators share it. `execution.sorted-inputs.memory` limits the bytes that it keeps in memory.

    Example:
        >>> from firesteel.operators.chain.operator import TaskInfo
        >>> sorter = SortedInput(TaskInfo("job", "vertex", "vertex", 0, 1, 128, 0, True, {}))
        >>> sorter.add(0, [("a", 1), ("b", 2), ("a", 3)], None)
        >>> [(key, list(batches)) for key, batches in sorter.take()]
        [('a', [(0, [('a', 1), ('a', 3)], [None, None])]), ('b', [(0, [('b', 2)], [None])])]
    """

    def __init__(self, task: TaskInfo) -> None:
        self._memory = memory_of(task)
        self._directory = temporary_directory(task.configuration)
        self._groups: defaultdict[object, list[_Element]] = defaultdict(list)
        self._estimate = SizeEstimate()
        self._levels: list[_Runs | None] = []
        self._chunk_elements = CHUNK_ELEMENTS
        self._aside: SpilledList | None = None

    def add(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Add `(key, value)` elements of an input."""
        groups = self._groups
        for element, timestamp in pairs(values, timestamps):
            groups[element[0]].append((index, element, timestamp))
        self._estimate.add(values)
        if self._estimate.bytes + len(groups) * _KEY_BYTES > self._memory:
            self._spill()

    def _spill(self) -> None:
        """Write the elements in memory as a run."""
        # When all runs are merged, a chunk of each is in memory at once.
        readable = self._memory // (2 * _FAN_IN)
        self._chunk_elements = max(1, min(CHUNK_ELEMENTS, readable // self._estimate.mean()))
        self._write_run(0, self._sorted_entries())
        self._estimate = SizeEstimate()

    def _write_run(self, level: int, entries: Iterator[_Entry]) -> None:
        """Write a run; merge the runs of its level into one of the next level when the level is full."""
        if level == len(self._levels):
            self._levels.append(None)
        runs = self._levels[level]
        if runs is None:
            runs = self._levels[level] = _Runs(self._directory)
        runs.write(entries, self._chunk_elements)
        # So that the number of open runs stays small, and each element is rewritten once per level.
        if runs.are_full:
            self._write_run(level + 1, heapq.merge(*runs.readers(), key=_by_hash_and_time))
            runs.close()
            self._levels[level] = None

    def _sorted_entries(self) -> Iterator[_Entry]:
        """Yield the elements in memory in the order of runs, and clear the memory."""
        # The dictionary is emptied while the entries are made: both together may be more than the memory.
        groups, self._groups = self._groups, defaultdict(list)
        entries: list[_Entry] = []
        while groups:
            key, elements = groups.popitem()
            # Keys need not be comparable; hashes are, and are the same for equal keys within one process.
            code = hash(key)
            entries += [(code, _event_time(element), element) for element in elements]
        entries.sort(key=_by_hash_and_time)
        return iter(entries)

    def take(self) -> Iterator[tuple[Any, Iterable[Batch]]]:
        """Yield each key once with its elements, which must be read before the next key is requested."""
        # Elements of a higher level arrived before all elements of the lower levels.
        readers = [reader for runs in reversed(self._levels) if runs is not None for reader in runs.readers()]
        if readers:
            entries = heapq.merge(*readers, self._sorted_entries(), key=_by_hash_and_time)
            for _, of_one_hash in groupby(entries, key=itemgetter(0)):
                yield from self._apart(of_one_hash)
        else:
            groups = self._groups
            for key in list(groups):
                elements = groups.pop(key)
                if len(elements) > 1:
                    elements.sort(key=_event_time)
                yield key, _batches(elements)
        self.close()

    def _apart(self, entries: Iterator[_Entry]) -> Iterator[tuple[Any, Iterable[Batch]]]:
        """Yield the keys with the same hash one after the other; almost always there is a single one."""
        while chunk := list(islice(entries, CHUNK_ELEMENTS)):
            key = chunk[0][2][1][0]
            yield key, self._batches_of_key(key, chunk, entries)
            if self._aside is None:
                return
            aside, self._aside = self._aside, None
            entries = chain.from_iterable(values for values, _ in aside.take())

    def _batches_of_key(self, key: object, chunk: list[_Entry], entries: Iterator[_Entry]) -> Iterator[Batch]:
        """Yield the elements of one key; elements of other keys with the same hash are set aside."""
        while chunk:
            others = [entry for entry in chunk if entry[2][1][0] != key]
            if others:
                if self._aside is None:
                    self._aside = SpilledList(self._memory, self._directory)
                self._aside.add(others, None)
            yield from _batches([entry[2] for entry in chunk if not others or entry[2][1][0] == key])
            chunk = list(islice(entries, CHUNK_ELEMENTS))

    def close(self) -> None:
        """Discard the remaining elements and close the files."""
        self._groups.clear()
        for runs in self._levels:
            if runs is not None:
                runs.close()
        self._levels = []


def _batches(elements: list[_Element]) -> Iterable[Batch]:
    """Return the elements as batches of bounded size, each from one input."""
    if len(elements) == 1:
        index, element, timestamp = elements[0]
        return ((index, [element], [timestamp]),)
    return _long_batches(elements)


def _long_batches(elements: list[_Element]) -> Iterator[Batch]:
    for index, of_input in groupby(elements, key=itemgetter(0)):
        while chunk := list(islice(of_input, CHUNK_ELEMENTS)):
            yield index, [element for _, element, _ in chunk], [timestamp for _, _, timestamp in chunk]


def _event_time(element: _Element) -> int:
    return -MAX_WATERMARK if element[2] is None else element[2]
