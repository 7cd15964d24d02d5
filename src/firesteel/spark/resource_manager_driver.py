"""Spark executors as TaskManagers: the ResourceManager's driver for a cluster whose Spark is not local."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from firesteel.common.options.rpc_options import TASKMANAGER_HOST, TASKMANAGER_RESOURCE_ID
from firesteel.errors import FiresteelError
from firesteel.runtime.resourcemanager.driver import WorkerListener
from firesteel.runtime.resourcemanager.workers import (
    FrameworkAction,
    ReleaseContainer,
    RequestContainers,
    StartProcess,
)
from firesteel.runtime.slotpool.resource_profile import ANY, ResourceProfile
from firesteel.runtime.thread_pools import SPARK
from firesteel.spark.executors import SparkExecutors
from firesteel.spark.missing_executors import missing_executors
from firesteel.spark.task_manager_launch import LaunchTaskManager
from firesteel.task.state_seal import UNSEALED, StateSeal

logger = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.2
_LOOK_LATE_EVERY_S = 1.0
_TELL_AGAIN_S = 2.0
_PATIENCE_S = 10.0
"""Time for an executor to start before it is said that none does."""

_UNKNOWN = -1
"""Marker that the last requested number is outdated, as killing an executor reduces it."""
_GONE = (Py4JError, OSError, FiresteelError)
"""Errors of calls to a JVM or Master that is lost or still starting."""


class SparkResourceManagerDriver:
    """A driver that requests Spark executors and starts a TaskExecutor next to each (a `ResourceManagerDriver`).

    A container is an executor; its id consists of the application id and the executor id. The driver polls the records
    of Spark's own listener five times a second, because a listener of its own would also be called for each task of
    each batch. Flink has no counterpart; the nearest is `YarnResourceManagerDriver`.

    Args:
        context: Returns the SparkContext; called in a thread, as it may wait for the JVM. After the loss of the JVM it
        returns another one, with a new application.
        options: The options of the TaskExecutors: the cluster's options, and the address of the JobManager.
        secrets: The secret for their RPC, and after it those that are accepted, too.
        seal: Signs and verifies the state files of their slots.
    """

    worker_slot: ResourceProfile | None = ANY

    def __init__(
        self,
        context: Callable[[], Any],
        options: Mapping[str, str],
        secrets: Sequence[bytes],
        seal: StateSeal = UNSEALED,
    ) -> None:
        self._seal = seal
        self._context = context
        self._options = options
        self._secrets = tuple(secrets)
        self._listener: WorkerListener | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._executors: SparkExecutors | None = None
        self._hosts: dict[str, str] = {}  # by container id
        self._released: set[str] = set()  # executors that Spark is about to end
        self._awaited = 0
        self._required = 0
        self._told_s = 0.0
        self._missed_since_s: float | None = None
        self._last_warning = ""
        self._changed = asyncio.Event()

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        """Start polling Spark's executors; those of an earlier leader ended with its application."""
        self._stop_watching()
        self._listener = listener
        self._watcher = asyncio.create_task(self._watch())
        return ()

    async def perform(self, action: FrameworkAction) -> None:
        """Request executors, start TaskExecutors, or release executors.

        Raises:
            ExecutorUnreachableError, Py4JJavaError: a TaskExecutor could not be started.
        """
        match action:
            case RequestContainers(count):
                self._awaited += count
                self._changed.set()
            case StartProcess(container_id):
                await SPARK.run(self._launch, container_id)
            case ReleaseContainer(container_id):
                if self._hosts.pop(container_id, None) is not None:
                    self._released.add(container_id)
                    await SPARK.run(self._kill, container_id)
            case _:
                pass  # A TaskExecutor ends with its executor, and Spark itself replaces missing executors.

    async def close(self) -> None:
        """Release all executors, as another leader has its own application, which needs their cores."""
        self._stop_watching()
        self._released |= set(self._hosts)
        self._hosts, self._awaited = {}, 0
        await SPARK.run(self._release_all)
        if self._executors is not None:
            self._watcher = asyncio.create_task(self._release_late(self._executors))

    def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    async def _release_late(self, executors: SparkExecutors) -> None:
        """Release executors that Spark was starting when nothing was required any more."""
        with contextlib.suppress(*_GONE):  # The application has ended, and its executors with it.
            while True:
                await asyncio.sleep(_LOOK_LATE_EVERY_S)
                late = set(await SPARK.run(self._alive, executors)) - self._released
                self._released |= late
                for container_id in late:
                    logger.info("executor %s started too late, and is released", container_id)
                    await SPARK.run(self._kill, container_id)

    def _launch(self, container_id: str) -> None:
        executors, host = self._executors, self._hosts.get(container_id)
        if executors is None or host is None:
            raise OSError(f"executor {container_id} is gone already")
        executor_id = _executor_id(container_id)
        options = {**self._options, TASKMANAGER_RESOURCE_ID.key: container_id, TASKMANAGER_HOST.key: host}
        executors.run_on(executor_id, host, LaunchTaskManager(executor_id, options, self._secrets, self._seal))

    def _release_all(self) -> None:
        with contextlib.suppress(*_GONE):
            self._require()
        for container_id in self._released:
            self._kill(container_id)

    def _kill(self, container_id: str) -> None:
        if self._executors is not None and self._is_present(container_id):
            with contextlib.suppress(*_GONE):
                self._executors.kill(_executor_id(container_id))
            # Spark lowers its own target with a kill, so the number told last does not hold any more.
            self._required = _UNKNOWN

    # --- executor changes --------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            try:
                self._take(*await SPARK.run(self._look))
                await SPARK.run(self._require)
                await SPARK.run(self._miss_executors)
            except Py4JJavaError as error:
                # The JVM is alive: its Master may be unavailable for a while, but its executors keep running.
                self._warn(f"Spark rejected a request: {error.java_exception}")
            except _GONE as error:
                self._warn(f"Spark does not answer: {error}")
                self._take({}, {})
            except Exception:
                logger.exception("polling Spark's executors failed; it is retried")
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _LOOK_EVERY_S)

    def _warn(self, text: str) -> None:
        """Log a warning, but not each time that a lasting condition is met."""
        if text != self._last_warning:
            logger.warning("%s", text)
            self._last_warning = text

    def _miss_executors(self) -> None:
        """Say that Spark starts no executor, and why if that can be found."""
        now_s = time.monotonic()
        if not self._awaited:
            self._missed_since_s = None
        elif self._missed_since_s is None:
            self._missed_since_s = now_s
        elif self._executors is not None and self._executors.is_stopped:
            self._warn(f"Spark has ended its application. {self._missing(self._executors)}")
        elif self._executors is not None and now_s - self._missed_since_s > _PATIENCE_S:
            self._missed_since_s = now_s  # To look for the reason, files are read.
            self._warn(self._missing(self._executors))

    def _missing(self, executors: SparkExecutors) -> str:
        return missing_executors(self._awaited, len(self._hosts), executors.application_id)

    def _look(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the hosts of the live executors and the reasons of lost ones, both by container id."""
        context = self._context()
        executors = self._executors
        if executors is None or executors.application_id != context.applicationId:
            executors = self._executors = SparkExecutors(context)
            self._required = 0
            # Existing executors are about to end: they belonged to the driver of an earlier job in this process.
            self._released |= self._alive(executors).keys()
        alive = self._alive(executors)
        lost = [container_id for container_id in self._hosts if container_id not in alive]
        reasons = {name: executors.reason_of_loss(_executor_id(name)) for name in lost if self._is_present(name)}
        return alive, reasons

    def _alive(self, executors: SparkExecutors) -> dict[str, str]:
        return {f"{executors.application_id}-{number}": host for number, host in executors.alive().items()}

    def _is_present(self, container_id: str) -> bool:
        """Return whether a container belongs to the current application."""
        assert self._executors is not None
        return container_id.startswith(f"{self._executors.application_id}-")

    def _take(self, alive: Mapping[str, str], reasons: Mapping[str, str]) -> None:
        """Notify the listener of changes."""
        assert self._listener is not None
        for container_id in [known for known in self._hosts if known not in alive]:
            del self._hosts[container_id]
            reason = reasons.get(container_id, "Spark's application ended")
            logger.warning("executor %s was lost: %s", container_id, reason)
            self._listener.container_completed(container_id, f"Spark lost executor {container_id}: {reason}")
        # Spark takes a moment to end an executor; until then it must not pass for a new one.
        self._released &= alive.keys()
        new = {name: host for name, host in alive.items() if name not in self._hosts and name not in self._released}
        if new:
            self._hosts |= new
            for container_id, host in new.items():
                logger.info("executor %s started on %s", container_id, host)
            # Spark may start more than was asked for; the ResourceManager returns the surplus.
            self._awaited = max(self._awaited - len(new), 0)
            self._missed_since_s, self._last_warning = None, ""
            self._listener.containers_granted(list(new))

    def _require(self) -> None:
        """Tell Spark the required number of executors if it has changed, and repeatedly while some are pending.

        A restarted Master knows the application, but not the required number of executors.
        """
        total = len(self._hosts) + self._awaited
        is_due = self._awaited and time.monotonic() - self._told_s > _TELL_AGAIN_S
        if self._executors is not None and (total != self._required or is_due):
            self._executors.require(total)
            if total != self._required:
                logger.info("required %d executors of Spark", total)
            self._required, self._told_s = total, time.monotonic()


def _executor_id(container_id: str) -> str:
    return container_id.rsplit("-", 1)[1]
