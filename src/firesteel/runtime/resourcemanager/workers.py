"""How many workers to ask the cluster's framework for, and what to do with those that it grants."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from firesteel.errors import FiresteelError

__all__ = [
    "DelayWorkerRequests",
    "FrameworkAction",
    "ReleaseContainer",
    "RemoveContainerRequest",
    "RequestContainers",
    "SetFrameworkHeartbeat",
    "StartProcess",
    "StopProcess",
    "WorkerAction",
    "WorkerCountError",
    "Workers",
    "WorkersLost",
]

FAILURE_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class RequestContainers:
    """Ask the framework for so many more containers."""

    containers: int


@dataclass(frozen=True, slots=True)
class RemoveContainerRequest:
    """Tell the framework that one of the containers that were asked for has come."""


@dataclass(frozen=True, slots=True)
class StartProcess:
    """Start a TaskExecutor in a container."""

    container_id: str


@dataclass(frozen=True, slots=True)
class StopProcess:
    """Stop the TaskExecutor in a container; errors are logged only."""

    container_id: str


@dataclass(frozen=True, slots=True)
class ReleaseContainer:
    """Give a container back to the framework."""

    container_id: str


@dataclass(frozen=True, slots=True)
class WorkersLost:
    """So many workers that were asked for will not come."""

    workers: int


@dataclass(frozen=True, slots=True)
class SetFrameworkHeartbeat:
    """Talk to the framework often, as containers are expected, or seldom."""

    is_fast: bool


@dataclass(frozen=True, slots=True)
class DelayWorkerRequests:
    """Call `Workers.retry_due` after so many seconds."""

    delay_s: float


FrameworkAction = (
    RequestContainers | RemoveContainerRequest | StartProcess | StopProcess | ReleaseContainer | SetFrameworkHeartbeat
)
WorkerAction = FrameworkAction | WorkersLost | DelayWorkerRequests
Actions = list[WorkerAction]


class WorkerCountError(FiresteelError, RuntimeError):
    """The framework counts other pending requests than we do: one of both has lost some."""

    def __str__(self) -> str:
        ours, theirs = self.args
        return f"{ours} workers are pending here, but {theirs} at the cluster's framework"


class Workers:
    """The container arithmetic. Pure. Flink: `YarnResourceManager` (1.8), `ActiveResourceManager` (1.13).

    A container is a place that the cluster's framework grants; a worker is a TaskExecutor that runs in one.

    Args:
        slots_per_worker: Slots of each worker.
        max_failures_per_minute: `resourcemanager.start-worker.max-failure-rate`: above it requests wait.
        retry_interval_s: `resourcemanager.start-worker.retry-interval`: how long they wait then.
    """

    def __init__(
        self, slots_per_worker: int = 1, max_failures_per_minute: float = 10, retry_interval_s: float = 3
    ) -> None:
        self._slots_per_worker = slots_per_worker
        self._max_failures = max_failures_per_minute
        self._retry_interval_s = retry_interval_s
        self._known: set[str] = set()
        self._failures: deque[float] = deque()
        self._is_delayed = False
        self.pending = 0

    @property
    def known(self) -> frozenset[str]:
        """Containers whose workers were started, or that a former leader left."""
        return frozenset(self._known)

    def recover(self, container_ids: list[str]) -> None:
        """Workers of a former leader still run; they register by themselves and are not pending."""
        self._known.update(container_ids)

    def request(self, workers: int) -> Actions:
        """So many more workers are wanted."""
        if self._is_delayed:
            return []  # Whoever waits is counted when the delay is over.
        was_idle = not self.pending
        self.pending += workers
        return [RequestContainers(workers), *([SetFrameworkHeartbeat(True)] if was_idle else [])]

    def granted(self, container_ids: list[str], pending_at_framework: int | None = None) -> Actions:
        """The framework grants containers: so many as are pending get a worker, the others go back.

        Args:
            container_ids: The containers.
            pending_at_framework: How many requests it still holds, where it tells.

        Raises:
            WorkerCountError: it holds others than we count.
        """
        if pending_at_framework is not None and pending_at_framework != self.pending:
            raise WorkerCountError(self.pending, pending_at_framework)
        actions: Actions = []
        for container_id in container_ids:
            if not self.pending:
                actions.append(ReleaseContainer(container_id))
                continue
            self.pending -= 1
            self._known.add(container_id)
            actions += [RemoveContainerRequest(), StartProcess(container_id)]
        return [*actions, *self._calm(bool(actions) and not self.pending)]

    def start_failed(self, container_id: str, now_s: float) -> Actions:
        """A worker's process could not be started: its container goes back. Call `require` afterwards."""
        self._known.discard(container_id)
        return [*self._failed(now_s), ReleaseContainer(container_id), WorkersLost(1)]

    def completed(self, container_id: str, has_registered: bool, now_s: float) -> Actions | None:
        """A container ended; None if it was stopped here. Else call `require` afterwards."""
        if container_id not in self._known:
            return None
        self._known.discard(container_id)
        return [*self._failed(now_s), *([] if has_registered else [WorkersLost(1)])]

    def require(self, wanted_slots: int) -> Actions:
        """Ask for more if so many slots are wanted that pending workers do not bring them."""
        missing = wanted_slots - self.pending * self._slots_per_worker
        return self.request(-(-missing // self._slots_per_worker)) if missing > 0 else []

    def stop(self, container_id: str) -> Actions:
        """A worker is needed no longer."""
        self._known.discard(container_id)
        return [StopProcess(container_id), ReleaseContainer(container_id)]

    def retry_due(self, wanted_slots: int) -> Actions:
        """The delay after too many failures is over."""
        self._is_delayed = False
        return self.require(wanted_slots)

    def _failed(self, now_s: float) -> Actions:
        """Too many failures within a minute delay further requests."""
        self._failures.append(now_s)
        while self._failures and now_s - self._failures[0] >= FAILURE_WINDOW_S:
            self._failures.popleft()
        if self._is_delayed or len(self._failures) <= self._max_failures:
            return []
        self._is_delayed = True
        return [DelayWorkerRequests(self._retry_interval_s)]

    def _calm(self, is_calm: bool) -> Actions:
        return [SetFrameworkHeartbeat(False)] if is_calm else []
