"""Calls between simulated processes: delayed, lost, duplicated, reordered or disconnected."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.runtime.rpc import EndpointStoppedError, InMemoryRpcService, RpcConnectionError
from firesteel.runtime.rpc.rpc_service import Gateway, RpcCall, RpcServer, fail
from tests.simulation.core.virtual_time import ProcessClock, SimulatedProcess
from tests.simulation.core.weather import Weather


@dataclass
class NetworkWeather(Weather):
    """What happens to calls.

    Attributes:
        reorders: Whether messages between two processes may overtake each other.
        serializes: Whether calls are written and read back.
    """

    reorders: bool = False
    serializes: bool = False


class Network:
    """Connects the endpoints of all processes."""

    def __init__(self, random_: random.Random, weather: NetworkWeather) -> None:
        self.random = random_
        self.weather = weather
        self.endpoints: dict[str, tuple[SimulatedProcess, RpcServer]] = {}
        self.cut: set[frozenset[SimulatedProcess]] = set()
        self._last_arrival_s: dict[tuple[SimulatedProcess, SimulatedProcess], float] = {}

    def killed(self, process: SimulatedProcess) -> None:
        """The endpoints of a process are gone."""
        self.endpoints = {address: one for address, one in self.endpoints.items() if one[0] is not process}

    def is_cut(self, one: SimulatedProcess, other: SimulatedProcess) -> bool:
        """Whether nothing passes between two processes."""
        return frozenset({one, other}) in self.cut

    def send(self, source: SimulatedProcess, target: SimulatedProcess, deliver: Callable[[], object]) -> None:
        """Bring a message from one process to another, or not."""
        if not source.is_alive or self.is_cut(source, target):
            return
        for _ in range(1 if source is target else self.weather.copies(self.random)):
            asyncio.get_running_loop().call_later(self._delay(source, target), target.call, deliver)

    def _delay(self, source: SimulatedProcess, target: SimulatedProcess) -> float:
        if source is target:
            return 0.0
        now_s = asyncio.get_running_loop().time()
        arrival_s = now_s + self.weather.delay(self.random)
        if not self.weather.reorders:
            arrival_s = max(arrival_s, self._last_arrival_s.get((source, target), 0.0))
            self._last_arrival_s[source, target] = arrival_s
        return arrival_s - now_s


class SimulatedRpcService(InMemoryRpcService):
    """The RpcService of one process: what it sends goes through the network."""

    def __init__(self, network: Network, process: SimulatedProcess) -> None:
        super().__init__(ProcessClock(process), serialize_calls=network.weather.serializes)
        self._network = network
        self._process = process

    def register(self, address: str, server: RpcServer) -> None:
        known = self._network.endpoints.get(address)
        if known is not None and known[0].is_alive:
            raise ValueError(f"can't register an endpoint at {address!r}: the address is in use")
        self._network.endpoints[address] = self._process, server

    def unregister(self, address: str) -> None:
        known = self._network.endpoints.get(address)
        if known is not None and known[0] is self._process:
            del self._network.endpoints[address]

    async def connect(self, address: str, gateway_type: type, fencing_token: str | None = None) -> Any:
        found = self._network.endpoints.get(address)
        if found is None or found[0] is not self._process:
            await asyncio.sleep(self._network.random.random() * 2 * self._network.weather.delay_s)
            found = self._network.endpoints.get(address)
        if found is None or self._network.is_cut(found[0], self._process):
            raise RpcConnectionError(address)
        return Gateway(self, address, gateway_type, fencing_token)

    def _transmit(self, call: RpcCall, answer: asyncio.Future[Any], is_large: bool) -> None:
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # Nobody may be left to ask.
        found = self._network.endpoints.get(call.address)
        if found is None:
            asyncio.get_running_loop().call_soon(fail, answer, EndpointStoppedError(call.address, call.method))
            return
        process, copied = found[0], self._copy(call)
        self._network.send(self._process, process, lambda: self._arrive_at(process, copied, answer))

    def _arrive_at(self, process: SimulatedProcess, call: RpcCall, answer: asyncio.Future[Any]) -> None:
        found = self._network.endpoints.get(call.address)
        if found is None or found[0] is not process:
            error = EndpointStoppedError(call.address, call.method)
            self._network.send(process, self._process, lambda: fail(answer, error))
            return
        found[1].receive(call).add_done_callback(lambda done: self._send_back(process, done, answer))

    def _send_back(self, process: SimulatedProcess, done: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            self._network.send(process, self._process, lambda: self._answer(done, answer))
