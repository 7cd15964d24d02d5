"""Endpoints, gateways and fencing (scenarios D09 to D11)."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Protocol

import pytest

from firesteel.runtime.clock import ManualClock, SystemClock
from firesteel.runtime.rpc import (
    EndpointStoppedError,
    FencedRpcEndpoint,
    FencingTokenError,
    InMemoryRpcService,
    RpcConnectionError,
    RpcEndpoint,
    RpcError,
    RpcTimeoutError,
    no_rpc_timeout,
)


class CounterGateway(Protocol):
    async def add(self, numbers: list[int]) -> int: ...

    async def fail(self) -> None: ...

    async def exit(self) -> None: ...

    async def wait(self) -> None: ...

    @no_rpc_timeout
    async def wait_for_ever(self) -> None: ...


class CounterCalls:
    total = 0

    async def add(self, numbers: list[int]) -> int:
        self.total += sum(numbers)
        numbers.append(-1)
        return self.total

    async def fail(self) -> None:
        raise ValueError("bad")

    async def exit(self) -> None:
        sys.exit(3)

    async def wait(self) -> None:
        await asyncio.Event().wait()

    wait_for_ever = wait

    async def hidden(self) -> None: ...


class Counter(CounterCalls, RpcEndpoint):
    pass


class FencedCounter(CounterCalls, FencedRpcEndpoint):
    pass


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def started(clock: ManualClock, **options: bool) -> tuple[Counter, CounterGateway]:
    service = InMemoryRpcService(clock, timeout_s=10, **options)
    counter = Counter(service, "counter")
    await counter.start()
    return counter, await service.connect("counter", CounterGateway)


async def test_calls_start_in_the_order_made_and_not_in_the_callers_stack(clock: ManualClock) -> None:
    counter, gateway = await started(clock)
    calls = [gateway.add([number]) for number in (1, 2, 3)]
    assert counter.total == 0
    assert [await call for call in calls] == [1, 3, 6]


async def test_arguments_are_serialized_when_configured(clock: ManualClock) -> None:
    _, gateway = await started(clock, serialize_calls=True)
    numbers = [1]
    await gateway.add(numbers)
    assert numbers == [1]


async def test_an_error_of_the_endpoint_is_raised_at_the_caller(clock: ManualClock) -> None:
    _, gateway = await started(clock)
    with pytest.raises(ValueError, match="bad"):
        await gateway.fail()


async def test_an_exit_in_a_call_is_an_error_of_that_call_only(clock: ManualClock) -> None:
    _, gateway = await started(clock)
    with pytest.raises(RpcError, match=r"exit\(\) ended by SystemExit\(3\)"):
        await gateway.exit()
    assert await gateway.add([1]) == 1


async def test_a_gateway_has_the_calls_of_its_protocol_only(clock: ManualClock) -> None:
    _, gateway = await started(clock)
    with pytest.raises(AttributeError, match="CounterGateway has no call 'hidden'"):
        gateway.hidden  # noqa: B018


async def test_connecting_to_an_unknown_address_fails(clock: ManualClock) -> None:
    with pytest.raises(RpcConnectionError, match="no endpoint runs at 'nowhere'"):
        await InMemoryRpcService(clock).connect("nowhere", CounterGateway)


async def test_a_caller_waiting_when_the_endpoint_stops_gets_an_error(clock: ManualClock) -> None:
    counter, gateway = await started(clock)
    waiting = asyncio.ensure_future(gateway.wait())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await counter.stop()
    with pytest.raises(EndpointStoppedError, match=r"counter stopped before it answered wait\(\)"):
        await waiting
    with pytest.raises(EndpointStoppedError):
        await gateway.add([1])


async def test_a_call_without_answer_times_out(clock: ManualClock) -> None:
    _, gateway = await started(clock)
    short, long = asyncio.ensure_future(gateway.wait()), asyncio.ensure_future(gateway.wait_for_ever())
    clock.advance(10)
    with pytest.raises(RpcTimeoutError, match=r"counter did not answer wait\(\) within 10 s"):
        await short
    assert not long.done()
    long.cancel()


async def test_an_endpoint_without_token_rejects_every_call(clock: ManualClock) -> None:  # D09
    service = InMemoryRpcService(clock)
    await FencedCounter(service, "counter").start()
    gateway: CounterGateway = await service.connect("counter", CounterGateway, "t1")
    with pytest.raises(FencingTokenError, match="it has no leader session yet"):
        await gateway.add([1])


async def test_a_call_of_another_leader_session_is_rejected_and_changes_nothing(clock: ManualClock) -> None:  # D10
    service = InMemoryRpcService(clock)
    counter = FencedCounter(service, "counter", "t2")
    await counter.start()
    gateway: CounterGateway = await service.connect("counter", CounterGateway, "t1")
    with pytest.raises(FencingTokenError, match="token 't1': it is in leader session 't2'"):
        await gateway.add([1])
    assert counter.total == 0


async def test_calls_scheduled_under_a_former_token_are_dropped(clock: ManualClock) -> None:  # D11
    counter = FencedCounter(InMemoryRpcService(clock), "counter", "t1")
    await counter.start()
    ran: list[str] = []
    counter.schedule_run_async(1, lambda: ran.append("under t1"))
    counter.fencing_token = "t2"
    counter.schedule_run_async(1, lambda: ran.append("under t2"))
    clock.advance(2)
    assert ran == ["under t2"]


async def test_scheduled_calls_are_dropped_after_the_stop(clock: ManualClock) -> None:
    counter, _ = await started(clock)
    ran: list[str] = []
    counter.schedule_run_async(1, lambda: ran.append("late"))
    await counter.stop()
    clock.advance(2)
    assert ran == []


async def test_stopped_endpoints_leave_no_timers() -> None:
    """A JobMaster has several, of up to 5 minutes: they would pile up with short jobs."""
    loop: Any = asyncio.get_running_loop()
    service = InMemoryRpcService(SystemClock())
    for number in range(20):
        counter = Counter(service, f"counter-{number}")
        await counter.start()
        counter.schedule_run_async(300, lambda: None)
        await counter.stop()
    assert [timer for timer in loop._scheduled if timer.when() > loop.time() + 200 and not timer.cancelled()] == []


async def test_an_endpoint_is_touched_in_its_main_thread_only(clock: ManualClock) -> None:
    counter, _ = await started(clock)
    counter.validate_runs_in_main_thread()
    with pytest.raises(AssertionError, match="counter touched outside its main thread"):
        await asyncio.to_thread(counter.validate_runs_in_main_thread)
