"""Restarts that wait for their delay, and for the tasks that are being cancelled."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex

__all__ = ["PendingRestart", "PendingRestarts"]


@dataclass(slots=True, eq=False)
class PendingRestart:
    """Subtasks that are to be started again together.

    Attributes:
        restart_id: Its number in the job.
        vertices: What belongs to it; a later restart takes away what it needs itself.
        running: How many of them are not over.
        is_due: Whether the delay is over.
    """

    restart_id: int
    vertices: set[ExecutionVertex] = field(default_factory=set)
    running: int = 0
    is_due: bool = False


class PendingRestarts:
    """The restarts of a job that have not begun. Each event costs what it is about, not more."""

    def __init__(self) -> None:
        self._ids = itertools.count()
        self._pending: dict[int, PendingRestart] = {}
        self._of: dict[ExecutionVertex, PendingRestart] = {}
        self._ready: deque[PendingRestart] = deque()

    @property
    def is_any_waiting(self) -> bool:
        """Whether a subtask waits to be started again."""
        return bool(self._of)

    def add(self, vertices: Iterable[ExecutionVertex]) -> int:
        """Subtasks are to be started again; the number of that restart."""
        restart = PendingRestart(next(self._ids))
        self._pending[restart.restart_id] = restart
        for vertex in vertices:
            is_running = not vertex.current.state.is_terminal
            former = self._of.get(vertex)
            if former is not None:
                former.vertices.discard(vertex)
                former.running -= is_running
                self._check(former)
            self._of[vertex] = restart
            restart.vertices.add(vertex)
            restart.running += is_running
        return restart.restart_id

    def over(self, vertex: ExecutionVertex) -> None:
        """The current attempt of a subtask is over."""
        restart = self._of.get(vertex)
        if restart is not None:
            restart.running -= 1
            self._check(restart)

    def due(self, restart_id: int) -> None:
        """The delay of a restart is over; numbers of dropped ones are ignored."""
        restart = self._pending.get(restart_id)
        if restart is not None:
            restart.is_due = True
            self._check(restart)

    def pop_ready(self, may_begin: Callable[[set[ExecutionVertex]], bool]) -> set[ExecutionVertex] | None:
        """What is to be started again now, of that which may begin; None if there is nothing more."""
        for restart in list(self._ready):
            # It may have lost all its subtasks meanwhile, or be done.
            if restart.restart_id not in self._pending or not restart.vertices:
                self._pending.pop(restart.restart_id, None)
                self._ready.remove(restart)
            elif may_begin(restart.vertices):
                self._ready.remove(restart)
                del self._pending[restart.restart_id]
                for vertex in restart.vertices:
                    del self._of[vertex]
                return restart.vertices
        return None

    def is_waiting(self, vertex: ExecutionVertex) -> bool:
        """Whether a subtask waits to be started again."""
        return vertex in self._of

    def clear(self) -> None:
        """Drop all: the job is giving up."""
        self._pending.clear()
        self._of.clear()
        self._ready.clear()

    def _check(self, restart: PendingRestart) -> None:
        if restart.is_due and not restart.running:
            self._ready.append(restart)
