"""Which subtask reads which input split."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["InputSplit", "InputSplitAssigner", "InputSplitSource"]


@dataclass(frozen=True, slots=True)
class InputSplit:
    """A piece of a vertex's input. Flink: `core.io.LocatableInputSplit`.

    Attributes:
        number: From 0.
        payload: What its reader needs; opaque.
        hosts: Where it can be read without crossing the network; empty: anywhere.
    """

    number: int
    payload: Any = None
    hosts: frozenset[str] = frozenset()


class InputSplitSource(Protocol):
    """Cuts the input of a vertex into splits. Flink: `core.io.InputSplitSource`."""

    def create_input_splits(self, minimum: int) -> Sequence[InputSplit]:
        """At least `minimum` splits, if the input allows it."""
        ...


class InputSplitAssigner:
    """Hands splits out on request, each once: local ones first, then those that are local nowhere, then any.

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
        """The next split for a reader on that host; None if all are handed out."""
        for queue in (self._by_host.get(host or "", deque()), self._anywhere):
            while queue:
                split = queue.popleft()
                if self._unassigned.pop(split.number, None) is not None:
                    return split
        for number in self._unassigned:  # Remote for this host.
            return self._unassigned.pop(number)
        return None

    def return_input_splits(self, splits: Iterable[InputSplit]) -> None:
        """Take back what a failed attempt was given."""
        for split in splits:
            self._unassigned[split.number] = split
            for host in split.hosts:
                self._by_host.setdefault(host, deque()).append(split)
            if not split.hosts:
                self._anywhere.append(split)
