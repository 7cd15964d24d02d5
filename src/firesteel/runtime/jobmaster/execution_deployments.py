"""Reconciliation of the deployments expected by a job with those reported by TaskExecutors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

__all__ = ["Discrepancy", "ExecutionDeployments"]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """The difference between reported and expected deployments of a TaskExecutor.

    Attributes:
        missing: Deployed attempts that it no longer runs although no report of their end arrived.
        unknown: Attempts that it runs but should not.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]


class ExecutionDeployments:
    """The attempts that TaskExecutors have acknowledged. Pure.

    The report of a task's end may be lost; the TaskExecutor's next heartbeat reveals it by not listing the task.
    Flink: `jobmaster.DefaultExecutionDeploymentTracker` and `DefaultExecutionDeploymentReconciler` (since 1.12).

    Args:
        is_current: Whether an attempt is its subtask's current one.
        is_over: Whether a current attempt has terminated.
    """

    def __init__(self, is_current: Callable[[str], bool], is_over: Callable[[str], bool]) -> None:
        self._is_current = is_current
        self._is_over = is_over
        self._deployed: defaultdict[str, set[str]] = defaultdict(set)

    def deployed(self, task_manager_id: str, attempt_id: str) -> None:
        """Record an attempt that a TaskExecutor acknowledged."""
        self._deployed[task_manager_id].add(attempt_id)

    def expected(self, task_manager_id: str) -> frozenset[str]:
        """Return the attempts that a TaskExecutor queried now must report, unless they end meanwhile."""
        running = {one for one in self._deployed[task_manager_id] if self._is_current(one) and not self._is_over(one)}
        self._deployed[task_manager_id] = running
        return frozenset(running)

    def reconcile(self, expected: Collection[str], reported: Collection[str]) -> Discrepancy:
        """Return the difference between reported attempts and those expected at the time of the query."""
        # What was expected when the question was sent: a task deployed since then is not in an answer that was on its
        # way.
        gone = set(expected).difference(reported)
        return Discrepancy(
            tuple(sorted(one for one in gone if self._is_current(one) and not self._is_over(one))),
            tuple(sorted(one for one in reported if not self._is_current(one))),
        )
