"""Calls between endpoints of one process."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from firesteel.common.trust import pickling
from firesteel.runtime.clock import Clock, SystemClock
from firesteel.runtime.rpc.deadlines import Deadlines
from firesteel.runtime.rpc.rpc_errors import EndpointStoppedError, RpcConnectionError, RpcTimeoutError

__all__ = ["Gateway", "InMemoryRpcService", "RpcCall", "RpcServer", "RpcService", "fail", "no_rpc_timeout"]

F = TypeVar("F", bound=Callable[..., Any])


def no_rpc_timeout(method: F) -> F:
    """Mark a gateway method whose response has no timeout."""
    vars(method)["__rpc_without_timeout__"] = True
    return method


def large_arguments(method: F) -> F:
    """Mark a gateway method whose arguments are large, so that a thread serializes them.

    Such a call may start after calls that its caller makes later.
    """
    vars(method)["__rpc_large_arguments__"] = True
    return method


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A call to an endpoint."""

    address: str
    fencing_token: str | None
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, object]


class RpcServer(Protocol):
    """The receiver of calls to an address."""

    def receive(self, call: RpcCall) -> asyncio.Future[object]:
        """Start to execute a call and return the future of its response."""
        ...


class RpcService(Protocol):
    """A service that connects endpoints. Flink: `runtime.rpc.RpcService`."""

    @property
    def clock(self) -> Clock:
        """The clock of timeouts and scheduled calls."""
        ...

    def address_of(self, name: str) -> str:
        """Return the address of this service's endpoint with a name, as seen by others."""
        ...

    def register(self, address: str, server: RpcServer) -> None:
        """Make an endpoint reachable."""

    def unregister(self, address: str) -> None:
        """Make an endpoint unreachable; unknown addresses are ignored."""

    async def connect(self, address: str, gateway_type: type, fencing_token: str | None = None) -> Any:
        """Return a gateway to the endpoint at `address`, with the methods of the Protocol `gateway_type`.

        Raises:
            RpcConnectionError: no endpoint runs there.
        """


class InMemoryRpcService:
    """A service that connects the endpoints of one process on one event loop.

    Calls of one caller start in call order, never in the caller's stack. Flink: `runtime.rpc.pekko.PekkoRpcService`
    for local actors; `serialize_calls` is its `pekko.rpc.force-invocation-serialization`.

    Args:
        clock: The clock of timeouts.
        timeout_s: Timeout of responses in seconds. Flink: `pekko.ask.timeout`.
        serialize_calls: Whether arguments and results are serialized, as between processes.
    """

    def __init__(self, clock: Clock | None = None, timeout_s: float = 10.0, serialize_calls: bool = False) -> None:
        self._clock = clock or SystemClock()
        self._timeout_s = timeout_s
        self._serialize_calls = serialize_calls
        self._servers: dict[str, RpcServer] = {}
        self._deadlines = Deadlines(self._clock, timeout_s, self._expired)

    @property
    def clock(self) -> Clock:
        """The clock of timeouts and scheduled calls."""
        return self._clock

    def address_of(self, name: str) -> str:
        """Return the name itself."""
        return name

    def register(self, address: str, server: RpcServer) -> None:
        """Make an endpoint reachable.

        Raises:
            ValueError: the address is in use.
        """
        if address in self._servers:
            raise ValueError(f"can't register an endpoint at {address!r}: the address is in use")
        self._servers[address] = server

    def unregister(self, address: str) -> None:
        """Make an endpoint unreachable; unknown addresses are ignored."""
        self._servers.pop(address, None)

    async def connect(self, address: str, gateway_type: type, fencing_token: str | None = None) -> Any:
        """Return a gateway to the endpoint at `address`, with the methods of the Protocol `gateway_type`.

        Raises:
            RpcConnectionError: no endpoint runs there.
        """
        if address not in self._servers:
            raise RpcConnectionError(address)
        return Gateway(self, address, gateway_type, fencing_token)

    def call(self, call: RpcCall, with_timeout: bool, is_large: bool = False) -> asyncio.Future[Any]:
        """Send a call and return the future of its response.

        Args:
            call: The call.
            with_timeout: Whether the response has a timeout.
            is_large: Whether a thread serializes the arguments if they leave the process.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if with_timeout:
            self._deadlines.watch(answer, call)
        self._transmit(call, answer, is_large)
        return answer

    def _transmit(self, call: RpcCall, answer: asyncio.Future[Any], is_large: bool) -> None:
        # Not at once: a call in the caller's stack would see state that the caller is about to change. `call_soon`
        # keeps the order.
        asyncio.get_running_loop().call_soon(self._arrive, self._copy(call), answer)

    def _arrive(self, call: RpcCall, answer: asyncio.Future[Any]) -> None:
        server = self._servers.get(call.address)
        if server is None:
            fail(answer, EndpointStoppedError(call.address, call.method))
            return
        server.receive(call).add_done_callback(lambda result: self._answer(result, answer))

    def _answer(self, result: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
        error = result.exception()
        if error is not None:
            fail(answer, error)
        elif not answer.done():
            answer.set_result(self._copy(result.result()))

    def _expired(self, answer: asyncio.Future[Any], call: RpcCall) -> None:
        text = f"{call.address} did not answer {call.method}() within {self._timeout_s:g} s"
        fail(answer, RpcTimeoutError(text))

    def _copy(self, value: object) -> Any:
        return pickle.loads(pickling.dumps(value)) if self._serialize_calls else value


def fail(answer: asyncio.Future[object], error: BaseException) -> None:
    """Set an error as the response, unless there is a response already."""
    if not answer.done():
        answer.set_exception(error)


class Gateway:
    """A proxy of an endpoint with the methods of its Protocol only. Created by `RpcService.connect`."""

    __slots__ = ("_address", "_fencing_token", "_gateway_type", "_service")

    def __init__(
        self, service: InMemoryRpcService, address: str, gateway_type: type, fencing_token: str | None
    ) -> None:
        self._service = service
        self._address = address
        self._gateway_type = gateway_type
        self._fencing_token = fencing_token

    @property
    def address(self) -> str:
        """The endpoint's address."""
        return self._address

    def __getattr__(self, name: str) -> Callable[..., asyncio.Future[object]]:
        method = getattr(self._gateway_type, name, None)
        # Only what the Protocol declares can be called, so an endpoint's other methods are not reachable.
        if name.startswith("_") or method is None:
            raise AttributeError(f"{self._gateway_type.__name__} has no call {name!r}")
        with_timeout = not hasattr(method, "__rpc_without_timeout__")
        is_large = hasattr(method, "__rpc_large_arguments__")

        def call(*args: object, **kwargs: object) -> asyncio.Future[Any]:
            made = RpcCall(self._address, self._fencing_token, name, args, kwargs)
            return self._service.call(made, with_timeout, is_large)

        return call

    def __repr__(self) -> str:
        return f"{self._gateway_type.__name__} of {self._address}"
