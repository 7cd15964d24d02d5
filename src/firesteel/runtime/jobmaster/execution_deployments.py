"""What a job believes to run where, held against what TaskExecutors say that they run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

__all__ = ["Discrepancy", "ExecutionDeployments"]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """How a TaskExecutor differs from what is believed.

    Attributes:
        missing: Attempts that it was given and does not run any more, without that its report arrived.
        unknown: Attempts that it runs and that nobody wants.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]


class ExecutionDeployments:
    """Attempts that TaskExecutors have acknowledged. Pure.

    A report of a task that ended may be lost; the TaskExecutor's next heartbeat tells it again, by not naming the task.
    Flink: `jobmaster.DefaultExecutionDeploymentTracker` and `DefaultExecutionDeploymentReconciler` (since 1.12).

    Args:
        is_current: Whether an attempt is its subtask's current one.
        is_over: Whether a current attempt is over.
    """

    def __init__(self, is_current: Callable[[str], bool], is_over: Callable[[str], bool]) -> None:
        self._is_current = is_current
        self._is_over = is_over
        self._deployed: defaultdict[str, set[str]] = defaultdict(set)

    def deployed(self, task_manager_id: str, attempt_id: str) -> None:
        """A TaskExecutor acknowledged an attempt."""
        self._deployed[task_manager_id].add(attempt_id)

    def expected(self, task_manager_id: str) -> frozenset[str]:
        """What a TaskExecutor that is asked now must name in its answer, unless it ended meanwhile."""
        running = {one for one in self._deployed[task_manager_id] if self._is_current(one) and not self._is_over(one)}
        self._deployed[task_manager_id] = running
        return frozenset(running)

    def reconcile(self, expected: Collection[str], reported: Collection[str]) -> Discrepancy:
        """Hold an answer against what was expected when it was asked for."""
        gone = set(expected).difference(reported)
        return Discrepancy(
            tuple(sorted(one for one in gone if self._is_current(one) and not self._is_over(one))),
            tuple(sorted(one for one in reported if not self._is_current(one))),
        )
