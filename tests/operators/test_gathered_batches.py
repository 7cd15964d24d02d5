"""Small column batches reach the head together, and nothing overtakes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.operators.chain.operator import MAX_WATERMARK
from tests.operators.test_input_gate import OTHER_INPUT, A, B, gate_of


def batch(*values: int) -> ColumnBatch:
    return ColumnBatch((pa.array(values, pa.int64()),), len(values))


BATCHES = st.one_of(
    st.lists(st.integers(0, 9), max_size=3).map(
        lambda values: ColumnBatch((pa.array(values, pa.int64()),), len(values))
    ),
    st.lists(st.sampled_from("abc"), max_size=3).map(
        lambda values: ColumnBatch((pa.array(values, pa.string()),), len(values), np.full(len(values), 3, np.int8))
    ),
    st.integers(0, 3).map(lambda rows: ColumnBatch((), rows)),
)
ITEMS = st.one_of(
    st.lists(BATCHES, min_size=1, max_size=2).map(lambda batches: (batches, None)),
    st.integers(0, 20),
    st.booleans(),
    st.lists(st.integers(0, 9), min_size=1, max_size=2).map(lambda values: (values, [None] * len(values))),
)
STEPS = st.lists(st.tuples(st.sampled_from([A, B, OTHER_INPUT]), ITEMS), max_size=30)


def rows_of(call: Any) -> list[Any]:
    """Return the rows and marks of what the head has seen."""
    index, values = call if isinstance(call, tuple) else (0, call)
    if not isinstance(values, list):
        return [values]
    found: list[Any] = []
    for value in values:
        if isinstance(value, ColumnBatch):
            columns = [column.to_pylist() for column in value.columns]
            kinds = value.kinds_or_inserts().tolist()
            found += [(index, kinds[i], *(column[i] for column in columns)) for i in range(value.length)]
        else:
            found.append((index, value))
    return found


def seen_after(steps: list[Any], at_once: bool) -> tuple[int, list[Any]]:
    gate, seen = gate_of(A, B, OTHER_INPUT)
    for channel, item in steps:
        gate.receive(*channel, [item])
        if at_once:
            gate.flush()
    for channel in (A, B, OTHER_INPUT):
        gate.receive(*channel, [MAX_WATERMARK, None])
    return len(seen), [row for call in seen for row in rows_of(call)]


MANY = 65_536


@given(STEPS)
def test_rows_and_marks_keep_their_order(steps: list[Any]) -> None:
    calls, found = seen_after(steps, at_once=False)
    most_calls, expected = seen_after(steps, at_once=True)
    assert found == expected
    assert calls <= most_calls


def test_small_batches_of_several_channels_reach_the_head_as_one() -> None:
    gate, seen = gate_of(A, B)
    gate.receive(*A, [([batch(1), batch(2, 3)], None)])
    gate.receive(*B, [([batch(4)], None)])
    assert seen == []
    gate.flush()
    assert [rows_of(call) for call in seen] == [[(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 0, 4)]]


@pytest.mark.parametrize(
    "large",
    [batch(*range(MANY)), ColumnBatch((pa.array(["x" * (16 << 20)]),), 1)],
    ids=["of many rows", "of many bytes"],
)
def test_a_large_batch_does_not_wait(large: ColumnBatch) -> None:
    gate, seen = gate_of(A)
    gate.receive(*A, [([large], None)])
    assert [values[0].length for values in seen] == [large.length]


def test_a_large_batch_is_not_copied_to_those_that_waited() -> None:
    gate, seen = gate_of(A)
    large = batch(*range(MANY))
    gate.receive(*A, [([batch(1), large], None)])
    assert [values[0].length for values in seen] == [1, MANY]
    assert seen[1][0] is large


def test_slices_count_with_what_they_keep_in_memory() -> None:
    gate, seen = gate_of(A)
    whole = ColumnBatch((pa.array(["x" * 4096] * 1024),), 1024)
    for _ in range(4):
        gate.receive(*A, [([whole.slice(0, 1)], None)])
    assert [values[0].length for values in seen] == [4]
