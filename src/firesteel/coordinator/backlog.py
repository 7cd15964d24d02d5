"""How much each subtask of a source has left to read."""

from __future__ import annotations


class Backlog:
    """The units left in each split, and their sums per subtask; a change costs the same however many splits there are.

    Args:
        parallelism: Number of subtasks.

    Example:
        >>> backlog = Backlog(2)
        >>> backlog.update("a", 0, 100)
        >>> backlog.update("b", 1, 7)
        >>> backlog.update("a", 0, 40)
        >>> backlog.left(0), backlog.total
        (40, 47)
    """

    def __init__(self, parallelism: int) -> None:
        self._of_subtasks = [0] * parallelism
        self._of_splits: dict[str, int] = {}

    def update(self, split_id: str, subtask: int, units: int) -> None:
        """Set what a split, which stays with its subtask, has left."""
        units = max(units, 0)
        self._of_subtasks[subtask] += units - self._of_splits.pop(split_id, 0)
        if units:
            self._of_splits[split_id] = units

    def left(self, subtask: int) -> int:
        """Return the units that a subtask has left."""
        return self._of_subtasks[subtask]

    @property
    def total(self) -> int:
        """The units that all subtasks have left."""
        return sum(self._of_subtasks)
