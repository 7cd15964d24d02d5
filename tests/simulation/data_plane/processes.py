"""Processes that take turns step by step; each file operation is a step, and faults happen between steps.

The code under test is the real one, which blocks on files. So each process is a greenlet: a step hands the turn back to
the scheduler, which chooses the next one. A process that is killed runs no further file operation, not even those
of its `finally` blocks.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from greenlet import getcurrent, greenlet

from tests.simulation.core.seed import Seed

_STEPS = ("mkdir", "rename", "replace", "unlink", "rmdir", "link", "fsync")


MISTAKES = (AttributeError, NameError, TypeError)
"""Errors of the code itself, with which no run would come to an end: they are no faults, and end the simulation."""


class KilledError(BaseException):
    """The process was killed."""


class Process:
    """A greenlet that runs while the scheduler lets it."""

    def __init__(self, scheduler: Scheduler, name: str, target: Callable[[], None]) -> None:
        self.scheduler = scheduler
        self.name = name
        self.is_killed = False
        self.error: BaseException | None = None
        self.paused_until = 0
        self._target = target
        self._greenlet = greenlet(self._run, scheduler.greenlet)

    def _run(self) -> None:
        try:
            if not self.is_killed:
                self._target()
        except KilledError:
            pass
        except BaseException as error:
            self.error = error
            if isinstance(error, MISTAKES):
                self.scheduler.mistakes.append(error)

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return self._greenlet.dead

    def take_turn(self) -> None:
        """Run until the next step; called by the scheduler."""
        self.scheduler.current = self
        self._greenlet.switch()
        self.scheduler.current = None

    def step(self) -> None:
        """Hand the turn back; called by the process itself.

        Raises:
            KilledError: it was killed meanwhile, or before.
        """
        if not self.is_killed:
            self.scheduler.greenlet.switch()
        if self.is_killed:
            raise KilledError

    def kill(self) -> None:
        """End the process where it is; called by the scheduler, or by another process."""
        self.is_killed = True


class Scheduler:
    """Lets processes take turns as a random generator says.

    Args:
        seed: Decides everything, and counts the steps.

    Attributes:
        current: The process whose turn it is.
        mistakes: Errors of processes that are no faults.
    """

    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        self.greenlet = getcurrent()
        self.current: Process | None = None
        self.processes: list[Process] = []
        self.mistakes: list[BaseException] = []

    def start(self, name: str, target: Callable[[], None]) -> Process:
        """Start a process; it takes its first turn when it is its turn."""
        process = Process(self, name, target)
        self.processes.append(process)
        return process

    def pause(self, process: Process, steps: int) -> None:
        """Pause a process for a number of steps of the others."""
        process.paused_until = self.seed.steps + steps

    def run(self, is_over: Callable[[], bool], between: Callable[[], None]) -> None:
        """Let processes take turns until something is so; `between` is called before each.

        Raises:
            ViolationError: it does not come to be so.
            AttributeError, NameError, TypeError: a process made a mistake.
        """
        while not is_over():
            for mistake in self.mistakes:
                raise mistake
            self.seed.step()
            between()
            for process in [process for process in self.processes if process.is_killed]:
                while not process.is_over:
                    process.take_turn()
            self.processes = [process for process in self.processes if not process.is_over]
            ready = [process for process in self.processes if process.paused_until <= self.seed.steps]
            if ready:
                self.seed.chance.choice(ready).take_turn()

    def end(self) -> None:
        """Kill what still runs."""
        for process in self.processes:
            process.kill()
            while not process.is_over:
                process.take_turn()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Let the process whose turn it is look at files without taking steps, on behalf of an invariant."""
        current, self.current = self.current, None
        try:
            yield
        finally:
            self.current = current

    @contextmanager
    def files(self) -> Iterator[None]:
        """Make each file operation of a process a step; nothing is really synced."""

        def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                process = self.current
                if process is not None:
                    process.step()
                return real(*args, **options)

            return call

        with mock.patch.object(os, "fsync", return_value=None):
            patches = [mock.patch.object(os, name, stepping(getattr(os, name))) for name in _STEPS]
            opened = stepping(builtins.open)
            patches += [mock.patch.object(builtins, "open", opened), mock.patch.object(io, "open", opened)]
            for patch in patches:
                patch.start()
            try:
                yield
            finally:
                for patch in reversed(patches):
                    patch.stop()
