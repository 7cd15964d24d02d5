"""Each workload has the same results as its hand-written counterpart."""

from __future__ import annotations

from collections import Counter

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.testing import run_local

pytestmark = pytest.mark.slow

RECORDS = 12_000
KEYED = ["w2", "w3", "w4", "w5", "w6"]


def by_hand(module, records=RECORDS):
    """Return the results of the hand-written program for all positions, in batches."""
    batches = (module.rows(range(start, start + 500)) for start in range(0, records, 500))
    if module.ROW is None:
        return [tuple(result) for batch in batches for result in batch]
    return [tuple(result) for batch in module.results(batches) for result in batch]


def program(build, backend="hashmap", records=RECORDS):
    configuration = Configuration()
    configuration.set_string("state.backend.type", backend)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    source = NumberSequenceSource(0, records - 1)
    build(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())).collect_async()
    return env


@pytest.mark.parametrize("name", ["w1", *KEYED])
def test_the_program_agrees_with_the_hand_written_version(name):
    from workloads import workload

    module = workload(name)
    results = run_local(program(module.build), batch_elements=5000).elements
    assert len(results) == module.expected(RECORDS)
    assert Counter(results) == Counter(by_hand(module))


@pytest.mark.parametrize("name", ["w4", "w5", "w6"])
def test_windows_on_disk_give_the_same(name, monkeypatch):
    from workloads import workload

    monkeypatch.setattr("firesteel.operators.state.cache_memory.DEFAULT_BYTES", 10_000)
    module = workload(name)
    job = program(module.build, backend="rocksdb", records=4_000)
    results = run_local(job, batch_elements=1_500, replayed=[1]).elements
    assert Counter(results) == Counter(by_hand(module, 4_000))


def test_natural_join_gives_the_same():
    from workloads import w6_window_join

    results = run_local(program(w6_window_join.build_join)).elements
    assert Counter(results) == Counter(by_hand(w6_window_join))


@pytest.mark.parametrize("name", KEYED)
def test_stepping_by_key_gives_the_same_result(name):
    from workloads import workload

    module = workload(name)
    columns = [column.split()[0] for column in module.ROW.split(", ")]
    states, results = {}, []
    for row in module.rows(range(RECORDS)):
        key = row[columns.index("key")]
        states[key], found = module.step(states.get(key), row)
        results += found
    for state in states.values() if hasattr(module, "fire") else ():
        results += [result for end_ms in sorted(state) for result in module.fire(state, end_ms)]
    assert Counter(map(tuple, results)) == Counter(by_hand(module))


def test_positions_of_parallel_subtasks_are_interleaved():
    import tempfile

    from pipelines import Positions

    with tempfile.TemporaryDirectory() as directory:
        place = Positions(10, directory).map
        assert [place(n) for n in range(10)] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
