"""Operations that take a while: started by one request, asked after by others.

Flink: `runtime.rest.handler.async.CompletedOperationCache` and `AbstractAsynchronousOperationHandlers`.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from firesteel.rest.errors import RestError
from firesteel.rest.java_throwable import failure_cause

_KEPT = 1000
_ID = re.compile(r"[0-9a-f]{32}")


class Operations:
    """Runs operations under trigger ids; the same id twice is one operation.

    Args:
        spawn: Makes a task of a coroutine.
    """

    def __init__(self, spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]) -> None:
        self._spawn = spawn
        self._running: OrderedDict[tuple[str, str], asyncio.Task[Any]] = OrderedDict()

    def trigger(self, kind: str, trigger_id: Any, operation: Callable[[], Coroutine[Any, Any, Any]]) -> str:
        """Start an operation, unless there is one of that id: its trigger id.

        Raises:
            RestError: the id is none (400).
        """
        trigger_id = uuid.uuid4().hex if trigger_id is None else trigger_id
        if not isinstance(trigger_id, str) or not _ID.fullmatch(trigger_id):
            raise RestError(400, f"triggerId is {trigger_id!r}, allowed are 32 hexadecimal digits")
        if (kind, trigger_id) not in self._running:
            self._running[kind, trigger_id] = self._spawn(operation())
            self._forget_old()
        return str(trigger_id)

    def _forget_old(self) -> None:
        for key, task in list(self._running.items())[: max(0, len(self._running) - _KEPT)]:
            if task.done():
                del self._running[key]

    def status(
        self, kind: str, trigger_id: str, result_name: str | None, failure_name: str = "failure-cause"
    ) -> dict[str, Any]:
        """How an operation is doing: `status`, and `operation` when it is over: its result or failure by that name.

        Raises:
            RestError: there is none of that id (404).
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
