"""Restarts that wait for their delay, and for tasks that are being cancelled."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex

__all__ = ["PendingRestart", "PendingRestarts"]


@dataclass(slots=True, eq=False)
class PendingRestart:
    """Subtasks that will be restarted together.

    Attributes:
        restart_id: Its number in the job.
        vertices: Its subtasks; a later restart takes over those that it needs itself.
        running: Number of its subtasks that have not terminated.
        is_due: Whether the delay has passed.
    """

    restart_id: int
    vertices: set[ExecutionVertex] = field(default_factory=set)
    running: int = 0
    is_due: bool = False


class PendingRestarts:
    """The pending restarts of a job. The cost of an event depends only on the subtasks concerned."""

    def __init__(self) -> None:
        self._ids = itertools.count()
        self._pending: dict[int, PendingRestart] = {}
        self._of: dict[ExecutionVertex, PendingRestart] = {}
        self._ready: deque[PendingRestart] = deque()

    @property
    def is_any_waiting(self) -> bool:
        """Whether a subtask waits for its restart."""
        return bool(self._of)

    def add(self, vertices: Iterable[ExecutionVertex]) -> int:
        """Add a restart of subtasks and return its number."""
        restart = PendingRestart(next(self._ids))
        self._pending[restart.restart_id] = restart
        for vertex in vertices:
            is_running = not vertex.current.state.is_terminal
            former = self._of.get(vertex)
            if former is not None:
                former.vertices.discard(vertex)
                # Its attempt ends only once, and then counts for the new restart.
                former.running -= is_running
                # It may have waited for this subtask alone.
                self._check(former)
            self._of[vertex] = restart
            restart.vertices.add(vertex)
            restart.running += is_running
        return restart.restart_id

    def over(self, vertex: ExecutionVertex) -> None:
        """Note that the current attempt of a subtask has terminated."""
        restart = self._of.get(vertex)
        if restart is not None:
            restart.running -= 1
            self._check(restart)

    def due(self, restart_id: int) -> None:
        """Note that the delay of a restart has passed; numbers of dropped restarts are ignored."""
        restart = self._pending.get(restart_id)
        if restart is not None:
            restart.is_due = True
            self._check(restart)

    def pop_ready(self, may_begin: Callable[[set[ExecutionVertex]], bool]) -> set[ExecutionVertex] | None:
        """Return the subtasks of a ready restart that may begin, or None."""
        for restart in list(self._ready):
            # The restart may have lost all its subtasks meanwhile, or be done.
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
        """Return whether a subtask waits for its restart."""
        return vertex in self._of

    def clear(self) -> None:
        """Drop all restarts, as the job is ending."""
        self._pending.clear()
        self._of.clear()
        self._ready.clear()

    def _check(self, restart: PendingRestart) -> None:
        if restart.is_due and not restart.running:
            self._ready.append(restart)
