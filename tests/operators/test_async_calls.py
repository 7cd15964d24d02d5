"""Asynchronous scalar functions: concurrent calls with ordered results, a timeout and attempts."""

from __future__ import annotations

import asyncio
import time

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.operators.async_calls import AsyncCalls
from firesteel.table import AsyncScalarFunction, DataTypes, StreamTableEnvironment
from firesteel.table.expressions import col
from firesteel.table.udf import udf
from firesteel.testing import run_local

PREFIX = "table.exec.async-scalar."


def calls(**options):
    return AsyncCalls({PREFIX + key.replace("_", "-"): value for key, value in options.items()})


def results(function, rows, **options):
    made = calls(**options)
    try:
        return made(function, rows)
    finally:
        made.close()


def test_calls_run_at_the_same_time_and_keep_the_order_of_rows():
    waiting: list[asyncio.Event] = []

    async def last_first(number):
        waiting.append(asyncio.Event())
        if len(waiting) == 3:
            for event in reversed(waiting):
                event.set()
        await waiting[number].wait()
        return number * 10

    assert results(last_first, [(0,), (1,), (2,)]) == [0, 10, 20]


def test_no_more_calls_run_at_a_time_than_allowed():
    running, most = 0, 0

    async def counted():
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    results(counted, [()] * 20, max_concurrent_operations="4")
    assert most == 4


@pytest.mark.parametrize(
    ("options", "attempts"),
    [({}, 3), ({"max_attempts": "5"}, 5), ({"retry_strategy": "NO_RETRY", "max_attempts": "5"}, 1)],
)
def test_a_failed_call_is_repeated(options, attempts):
    tried = []

    async def failing(text):
        tried.append(text)
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        results(failing, [("a",)], retry_delay="0 ms", **options)
    assert tried == ["a"] * attempts


def test_a_failed_call_is_repeated_after_a_delay():
    tried = []

    async def failing(text):
        tried.append(time.monotonic())
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        results(failing, [("a",)], retry_delay="20 ms", max_attempts="2")
    assert tried[1] - tried[0] >= 0.019


def test_a_call_that_takes_too_long_fails_with_its_arguments():
    async def endless(text):
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError, match=r"Async function call has timed out for input: \['a'\]"):
        results(endless, [("a",)], timeout="1 ms")


def test_the_users_own_timeout_error_is_an_error_like_others():
    async def failing():
        raise TimeoutError("of the user")

    with pytest.raises(TimeoutError, match="of the user"):
        results(failing, [()], max_attempts="1")


class Opened(AsyncScalarFunction):
    def open(self, function_context):
        self.prefix = "opened "

    async def eval(self, text):
        await asyncio.sleep(0)
        return self.prefix + text


def test_a_query_calls_asynchronous_functions_around_others():
    @udf(result_type=DataTypes.STRING())
    async def starred(text):
        return f"*{text}"

    @udf(result_type=DataTypes.STRING())
    def upper(text):
        return text.upper()

    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_system_function("opened", udf(Opened(), result_type=DataTypes.STRING()))
    words = t_env.from_elements([("a",), ("b",), ("c",)], ["word"])
    t_env.create_temporary_view("words", words.select(col("word"), starred(upper(starred(col("word")))).alias("pair")))
    query = "SELECT opened(word), pair FROM words WHERE opened(word) <> 'opened b'"
    t_env.to_data_stream(t_env.sql_query(query)).collect_async()
    assert [tuple(row) for row in run_local(env).elements] == [("opened a", "**A"), ("opened c", "**C")]


def test_a_pandas_function_is_not_asynchronous():
    with pytest.raises(ValueError, match="Async scalar functions do not support pandas func_type"):
        udf(Opened(), result_type=DataTypes.STRING(), func_type="pandas")
