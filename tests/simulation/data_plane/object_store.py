"""A simulated object store: each request is a step, may be refused, and may lose its answer after it took effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.common.files.remote_files import RemoteFileSystem
from firesteel.common.files.remote_path import RemotePath
from tests.simulation.data_plane.processes import Process, Scheduler

_SCHEME = "simulated://"


@dataclass(frozen=True)
class StoreFaults:
    """How likely is what, per request; `slow_upload` is the share of uploads that take as long as several batches."""

    refuse: float = 0.0
    lose_answer: float = 0.0
    delay: float = 0.0
    slow_upload: float = 0.0


class ObjectStore:
    """The part of fsspec's interface that checkpoints use, over a dictionary.

    Requests outside of simulated processes, such as those of invariants, are neither steps nor affected by faults.

    Attributes:
        objects: The contents by path.
        faults: What goes wrong.
    """

    def __init__(self, scheduler: Scheduler, chance: random.Random, faults: StoreFaults) -> None:
        self.objects: dict[str, bytes] = {}
        self.faults = faults
        self._scheduler = scheduler
        self._chance = chance

    def path(self, name: str) -> RemotePath:
        """Return a path in the store."""
        return RemotePath(RemoteFileSystem(self), f"{_SCHEME}{name}")

    def _request(self, take_effect: Callable[[], Any]) -> Any:
        process, chance, faults = self._scheduler.current, self._chance, self.faults
        if process is None:
            return take_effect()
        if chance.random() < faults.delay:
            self._scheduler.pause(process, chance.choice([5, 50, 500]))
        process.step()
        if chance.random() < faults.refuse:
            raise OSError("the store refuses this request (503)")
        answer = take_effect()
        process.step()
        if chance.random() < faults.lose_answer:
            raise OSError("the answer of the store was lost")
        return answer

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return path.removeprefix(_SCHEME)

    def _get(self, path: str) -> bytes:
        name = self._strip_protocol(path)
        if name not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[name]

    def _put(self, path: str, data: bytes, mode: str = "overwrite") -> None:
        name = self._strip_protocol(path)
        if mode == "create" and name in self.objects:
            raise FileExistsError(path)
        self.objects[name] = data

    def _below(self, path: str) -> Iterator[str]:
        directory = self._strip_protocol(path).rstrip("/") + "/"
        return (name for name in sorted(self.objects) if name.startswith(directory))

    def info(self, path: str) -> dict[str, Any]:
        return self._request(lambda: {"size": len(self._get(path)), "type": "file"})  # type: ignore[no-any-return]

    def cat_file(self, path: str) -> bytes:
        return self._request(lambda: self._get(path))  # type: ignore[no-any-return]

    def pipe_file(self, path: str, data: bytes, mode: str = "overwrite") -> None:
        self._request(lambda: self._put(path, data, mode))

    def put_file(self, source: str, path: str) -> None:
        data = Path(source).read_bytes()
        process = self._scheduler.current
        if process is not None and self.faults.slow_upload and self._chance.random() < self.faults.slow_upload:
            self._scheduler.pause(process, self._chance.choice([200, 600, 1500]))
        self._request(lambda: self._put(path, data))

    def get_file(self, path: str, target: str) -> None:
        Path(target).write_bytes(self.cat_file(path))

    def find(self, path: str, detail: bool = True) -> dict[str, dict[str, Any]]:
        def found() -> dict[str, dict[str, Any]]:
            return {name: {"size": len(self.objects[name]), "type": "file"} for name in self._below(path)}

        return self._request(found)  # type: ignore[no-any-return]

    def ls(self, path: str, detail: bool = False) -> list[str]:
        def found() -> list[str]:
            start = len(self._strip_protocol(path).rstrip("/")) + 1
            names = dict.fromkeys(name[: start + len(name[start:].partition("/")[0])] for name in self._below(path))
            if not names:
                raise FileNotFoundError(path)
            return list(names)

        return self._request(found)  # type: ignore[no-any-return]

    def rm(self, paths: list[str]) -> None:
        for path in paths:
            self.rm_file(path)

    def rm_file(self, path: str) -> None:
        self._request(lambda: self.objects.pop(self._strip_protocol(path), None))


class SimulatedThreads:
    """In place of a `ThreadPoolExecutor`: each task is a process that takes turns with the others.

    `kill` ends them with the process that they belong to.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._running: list[Process] = []

    def __enter__(self) -> SimulatedThreads:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Run tasks one after the other in the calling process, which waits for them anyway."""
        return map(function, items)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Start a task."""
        future = _SteppingFuture(self._scheduler)

        def run() -> None:
            try:
                future.set_result(function(*args))
            except Exception as error:
                future.set_exception(error)

        self._running = [process for process in self._running if not process.is_over]
        self._running.append(self._scheduler.start(f"thread of {function.__qualname__}", run))
        return future

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        """Do nothing: tasks that run go on, and there is no queue."""

    def kill(self) -> None:
        """Kill the tasks."""
        for process in self._running:
            process.kill()


class _SteppingFuture(Future[Any]):
    """A future whose waiting process takes steps."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def result(self, timeout: float | None = None) -> Any:
        while not self.done():
            assert self._scheduler.current is not None
            self._scheduler.current.step()
        return super().result(0)
