"""Rules of asynchronous functions: retries, time-outs, errors and batches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from firesteel.datastream import async_retry_predicates
from firesteel.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
)
from firesteel.datastream.functions import AsyncFunction
from firesteel.functions.operator_descriptors import AsyncWaitOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import OperatorHarness

EMPTY = async_retry_predicates.empty_result_predicate
ANY_ERROR = async_retry_predicates.has_exception_predicate


class Flaky(AsyncFunction):
    """Fails or returns nothing a given number of times per value, then returns the value."""

    def __init__(self, failures: int, empty: int = 0) -> None:
        self.failures, self.empty = failures, empty
        self.calls: dict[Any, int] = {}

    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(0)
        calls = self.calls[value] = self.calls.get(value, 0) + 1
        if calls <= self.failures:
            raise ValueError(f"call {calls}")
        return [] if calls <= self.failures + self.empty else [value]


def run(
    function: AsyncFunction[Any, Any], retry: Any = None, timeout_ms: int = 5000, ordered: bool = True
) -> list[Any]:
    descriptor = AsyncWaitOperator(function, timeout_ms, 10, ordered, retry)
    with OperatorHarness(descriptor) as h:
        h.process_batch(["a", "b"])
        return h.values


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "retry",
    [
        FixedDelayRetryStrategy(3, 1, EMPTY, ANY_ERROR),
        ExponentialBackoffDelayRetryStrategy(3, 1, 4, 2, EMPTY, ANY_ERROR),
    ],
    ids=["fixed", "exponential"],
)
def test_call_is_retried_as_long_as_the_strategy_allows(retry: Any, ordered: bool) -> None:
    function = Flaky(2, 1)
    assert run(function, retry, ordered=ordered) == ["a", "b"]
    assert function.calls == {"a": 4, "b": 4}


def test_last_result_counts_when_retries_are_exhausted() -> None:
    function = Flaky(0, 9)
    assert run(function, FixedDelayRetryStrategy(2, 1, EMPTY, ANY_ERROR)) == []
    assert function.calls == {"a": 3, "b": 3}


def test_last_error_fails_the_job_when_retries_are_exhausted() -> None:
    with pytest.raises(UserFunctionError, match=r"ValueError: call 3; on record '[ab]'"):
        run(Flaky(9), FixedDelayRetryStrategy(2, 1, EMPTY, ANY_ERROR))


@pytest.mark.parametrize("retry", [None, NoRetryStrategy(), FixedDelayRetryStrategy(2, 1, EMPTY, None)])
def test_error_is_not_retried_unless_a_predicate_asks_for_it(retry: Any) -> None:
    with pytest.raises(UserFunctionError, match="ValueError: call 1"):
        run(Flaky(1), retry)


class Stuck(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(60 if value == "a" else 0)
        return [value]


class StuckWithAnswer(Stuck):
    def timeout(self, value: Any) -> Any:
        return [f"{value} took too long", "sorry"]


def test_time_out_fails_the_job_unless_overridden() -> None:
    with pytest.raises(UserFunctionError, match="has timed out for input: a; on record 'a'"):
        run(Stuck(), timeout_ms=20)
    assert run(StuckWithAnswer(), timeout_ms=20) == ["a took too long", "sorry", "b"]


def test_all_tries_share_one_time_out() -> None:
    class Fails(Flaky):
        def timeout(self, value: Any) -> Any:
            return ["gave up"]

    assert run(Fails(9), FixedDelayRetryStrategy(5, 50, None, ANY_ERROR), timeout_ms=20) == ["gave up", "gave up"]


class TimesOutItself(Stuck):
    async def async_invoke(self, value: Any) -> Any:
        raise TimeoutError("the server said so")

    def timeout(self, value: Any) -> Any:
        return ["not this"]


def test_time_out_that_the_function_raises_itself_is_an_error_like_others() -> None:
    with pytest.raises(UserFunctionError, match="TimeoutError: the server said so"):
        run(TimesOutItself())


def test_time_out_of_zero_is_none() -> None:
    class Answers(Stuck):
        async def async_invoke(self, value: Any) -> Any:
            await asyncio.sleep(0.01)
            return [value]

    assert run(Answers(), timeout_ms=0) == ["a", "b"]


def test_function_is_opened_and_closed_and_keeps_its_loop_over_batches() -> None:
    class OneLoop(AsyncFunction):
        def open(self, runtime_context: Any) -> None:
            self.loops: set[int] = set()

        async def async_invoke(self, value: Any) -> Any:
            self.loops.add(id(asyncio.get_running_loop()))
            return [len(self.loops)]

        def close(self) -> None:
            self.loops.clear()

    function = OneLoop()
    with OperatorHarness(AsyncWaitOperator(function, 0, 10, True)) as h:
        h.process(1)
        h.process(2)
        assert h.values == [1, 1]
    assert function.loops == set()


class Answering(AsyncFunction):
    """Answers every element with the same object."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def async_invoke(self, value: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(("answer", "wrong"), [(None, "cannot be none"), (7, "should be of list type")])
def test_results_that_are_no_list_are_refused_as_in_pyflink(answer: Any, wrong: str) -> None:
    expected = f"The result of AsyncFunction {wrong}, please check the methods 'async_invoke' and 'timeout' of class"
    with pytest.raises(UserFunctionError, match=f"{expected} 'Answering'"):
        run(Answering(answer))


def test_delays_stay_at_their_bound_however_many_attempts_there_are() -> None:
    strategy = ExponentialBackoffDelayRetryStrategy(10**6, 100, 1000, 2.0, EMPTY, ANY_ERROR)
    delays = [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 4, 5, 5000)]
    assert delays == [100, 200, 800, 1000, 1000]
