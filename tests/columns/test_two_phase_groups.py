"""GROUP BY of bounded tables in two phases gives what one phase gives, however the rows are spread."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.groups import gathered_groups, two_phase_groups
from firesteel.columns.kernels.groups.two_phase_groups import LocalGroupsFactory, MergedGroupsFactory, mergeable_calls
from firesteel.columns.rows import batch_of, rows_of
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.test_vectorised import (
    ARROW,
    CALLS,
    COLLECTING,
    DISTINCT,
    DOUBLE,
    KEYS,
    TEXT,
    Run,
    batches_of,
    call,
    grouping,
    row,
)
from tests.seeds import examples

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

EXACT = st.none() | st.sampled_from([0.0, 0.5, -3.25, 1024.0])
"""Floats whose sums are exact, in whatever order they are added."""
MERGEABLE = [plan for plan in CALLS if mergeable_calls(grouping((), [plan])) is not None]


class Subtask:
    """A bounded kernel in a subtask."""

    def __init__(self, factory, memory="128 mb", index=0):
        self.backend, self.output, self.kernel = KeyedStateBackend(None, 128), [], factory.make()
        self.kernel.open(
            KernelContext(
                *(False, 128, self.backend.table, self.output.append, None, lambda: 0),
                configuration={"execution.sorted-inputs.memory": memory},
                subtask_index=index,
            )
        )

    def give(self, batches):
        for batch in batches:
            self.kernel.process(0, batch)
        self.kernel.end()
        return self.output


def in_two_phases(plan, parts, memory):
    partial = [batch for part in parts for batch in Subtask(LocalGroupsFactory(plan)).give(part)]
    keys = range(len(plan.keys))
    groups = [batch.columns[0].to_pylist() for batch in partial] if keys else []
    found = []
    for index in range(2 if keys else 1):
        own = partial
        if keys:
            own = [
                batch.filter(np.array([len(repr(value)) % 2 == index for value in values], bool))
                for batch, values in zip(partial, groups, strict=True)
            ]
        for batch in Subtask(MergedGroupsFactory(plan), memory, index).give(own):
            found += [tuple(map(repr, values)) for values in rows_of(batch)]
    return sorted(found)


def in_one_phase(plan, parts):
    run = Run(plan, False)
    for part in parts:
        for batch in part:
            run.kernel.process(0, batch)
    run.kernel.end()
    return sorted(values for _, *values in run.take_rows())


@settings(max_examples=examples(200), deadline=None)
@example([[]], (), [call("COUNT")], 1, 1, 1, "1 b")
@given(
    st.lists(batches_of(EXACT), min_size=1, max_size=3),
    KEYS,
    st.lists(st.sampled_from(MERGEABLE), max_size=4),
    st.integers(1, 60),
    st.integers(1, 30),
    st.integers(1, 40),
    st.sampled_from(["1 b", "2 kb", "128 mb"]),
)
def test_two_phases_give_what_one_gives(parts, keys, calls, sample, most, at_once, memory):
    plan = grouping(keys, calls)
    batches = [[batch_of(rows, ARROW) for rows in part] for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_phase_groups, "_SAMPLE", sample)
        patch.setattr(two_phase_groups, "_MOST", most)
        patch.setattr(gathered_groups, "_AT_ONCE", at_once)
        found = in_two_phases(plan, batches, memory)
    assert found == [tuple(values) for values in in_one_phase(plan, batches)]


@pytest.mark.parametrize("values", [[float("nan"), 1.0], [float("inf"), float("-inf")], [float("inf"), 2.0]])
def test_sums_of_what_is_not_finite_are_those_of_ieee(values):
    plan = grouping((), [call("SUM", DOUBLE), call("AVG", DOUBLE), call("COUNT", DOUBLE)])
    parts = [[batch_of([row(DOUBLE, value)], ARROW)] for value in values]
    total = sum(values)
    assert in_two_phases(plan, parts, "128 mb") == [tuple(map(repr, (total, total / 2, 2)))]


def test_what_depends_on_the_order_of_rows_takes_one_phase():
    names = {str(plan.function) for plan in MERGEABLE}
    assert names == {"COUNT", "SUM", "$SUM0", "AVG", "MIN", "MAX"}
    for plan in [*COLLECTING, *DISTINCT, call("FIRST_VALUE", TEXT), call("MIN", DOUBLE), call("MAX", TEXT)]:
        assert mergeable_calls(grouping((), [plan])) is None, plan
    assert mergeable_calls(grouping((DOUBLE,), [])) is None  # NaN and -0.0 are keys of their own rules


def test_rows_that_share_no_group_pass():
    plan = grouping((TEXT,), [call("COUNT")])
    rows = batch_of([row(TEXT, f"{number}") for number in range(100)], ARROW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_phase_groups, "_SAMPLE", 100)
        patch.setattr(gathered_groups, "_AT_ONCE", 100)
        local = Subtask(LocalGroupsFactory(plan))
        local.kernel.process(0, rows)
        local.kernel.process(0, rows)
    assert [batch.length for batch in local.output] == [100, 100]
    assert local.output[1].columns == (rows.columns[TEXT], pa.array(np.ones(100, np.int64)))
