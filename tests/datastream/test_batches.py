"""`map_batches` and batches of `AsyncDataStream` in programs, and the arguments that they refuse."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Time, Types, WatermarkStrategy
from firesteel.datastream import AsyncDataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import AsyncBatchFunction, AsyncRetryStrategy
from firesteel.testing import run_local


def numbers(kind: Any = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    return env.from_collection([1, 2, 3, 4, 5], kind)


def results(stream: Any) -> list[Any]:
    stream.collect_async()
    return run_local(stream.get_execution_environment()).elements


class Sizes(AsyncBatchFunction):
    async def async_invoke_batch(self, batch: Any) -> Any:
        return [len(batch)] * len(batch)


@pytest.mark.parametrize("call", [AsyncDataStream.ordered_wait_batch, AsyncDataStream.unordered_wait_batch])
def test_batches_of_asynchronous_functions(call: Callable[..., Any]) -> None:
    strategy: Any = AsyncRetryStrategy.fixed_delay(2, 1, None, None)
    sizes = call(numbers(), Sizes(), Time.seconds(5), 2, Time.seconds(1), 3, Types.INT(), strategy)
    assert results(sizes) == [2, 2, 2, 2, 1]


def test_batches_of_keyed_streams_have_no_keys() -> None:
    keyed = numbers(Types.LONG()).key_by(lambda n: n % 2, Types.LONG())
    doubled = keyed.map_batches(lambda batch: [2 * n for n in batch], 10, output_type=Types.LONG())
    assert sorted(results(doubled)) == [2, 4, 6, 8, 10]


def same(batch: Any) -> Any:
    return batch


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "size": (lambda: numbers().map_batches(same, 0), "batch_size must be 1 or more, found 0"),
    "size of another type": (lambda: numbers().map_batches(same, "2"), "batch_size takes an int; found str '2'"),
    "capacity": (lambda: numbers().map_batches(Sizes(), 2, capacity=0), "capacity must be 1 or more, found 0"),
    "capacity of a function": (lambda: numbers().map_batches(same, 2, capacity=2), "2 batches needs an AsyncBatch"),
    "wait": (lambda: numbers().map_batches(same, 2, 5), "batch_wait takes a Time or None; found int 5"),
    "negative wait": (lambda: numbers().map_batches(same, 2, Time.seconds(-1)), "batch_wait must be 0 ms or more"),
    "function": (lambda: numbers().map_batches("f", 2), "is a MapBatchFunction, an AsyncBatchFunction or a callable"),
    "format": (lambda: numbers().map_batches(same, 2, format="csv"), "one of rows, arrow, pandas, polars; found 'csv'"),
    "input without a type": (
        lambda: numbers().map_batches(same, 2, output_type=Types.LONG(), format="arrow"),
        "format 'arrow' needs the type of the input",
    ),
    "results without a type": (
        lambda: numbers(Types.LONG()).map_batches(same, 2, format="pandas"),
        "format 'pandas' needs the type of the results",
    ),
    "retry strategy": (lambda: numbers().map_batches(same, 2, retry_strategy=3), "retry_strategy takes an AsyncRetry"),
    "asynchronous function": (
        lambda: AsyncDataStream.ordered_wait_batch(numbers(), same, Time.seconds(1), 2),
        "AsyncDataStream takes an AsyncBatchFunction",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_are_checked(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_example_scores_payments_with_a_model() -> None:
    module = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "model_batches.py"))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    found = results(module["suspicious"](env, module["payments"](200)))
    ids = [row.id for row in found]
    assert ids == sorted(ids)
    assert all(row.score > 0.97 for row in found)
    assert 0 < len(found) < 100


@pytest.mark.spark
def test_batches_on_spark_survive_a_failure(tmp_path: Path) -> None:
    failed = tmp_path / "failed"

    def double(batch: list[int]) -> list[int]:
        if 50 in batch and not failed.exists():
            failed.touch()
            raise ValueError("fails once")
        return [2 * n for n in batch]

    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(restarts)).set_parallelism(2)
    source = NumberSequenceSource(0, 99)
    elements = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    doubled = elements.map_batches(double, 7, Time.milliseconds(100), Types.LONG())
    with doubled.execute_and_collect() as found:
        assert sorted(found) == list(range(0, 200, 2))
    assert failed.exists()
