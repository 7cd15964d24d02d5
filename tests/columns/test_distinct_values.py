"""The values of DISTINCT calls whose FILTERs differ: they are shared, and taken over from logs by condition."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.groups.distinct_values import DistinctPlan, DistinctValues
from firesteel.columns.rows import rows_of
from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend

KEY, VALUE, FLAG, OTHER = range(4)
NAMES = ["distinct 0", "distinct 1", "distinct 2"]
CONDITIONS = (None, FLAG, OTHER)


def opened(conditions: Sequence[int | None], names: list[str], backend: KeyedStateBackend, ttl_ms: int):
    context = KernelContext(
        *(True, 8, backend.table, lambda batch: None, lambda mark: None, lambda: 1000), state_ttl_ms=ttl_ms
    )
    plan = DistinctPlan((KEY,), (VALUE,), tuple(conditions), (pa.string(), pa.int64()), True)
    return DistinctValues(plan, names, context, ttl_ms)


def batch_of(chance: random.Random) -> ColumnBatch:
    columns = (
        [chance.choice("abc") for _ in range(20)],
        [chance.choice([None, *range(9)]) for _ in range(20)],
        *([chance.choice([None, True, False]) for _ in range(20)] for _ in (FLAG, OTHER)),
    )
    return ColumnBatch(tuple(map(pa.array, columns)), 20)


@pytest.mark.parametrize("ttl_ms", [0, 50])
def test_logs_by_condition_of_a_former_release_become_one(ttl_ms: int) -> None:
    chance, former, now = random.Random(5), KeyedStateBackend(None, 8), KeyedStateBackend(None, 8)
    by_condition = [
        opened([condition], [name], former, ttl_ms) for condition, name in zip(CONDITIONS, NAMES, strict=True)
    ]
    shared = opened(CONDITIONS, NAMES, now, ttl_ms)
    for _ in range(6):
        batch, begins = batch_of(chance), np.array([chance.random() < 0.2] * 20) if ttl_ms else None
        found = [values.first_or_last(batch, None, begins) for values in by_condition]
        shared_found = shared.first_or_last(batch, None, begins)
        assert [part.tolist() for part in shared_found] == [part.tolist() for [part] in found]
        for values in (*by_condition, shared):
            values.accept()
            values.flush()
    taken_over = KeyedStateBackend(None, 8)
    for delta in former.full():
        taken_over.load(program_entries(encoded_entries(*delta)))
    values = opened(CONDITIONS, NAMES, taken_over, ttl_ms)
    assert {*left_by(values)} == {*left_by(shared)}
    values.flush()
    assert {name for name in NAMES if taken_over.table(name).data} == {NAMES[0]}
    again = KeyedStateBackend(None, 8)
    for delta in taken_over.full():
        again.load(program_entries(encoded_entries(*delta)))
    assert {*left_by(opened(CONDITIONS, NAMES, again, ttl_ms))} == {*left_by(shared)}


def left_by(values: DistinctValues) -> list[tuple]:
    return [row for rows in values._all() for row in rows_of(rows)]
