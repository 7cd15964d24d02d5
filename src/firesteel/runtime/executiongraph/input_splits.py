"""The assignment of input splits to subtasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["InputSplit", "InputSplitAssigner", "InputSplitSource"]


@dataclass(frozen=True, slots=True)
class InputSplit:
    """A part of a vertex's input. Flink: `core.io.LocatableInputSplit`.

    Attributes:
        number: From 0.
        payload: Opaque data for its reader.
        hosts: The hosts where it can be read locally; empty if it is local nowhere.
    """

    number: int
    payload: object = None
    hosts: frozenset[str] = frozenset()


class InputSplitSource(Protocol):
    """A source that divides the input of a vertex into splits. Flink: `core.io.InputSplitSource`."""

    def create_input_splits(self, minimum: int) -> Sequence[InputSplit]:
        """Return at least `minimum` splits, if the input allows it."""
        ...


class InputSplitAssigner:
    """An assigner of each split once, on request: first local splits, then splits without hosts, then any.

    Flink: `api.common.io.LocatableInputSplitAssigner`, for splits without hosts `DefaultInputSplitAssigner`.

    Example:
        >>> assigner = InputSplitAssigner([InputSplit(0, hosts=frozenset({"far"})), InputSplit(1)])
        >>> [assigner.next_input_split(host).number for host in ("far", "near")], assigner.next_input_split("near")
        ([0, 1], None)
    """

    def __init__(self, splits: Iterable[InputSplit]) -> None:
        self._unassigned: dict[int, InputSplit] = {}
        self._anywhere: deque[InputSplit] = deque()
        self._by_host: dict[str, deque[InputSplit]] = {}
        self.return_input_splits(splits)

    def next_input_split(self, host: str | None) -> InputSplit | None:
        """Return the next split for a reader on a host, or None if all are assigned."""
        for queue in (self._by_host.get(host or "", deque()), self._anywhere):
            while queue:
                split = queue.popleft()
                if self._unassigned.pop(split.number, None) is not None:
                    return split
        for number in self._unassigned:  # Splits that are remote for this host.
            return self._unassigned.pop(number)
        return None

    def return_input_splits(self, splits: Iterable[InputSplit]) -> None:
        """Take back the splits of a failed attempt."""
        for split in splits:
            self._unassigned[split.number] = split
            for host in split.hosts:
                self._by_host.setdefault(host, deque()).append(split)
            if not split.hosts:
                self._anywhere.append(split)
