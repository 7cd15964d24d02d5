"""An event loop whose time passes when there is nothing else to do, and processes that can be killed at any await."""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

from firesteel.runtime.clock import Timer
from tests.simulation.core.seed import Seed, ViolationError

CURRENT: contextvars.ContextVar[SimulatedProcess | None] = contextvars.ContextVar("process", default=None)


class NothingToDoError(ViolationError):
    """Everything waits, and for nothing that will come: the simulation is stuck."""


class _VirtualSelector(selectors.BaseSelector):
    """Waits by moving the loop's time on."""

    def __init__(self) -> None:
        self._keys: dict[Any, selectors.SelectorKey] = {}
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingToDoError("all tasks wait and no timer is set")
        self.now_s += max(timeout, 0)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def get_map(self) -> dict[Any, selectors.SelectorKey]:
        return self._keys

    def close(self) -> None:
        self._keys.clear()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs in virtual time; each task belongs to the process that started it."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)
        self.set_task_factory(_task_factory)
        self.set_exception_handler(lambda loop, context: None)  # Killed processes retrieve no exceptions.

    def time(self) -> float:
        return self._virtual.now_s


def _task_factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any) -> asyncio.Task[Any]:
    context = settings.get("context")
    process = CURRENT.get() if context is None else context.get(CURRENT)
    if process is not None:
        coroutine = _Steps(coroutine, process)
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **settings)
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    if process is not None:
        process.tasks.add(task)
        task.add_done_callback(process.tasks.discard)
    return task


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine that continues only while its process is alive; any of its steps may kill the process."""

    __slots__ = ("_coroutine", "_process")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], process: SimulatedProcess) -> None:
        self._coroutine = coroutine
        self._process = process

    @property
    def coroutine(self) -> Any:
        """What it wraps."""
        return self._coroutine

    def send(self, value: Any) -> Any:
        self._process.step(self._coroutine)
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        self._process.step(self._coroutine)
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Any:
        return (yield from self._coroutine.__await__())


def run_in_virtual_time(seed: Seed, main: Coroutine[Any, Any, None]) -> None:
    """Run a seed on a loop of its own, to its end or until it is given up.

    Raises:
        NothingToDoError: nothing would come any more.
    """
    with closing(VirtualTimeLoop()) as loop:
        seed.now = lambda: f"{loop.time():9.3f}"
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(main)
        except RuntimeError:  # The loop was stopped.
            if not seed.violations:
                raise
        finally:
            asyncio.set_event_loop(None)


def give_up(seed: Seed, error: BaseException) -> None:
    """End a seed with an error, from anywhere within it."""
    seed.failed(error)
    asyncio.get_running_loop().stop()


def later(delay_s: float, callback: Callable[[], object]) -> None:
    """Call something later that belongs to no process."""
    asyncio.get_running_loop().call_later(delay_s, callback, context=contextvars.Context())


class SimulatedProcess:
    """A process: its tasks and timers stop dead when it is killed, nothing is cleaned up.

    Args:
        seed: Counts the steps of its tasks.
        name: Its name in messages.
        on_step: Called before each step of one of its tasks; may kill it.
    """

    def __init__(self, seed: Seed, name: str, on_step: Callable[[SimulatedProcess], object]) -> None:
        self.seed = seed
        self.name = name
        self.is_alive = True
        self.tasks: set[asyncio.Task[Any]] = set()
        self.timers = 0
        self._on_step = on_step
        self._abandoned: list[Any] = []  # Kept: a coroutine that is collected would run its `finally` blocks.
        self._context = contextvars.copy_context()
        self._context.run(CURRENT.set, self)

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the process."""
        return asyncio.get_running_loop().create_task(coroutine, context=self._context.copy())

    def call(self, callback: Callable[..., object], *arguments: object) -> None:
        """Call something in the process, if it lives."""
        if self.is_alive:
            self._context.copy().run(callback, *arguments)

    def step(self, coroutine: Any) -> None:
        """Called before one of its tasks continues."""
        if self.is_alive:
            try:
                self.seed.step()
            except ViolationError as violation:
                give_up(self.seed, violation)
            self._on_step(self)
        if not self.is_alive:
            self._abandoned.append(coroutine)
            raise asyncio.CancelledError(f"{self.name} was killed")


class ProcessClock:
    """The loop's time, with timers that die with the process."""

    def __init__(self, process: SimulatedProcess) -> None:
        self._process = process

    def now_ms(self) -> int:
        return round(asyncio.get_running_loop().time() * 1000)

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        return _ProcessTimer(self._process, delay_s, callback)


class _ProcessTimer:
    def __init__(self, process: SimulatedProcess, delay_s: float, callback: Callable[[], object]) -> None:
        self._process = process
        self._callback: Callable[[], object] | None = callback
        process.timers += 1
        self._handle = asyncio.get_running_loop().call_later(max(delay_s, 0), self._fire)

    def _fire(self) -> None:
        callback, self._callback = self._callback, None
        self._process.timers -= 1
        if callback is not None:
            self._process.call(callback)

    def cancel(self) -> None:
        if self._callback is not None:
            self._callback = None
            self._process.timers -= 1
            self._handle.cancel()
