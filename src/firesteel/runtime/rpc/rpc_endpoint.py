"""Endpoints: owners of state that only one event loop may access."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from firesteel.runtime.clock import Clock, Timer
from firesteel.runtime.rpc.rpc_errors import EndpointStoppedError, FencingTokenError, RpcError
from firesteel.runtime.rpc.rpc_service import RpcCall, RpcService

__all__ = ["FencedRpcEndpoint", "RpcEndpoint"]

logger = logging.getLogger(__name__)


class RpcEndpoint:
    """An owner of state that only one event loop, its main thread, may access. Flink: `runtime.rpc.RpcEndpoint`.

    Subclasses implement calls as `async def`; other components hold a gateway, never the object. A call runs
    exclusively from one `await` to the next, so state must be read again after an `await`.

    Args:
        rpc_service: The RPC service of the endpoint.
        name: The name, unique in the service, from which the address is derived.
    """

    def __init__(self, rpc_service: RpcService, name: str) -> None:
        self.rpc_service = rpc_service
        self.address = rpc_service.address_of(name)
        self._main_loop = asyncio.get_running_loop()
        self._work: dict[asyncio.Future[object], None] = {}  # In start order, so that runs are deterministic.
        self._waiting: dict[asyncio.Future[Any], str] = {}
        self._scheduled: set[_Scheduled] = set()
        self._is_running = False
        self._is_stopped = False

    @property
    def clock(self) -> Clock:
        """The clock of the endpoint."""
        return self.rpc_service.clock

    @property
    def is_running(self) -> bool:
        """Whether calls are executed."""
        return self._is_running

    async def start(self) -> None:
        """Become reachable, then run `on_start`."""
        self.rpc_service.register(self.address, self)
        self._is_running = True
        await self.on_start()

    async def stop(self) -> None:
        """Run `on_stop`, reject further calls and fail pending ones with `EndpointStoppedError`. Idempotent."""
        if self._is_stopped:
            return
        self._is_stopped = True
        try:
            if self._is_running:
                await self.on_stop()
        finally:
            await self._end_calls()

    async def _end_calls(self) -> None:
        """Reject further calls, fail the pending ones and cancel the work of the endpoint."""
        self._is_running = False
        self.rpc_service.unregister(self.address)
        for scheduled in list(self._scheduled):
            scheduled.cancel()
        for answer, method in list(self._waiting.items()):
            if not answer.done():
                answer.set_exception(EndpointStoppedError(self.address, method))
        current = asyncio.current_task()
        others = [task for task in self._work if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def on_start(self) -> None:
        """Hook: runs once the endpoint is reachable."""

    async def on_stop(self) -> None:
        """Hook: runs while calls are still executed."""

    def receive(self, call: RpcCall) -> asyncio.Future[object]:
        """Start to execute a call received from a gateway, and return the future of its response."""
        answer: asyncio.Future[Any] = self._main_loop.create_future()
        refusal = self._refusal(call)
        if refusal is not None:
            answer.set_exception(refusal)
            return answer
        self._waiting[answer] = call.method
        answer.add_done_callback(self._answer_is_there)
        self._track(asyncio.ensure_future(self._carry_out(call, answer)))
        return answer

    def run_async(self, callback: Callable[[], object]) -> None:
        """Run `callback` in the main thread, asynchronously, unless the endpoint has stopped by then."""
        self._main_loop.call_soon(lambda: callback() if self._is_running else None)

    def schedule_run_async(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` in the main thread after `delay_s` seconds, unless the endpoint has stopped by then."""
        return _Scheduled(self._scheduled, self.clock, delay_s, lambda: callback() if self._is_running else None)

    def spawn(self, work: Awaitable[object], what: str) -> asyncio.Future[object]:
        """Run `work` concurrently; it is cancelled with the endpoint, and its errors are logged under `what`."""
        future = asyncio.ensure_future(work)
        future.add_done_callback(functools.partial(self._log_error, what))
        return self._track(future)

    def when_failed(self, call: Awaitable[object], follows: Callable[[Exception], None]) -> None:
        """Call `follows` if a call fails while the endpoint runs.

        It uses a callback instead of a task, because a JobMaster has a call for each slot and each task.
        """

        def answered(answer: asyncio.Future[object]) -> None:
            error = None if answer.cancelled() else answer.exception()
            if isinstance(error, Exception) and self._is_running:
                follows(error)

        self.spawn(call, "a call").add_done_callback(answered)

    def validate_runs_in_main_thread(self) -> None:
        """Raise an error if the caller is not in the endpoint's main thread."""
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        assert running is self._main_loop, f"{self.address} touched outside its main thread"

    def _refusal(self, call: RpcCall) -> Exception | None:
        return None if self._is_running else EndpointStoppedError(self.address, call.method)

    async def _carry_out(self, call: RpcCall, answer: asyncio.Future[object]) -> None:
        method: Callable[..., Coroutine[Any, Any, Any]] = getattr(self, call.method)
        try:
            result = await method(*call.args, **call.kwargs)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        except SystemExit as error:  # Raised by user code: it would end the event loop and all endpoints.
            if not answer.done():
                answer.set_exception(RpcError(f"{call.method}() ended by {error!r}, raised in the user's code"))
        else:
            if not answer.done():
                answer.set_result(result)

    def _answer_is_there(self, answer: asyncio.Future[object]) -> None:
        self._waiting.pop(answer, None)

    def _log_error(self, what: str, done: asyncio.Future[object]) -> None:
        if not done.cancelled() and done.exception() is not None:
            logger.info("%s: %s failed: %s", self.address, what, done.exception())

    def _track(self, work: asyncio.Future[object]) -> asyncio.Future[object]:
        self._work[work] = None
        work.add_done_callback(self._untrack)
        return work

    def _untrack(self, work: asyncio.Future[object]) -> None:
        self._work.pop(work, None)


class _Scheduled:
    """A scheduled callback of an endpoint, cancelled when the endpoint stops.

    The clock may keep a cancelled timer until it is due, perhaps for minutes, so it must not refer to the endpoint.
    """

    __slots__ = ("_all", "_timer", "callback")

    def __init__(self, all: set[_Scheduled], clock: Clock, delay_s: float, callback: Callable[[], object]) -> None:
        self._all = all
        self.callback: Callable[[], object] | None = callback
        self._timer = clock.call_later(delay_s, self._fire)
        all.add(self)

    def cancel(self) -> None:
        """Cancel the callback; no effect after it ran."""
        self.callback = None
        self._all.discard(self)
        self._timer.cancel()

    def _fire(self) -> None:
        self._all.discard(self)
        if self.callback is not None:
            self.callback()


class FencedRpcEndpoint(RpcEndpoint):
    """An endpoint that serves a single leader session. Flink: `runtime.rpc.FencedRpcEndpoint`.

    Every call carries a token, which is checked on arrival; an endpoint without a token rejects all calls.
    """

    def __init__(self, rpc_service: RpcService, name: str, fencing_token: str | None = None) -> None:
        super().__init__(rpc_service, name)
        self.fencing_token = fencing_token

    def schedule_run_async(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` as in `RpcEndpoint`, unless the leader session has changed by then."""
        token = self.fencing_token
        return super().schedule_run_async(delay_s, lambda: callback() if self.fencing_token == token else None)

    def _refusal(self, call: RpcCall) -> Exception | None:
        if self.fencing_token is None or call.fencing_token != self.fencing_token:
            return FencingTokenError(self.address, call.method, self.fencing_token, call.fencing_token)
        return super()._refusal(call)
