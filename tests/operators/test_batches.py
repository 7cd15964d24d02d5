"""Functions of batches: sizes, waiting, watermarks, state, order, retries, formats and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from firesteel.common import Row, Types
from firesteel.datastream.functions import AsyncBatchFunction, AsyncRetryStrategy, MapBatchFunction
from firesteel.functions.batch_functions import BatchFormat
from firesteel.functions.operator_descriptors import BatchOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import OperatorHarness


def harness(function: Any, size: int = 3, wait_ms: int = 0, snapshot: bytes | None = None, **more: Any) -> Any:
    output_type = more.pop("output_type", None)
    subtask = {name: more.pop(name) for name in ("subtask_index", "parallelism") if name in more}
    more.setdefault("format", BatchFormat.ROWS)
    more.setdefault("input_type", Types.LONG())
    descriptor = BatchOperator(function, size, wait_ms, output_type=output_type, **more)
    return OperatorHarness(descriptor, output_type=output_type, snapshot=snapshot, **subtask)


class Sizes(MapBatchFunction):
    """Returns pairs of an element and the size of its batch."""

    def map_batch(self, batch: Any) -> Any:
        return [(value, len(batch)) for value in batch]


def test_full_batches_go_on_and_the_rest_ends_with_the_batch_of_spark() -> None:
    with harness(Sizes()) as h:
        h.process_batch([1, 2], [10, 20])
        assert h.take() == []
        h.process_batch([3, 4, 5, 6, 7], None)
        assert h.take() == [(1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (6, 3)]
        h.end_batch()
        assert h.take() == [(7, 1)]


def test_results_keep_their_event_times() -> None:
    with harness(Sizes()) as h:
        h.process_batch([1, 2, 3], [10, None, 30])
        assert [time for _, time in h.elements] == [10, None, 30]


def test_results_do_not_overtake_watermarks_and_watermarks_no_results() -> None:
    with harness(Sizes(), size=4) as h:
        h.process(1, 10)
        h.watermark(15)
        h.process_batch([2, 3], [20, 21])
        h.watermark(25)
        assert h.watermarks == []
        h.process(4, 30)
        assert h.values == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert h.watermarks == [15, 25]
        h.watermark(35)
        assert h.watermarks == [15, 25, 35]


def test_elements_wait_for_others_up_to_a_time() -> None:
    with harness(Sizes(), wait_ms=60_000) as h:
        h.process(1)
        h.end_batch()
        assert h.take() == []
        due = h.operator.next_processing_time()
        h.advance_processing_time(due - 1)
        assert h.take() == []
        h.advance_processing_time(due)
        assert h.take() == [(1, 1)]
        assert h.operator.next_processing_time() is None


def test_waiting_elements_are_restored_with_their_watermarks() -> None:
    with harness(Sizes(), wait_ms=60_000) as h:
        h.process(1, 10)
        h.watermark(15)
        h.process(2, 20)
        with harness(Sizes(), wait_ms=60_000, snapshot=h.snapshot()) as other:
            other.process(3, 30)
            assert other.elements == [((1, 3), 10), ((2, 3), 20), ((3, 3), 30)]
            assert other.watermarks == [15]


def test_waiting_elements_are_shared_among_the_subtasks_of_another_parallelism() -> None:
    snapshots = []
    for elements in ([1, 2], [3], []):
        with harness(Sizes(), wait_ms=60_000) as h:
            h.process_batch(elements, None)
            snapshots.append(h.operator.snapshot())
    found = []
    for index in range(2):
        with harness(Sizes(), wait_ms=60_000, subtask_index=index, parallelism=2) as h:
            h.operator.take_over(snapshots)
            h.end()
            found.append([value for value, _ in h.values])
    assert found == [[1, 3], [2]]


def test_the_end_of_input_ends_the_last_batch() -> None:
    with harness(Sizes(), wait_ms=60_000) as h:
        h.process(1)
        h.end()
        assert h.values == [(1, 1)]


class Reversed(AsyncBatchFunction):
    """Answers the batches of one call of the operator last to first."""

    async def async_invoke_batch(self, batch: Any) -> Any:
        for _ in range(10 - batch[0]):
            await asyncio.sleep(0)
        return batch


@pytest.mark.parametrize(("ordered", "expected"), [(True, [0, 1, 2, 3]), (False, [2, 3, 0, 1])])
def test_order_of_concurrent_batches(ordered: bool, expected: list[int]) -> None:
    with harness(Reversed(), size=2, capacity=5, ordered=ordered) as h:
        h.process_batch([0, 1, 2, 3], [0, 10, 20, 30])
        assert h.elements == [(value, 10 * value) for value in expected]


def test_unordered_results_do_not_overtake_watermarks() -> None:
    with harness(Reversed(), size=2, capacity=5, ordered=False) as h:
        h.process(0, 0)
        h.watermark(5)
        h.process_batch([1, 2, 3], [10, 20, 30])
        assert h.values == [0, 1, 2, 3]


class Counted(AsyncBatchFunction):
    def open(self, runtime_context: Any) -> None:
        self.running = self.most = 0

    async def async_invoke_batch(self, batch: Any) -> Any:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return batch


def test_capacity_limits_the_batches_in_progress() -> None:
    with harness(Counted(), size=2, capacity=2) as h:
        h.process_batch(list(range(10)), None)
        assert h.operator.function.most == 2


class Fails(MapBatchFunction):
    """Fails a number of times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def map_batch(self, batch: Any) -> Any:
        if self.times:
            self.times -= 1
            raise ValueError("not yet")
        return batch


