"""The number of workers to request from the cluster's framework, and the use of granted containers."""

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
    """Request more containers from the framework."""

    containers: int


@dataclass(frozen=True, slots=True)
class RemoveContainerRequest:
    """Tell the framework that one of the requested containers was granted."""


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
    """Release a container to the framework."""

    container_id: str


@dataclass(frozen=True, slots=True)
class WorkersLost:
    """Some requested workers will not arrive."""

    workers: int


@dataclass(frozen=True, slots=True)
class SetFrameworkHeartbeat:
    """Set the heartbeat interval to the framework: short while containers are expected, else long."""

    is_fast: bool


@dataclass(frozen=True, slots=True)
class DelayWorkerRequests:
    """Call `Workers.retry_due` after a delay in seconds."""

    delay_s: float


FrameworkAction = (
    RequestContainers | RemoveContainerRequest | StartProcess | StopProcess | ReleaseContainer | SetFrameworkHeartbeat
)
WorkerAction = FrameworkAction | WorkersLost | DelayWorkerRequests
Actions = list[WorkerAction]


class WorkerCountError(FiresteelError, RuntimeError):
    """The framework's number of pending requests differs from ours: one side has lost some."""

    def __str__(self) -> str:
        ours, theirs = self.args
        return f"{ours} workers are pending here, but {theirs} at the cluster's framework"


class Workers:
    """The container accounting. Pure. Flink: `YarnResourceManager` (1.8), `ActiveResourceManager` (1.13).

    A container is granted by the cluster's framework; a worker is a TaskExecutor that runs in one.

    Args:
        slots_per_worker: Number of slots of each worker.
        max_failures_per_minute: `resourcemanager.start-worker.max-failure-rate`: above it requests are delayed.
        retry_interval_s: `resourcemanager.start-worker.retry-interval`: the delay in seconds.
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
        """The containers whose workers were started, or left by a former leader."""
        return frozenset(self._known)

    def recover(self, container_ids: list[str]) -> None:
        """Add workers of a former leader, which register by themselves and are not pending."""
        self._known.update(container_ids)

    def request(self, workers: int) -> Actions:
        """Request more workers."""
        if self._is_delayed:
            return []  # The demand is computed again when the delay is over.
        was_idle = not self.pending
        self.pending += workers
        return [RequestContainers(workers), *([SetFrameworkHeartbeat(True)] if was_idle else [])]

    def granted(self, container_ids: list[str], pending_at_framework: int | None = None) -> Actions:
        """Process granted containers: as many as are pending get a worker, the others are released.

        Args:
            container_ids: The containers.
            pending_at_framework: The framework's number of open requests, if known.

        Raises:
            WorkerCountError: this number differs from ours.
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
        """Process a worker that could not be started: release its container. Call `require` afterwards."""
        self._known.discard(container_id)
        return [*self._failed(now_s), ReleaseContainer(container_id), WorkersLost(1)]

    def completed(self, container_id: str, has_registered: bool, now_s: float) -> Actions | None:
        """Process the end of a container; None if it was stopped here, else call `require` afterwards."""
        if container_id not in self._known:
            return None
        self._known.discard(container_id)
        return [*self._failed(now_s), *([] if has_registered else [WorkersLost(1)])]

    def require(self, wanted_slots: int) -> Actions:
        """Request more workers if pending workers do not provide the wanted slots."""
        missing = wanted_slots - self.pending * self._slots_per_worker
        return self.request(-(-missing // self._slots_per_worker)) if missing > 0 else []

    def stop(self, container_id: str) -> Actions:
        """Stop a worker that is no longer needed."""
        self._known.discard(container_id)
        return [StopProcess(container_id), ReleaseContainer(container_id)]

    def retry_due(self, wanted_slots: int) -> Actions:
        """Process the end of the delay after too many failures."""
        self._is_delayed = False
        return self.require(wanted_slots)

    def _failed(self, now_s: float) -> Actions:
        """Count a failure; too many within a minute delay further requests."""
        self._failures.append(now_s)
        while self._failures and now_s - self._failures[0] >= FAILURE_WINDOW_S:
            self._failures.popleft()
        if self._is_delayed or len(self._failures) <= self._max_failures:
            return []
        self._is_delayed = True
        return [DelayWorkerRequests(self._retry_interval_s)]

    def _calm(self, is_calm: bool) -> Actions:
        return [SetFrameworkHeartbeat(False)] if is_calm else []
