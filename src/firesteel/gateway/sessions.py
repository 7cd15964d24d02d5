"""All sessions of a gateway (Flink: `gateway.service.SqlGatewayServiceImpl`, `SessionManagerImpl`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from firesteel.common.options.gateway_options import (
    GATEWAY_SESSION_CHECK_INTERVAL,
    GATEWAY_SESSION_IDLE_TIMEOUT,
    GATEWAY_SESSION_MAX_NUM,
    GATEWAY_WORKER_THREADS_MAX,
)
from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.gateway.operation import Operation
from firesteel.gateway.session import Session

logger = logging.getLogger(__name__)

T = TypeVar("T")

_CALLERS = 32
_PROCESS_PREFIXES = (
    "blob.",
    "env.",
    "high-availability.",
    "historyserver.",
    "jobmanager.",
    "metrics.",
    "rest.",
    "security.",
    "sql-gateway.",
    "taskmanager.",
    "web.",
)
"""Options of processes. Flink's client sends its whole `config.yaml`; a session ignores these options. It cannot set
them later either: with `rest.address` the gateway would send its token elsewhere."""


def _of_session(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if not key.startswith(_PROCESS_PREFIXES)}


class Sessions:
    """Opens, finds and closes sessions, and runs their statements in threads.

    Args:
        configuration: Options of the gateway.
        defaults: Initial options of all sessions.

    Raises:
        InvalidOptionError: an option is invalid.
    """

    def __init__(self, configuration: Mapping[str, str], defaults: Mapping[str, str]) -> None:
        self._defaults = dict(defaults)
        self._idle_timeout_s = GATEWAY_SESSION_IDLE_TIMEOUT.of(configuration)
        self._check_interval_s = GATEWAY_SESSION_CHECK_INTERVAL.of(configuration)
        self._maximum = GATEWAY_SESSION_MAX_NUM.of(configuration)
        self._workers = ThreadPoolExecutor(GATEWAY_WORKER_THREADS_MAX.of(configuration), "sql-gateway-worker")
        # Separate threads, so that operations can be cancelled while all workers are busy.
        self._callers = ThreadPoolExecutor(_CALLERS, "sql-gateway-call")
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: dict[str, Session] = {}
        self._expiry: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start closing idle sessions periodically."""
        if self._idle_timeout_s > 0 and self._check_interval_s > 0:
            self._expiry = asyncio.get_running_loop().create_task(self._close_idle_sessions())

    async def stop(self) -> None:
        """Close all sessions."""
        if self._expiry is not None:
            self._expiry.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._expiry
        await asyncio.gather(*(self.close(handle) for handle in list(self._sessions)))
        for task in self._tasks:
            task.cancel()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._callers.shutdown(wait=False)

    def __len__(self) -> int:
        return len(self._sessions)

    async def open(self, options: Mapping[str, str], name: str | None = None) -> Session:
        """Open a session with these options.

        Raises:
            SqlGatewayError: there are too many sessions.
        """
        if len(self._sessions) >= self._maximum:
            raise SqlGatewayError(
                f"Failed to create session, the count of active sessions exceeds the max count: {self._maximum}"
            )
        session = await self.call(Session, self._defaults | _of_session(options), name, _PROCESS_PREFIXES)
        self._sessions[session.handle] = session
        logger.info("opened session %s (%s)", session.handle, name or "no name")
        return session

    def get(self, handle: str) -> Session:
        """Return a session, whose idle time begins again.

        Raises:
            SqlGatewayError: there is no such session.
        """
        session = self._sessions.get(handle)
        if session is None:
            raise SqlGatewayError(f"Session '{handle}' does not exist.")
        session.touch()
        return session

    async def close(self, handle: str) -> None:
        """Close a session.

        Raises:
            SqlGatewayError: there is no such session.
        """
        session = self.get(handle)
        # Before what may take long, so that no request begins a statement in a session that is closing.
        del self._sessions[handle]
        await self.call(session.close)
        logger.info("closed session %s", handle)

    def execute(self, session: Session, text: str, options: Mapping[str, str], timeout_s: float) -> Operation:
        """Start executing a statement and return its operation.

        Args:
            session: The session.
            text: The statement.
            options: Options of this statement only.
            timeout_s: The timeout of the statement; 0 for none.
        """
        operation = session.submit(text, _of_session(options))
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(session, operation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if timeout_s > 0:
            # In a thread, as it may wait for a job to be cancelled.
            timer = loop.call_later(timeout_s, self._callers.submit, operation.time_out)
            task.add_done_callback(lambda _: timer.cancel())
        return operation

    async def _run(self, session: Session, operation: Operation) -> None:
        # Waited for here, not in a thread: the statements of one session would take all workers from the others.
        async with session.turn:
            await asyncio.get_running_loop().run_in_executor(self._workers, operation.run)

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a blocking function in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._callers, function, *arguments)

    async def _close_idle_sessions(self) -> None:
        while True:
            await asyncio.sleep(self._check_interval_s)
            for handle, session in list(self._sessions.items()):
                if session.idle_s > self._idle_timeout_s:
                    logger.info("session %s was idle for %.0f s", handle, session.idle_s)
                    try:
                        await self.close(handle)
                    except Exception:
                        logger.exception("closing session %s failed", handle)