def retries(attempts: int) -> Any:
    return AsyncRetryStrategy.fixed_delay(attempts, 1, None, lambda error: isinstance(error, ValueError))


def test_failed_calls_are_repeated() -> None:
    with harness(Fails(2), retry_strategy=retries(3)) as h:
        h.process_batch([1, 2, 3], None)
        assert h.values == [1, 2, 3]


def test_errors_name_the_records_of_the_batch_and_the_users_line() -> None:
    function = Fails(0)
    with harness(function) as h:
        h.process_batch([1, 2, 3, 4], None)
        h.operator.function.times = 9
        with pytest.raises(UserFunctionError) as error:
            h.process_batch([5, 6], None)
    assert "records 4 to 6 of the subtask, a batch of 3" in str(error.value)
    assert "not yet" in str(error.value)
    assert "in map_batch" in str(error.value.failure["user_location"])


class Slow(AsyncBatchFunction):
    async def async_invoke_batch(self, batch: Any) -> Any:
        await asyncio.Event().wait()


class SlowWithDefault(Slow):
    def timeout(self, batch: Any) -> Any:
        return [-value for value in batch]


def test_calls_time_out() -> None:
    with harness(SlowWithDefault(), timeout_ms=1) as h:
        h.process_batch([1, 2, 3], None)
        assert h.values == [-1, -2, -3]
    with harness(Slow(), timeout_ms=1) as h, pytest.raises(UserFunctionError, match="has timed out; on records 1 to 3"):
        h.process_batch([1, 2, 3], None)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda batch: batch[1:], "found 2 results for 3 elements.*flat_map"),
        (lambda batch: None, "one result for each element; found NoneType"),
        (lambda batch: "abc", "found str"),
    ],
)
def test_a_function_returns_one_result_for_each_element(answer: Any, message: str) -> None:
    with harness(answer) as h, pytest.raises(UserFunctionError, match=message):
        h.process_batch([1, 2, 3], None)


ROWS = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.LONG()])
PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])


def twice(table: pa.Table) -> pa.Table:
    return pa.table({"name": table["name"], "number": pc.multiply(table["number"], 2)})


@pytest.mark.parametrize(
    ("format", "function"),
    [
        ("arrow", twice),
        ("arrow", lambda table: twice(table).select(["number", "name"])),  # by the names
        ("arrow", lambda table: twice(table).combine_chunks().to_batches()[0]),
        ("pandas", lambda frame: frame.assign(number=frame["number"] * 2)),
        ("pandas", lambda frame: pd.DataFrame({"a": frame["name"], "b": frame["number"] * 2})),  # by position
        ("polars", lambda frame: frame.with_columns(pl.col("number") * 2)),
    ],
)
def test_rows_become_tables_and_tables_rows(format: str, function: Any) -> None:
    settings: Any = {"format": BatchFormat(format), "input_type": ROWS, "output_type": ROWS}
    with harness(function, **settings) as h:
        h.process_batch([Row("a", 1), Row(name="b", number=2), Row("c", 3)], None)
        assert h.values == [Row(name="a", number=2), Row(name="b", number=4), Row(name="c", number=6)]


@pytest.mark.parametrize(
    ("format", "function"),
    [
        ("arrow", lambda table: table.column(0)),
        ("arrow", lambda table: table["value"].combine_chunks()),
        ("arrow", lambda table: table["value"].to_numpy()),
        ("pandas", lambda frame: frame["value"]),
        ("pandas", lambda frame: frame["value"].to_numpy()),
        ("polars", lambda frame: frame["value"]),
        ("rows", np.array),
        ("rows", lambda batch: pa.array(batch).to_pylist()),
    ],
)
def test_single_columns(format: str, function: Any) -> None:
    with harness(function, format=BatchFormat(format), output_type=Types.LONG()) as h:
        h.process_batch([1, 2, 3], None)
        assert h.values == [1, 2, 3]
        assert {type(value) for value in h.values} == {int}


def test_tuples_become_columns_by_position() -> None:
    settings: Any = {"format": BatchFormat.ARROW, "input_type": PAIRS, "output_type": PAIRS}
    with harness(lambda table: table.select(["f0", "f1"]), **settings) as h:
        h.process_batch([("a", 1), ("b", 2), ("c", 3)], None)
        assert h.values == [("a", 1), ("b", 2), ("c", 3)]


def test_a_result_with_other_columns_is_refused() -> None:
    settings: Any = {"format": BatchFormat.ARROW, "input_type": ROWS, "output_type": ROWS}
    with (
        harness(lambda table: table.select(["name"]), **settings) as h,
        pytest.raises(UserFunctionError, match="has the columns name; the output type has name, number"),
    ):
        h.process_batch([Row("a", 1)] * 3, None)


def test_a_result_that_is_no_table_is_refused() -> None:
    with (
        harness(lambda table: [1, 2, 3], format=BatchFormat.ARROW, output_type=Types.LONG()) as h,
        pytest.raises(UserFunctionError, match="a table or column of Arrow, pandas or polars; found list"),
    ):
        h.process_batch([1, 2, 3], None)
