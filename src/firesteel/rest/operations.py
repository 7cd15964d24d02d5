"""Asynchronous operations: triggered by one request and polled by others.

Flink: `runtime.rest.handler.async.CompletedOperationCache` and `AbstractAsynchronousOperationHandlers`.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from firesteel.rest.java_throwable import failure_cause
from firesteel.rest.rest_errors import RestError

_KEPT = 1000
_ID = re.compile(r"[0-9a-f]{32}")


class Operations:
    """Runs operations under trigger ids; a repeated id refers to the same operation.

    Args:
        spawn: Creates a task for a coroutine.
    """

    def __init__(self, spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]) -> None:
        self._spawn = spawn
        self._running: OrderedDict[tuple[str, str], asyncio.Task[object]] = OrderedDict()

    def trigger(self, kind: str, trigger_id: object, operation: Callable[[], Coroutine[Any, Any, Any]]) -> str:
        """Start an operation, unless one with that id exists, and return its trigger id.

        Raises:
            RestError: the id is invalid (400).
        """
        trigger_id = uuid.uuid4().hex if trigger_id is None else trigger_id
        if not isinstance(trigger_id, str) or not _ID.fullmatch(trigger_id):
            raise RestError(400, f"triggerId is {trigger_id!r}, expected 32 hexadecimal digits")
        if (kind, trigger_id) not in self._running:
            self._running[kind, trigger_id] = self._spawn(operation())
            self._forget_old()
        return str(trigger_id)

    def _forget_old(self) -> None:
        for key, task in list(self._running.items())[: max(0, len(self._running) - _KEPT)]:
            # One that runs is kept in any case, so that its outcome can be asked for.
            if task.done():
                del self._running[key]

    def status(
        self, kind: str, trigger_id: str, result_name: str | None, failure_name: str = "failure-cause"
    ) -> dict[str, Any]:
        """Return the `status` of an operation; if it has completed, `operation` contains its result or failure.

        Raises:
            RestError: there is no such operation (404).
        """
        task = self._running.get((kind, trigger_id))
        if task is None:
            raise RestError(404, f"Operation not found under key: {trigger_id}")
        if not task.done():
            return {"status": {"id": "IN_PROGRESS"}, "operation": None}
        error = task.exception()
        if error is not None:
            return {"status": {"id": "COMPLETED"}, "operation": {failure_name: failure_cause(error)}}
        result = {} if result_name is None else {result_name: task.result()}
        return {"status": {"id": "COMPLETED"}, "operation": result}
