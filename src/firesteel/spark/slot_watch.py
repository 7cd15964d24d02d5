"""Observation of what the processes of slots use together, which no limit of a single process covers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from firesteel.runtime.process_usage import ProcessTree, process_trees
from firesteel.runtime.thread_pools import METRICS
from firesteel.task.slot_limits import SlotLimits

_POLL_S: Final = 0.5


class SlotWatch:
    """Looks at the processes of slots at intervals, and ends those that use more than their limits.

    Args:
        limits: The limits of each slot.
        processes: Returns the ids of the slot processes.
        exceeded: Called with a slot process and the problem, before its processes are killed.
    """

    def __init__(
        self,
        limits: SlotLimits,
        processes: Callable[[], list[int]],
        exceeded: Callable[[int, str], Awaitable[None]],
    ) -> None:
        self._limits = limits
        self._processes = processes
        self._exceeded = exceeded
        self._task: asyncio.Task[None] | None = None
        self._ended: set[int] = set()

    def start(self) -> None:
        """Start to look, if there is a limit to watch."""
        if self._task is None and (self._limits.memory is not None or self._limits.processes is not None):
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            found = set(self._processes())
            self._ended &= found
            if running := found - self._ended:
                await self._check(await METRICS.run(process_trees, sorted(running)))

    async def _check(self, trees: Mapping[int, ProcessTree]) -> None:
        for process, tree in trees.items():
            problem = self._limits.problem(tree.used_bytes, len(tree.children))
            if problem is not None:
                self._ended.add(process)
                await self._exceeded(process, problem)
                # The children, too, as they would go on without it.
                for one in (process, *tree.children):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
