"""The connector `datagen`: the pace of its rows and its end."""

from __future__ import annotations

import pytest

from firesteel.connectors.datagen import table as datagen
from firesteel.connectors.datagen.table import RowGenerator
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.table import EnvironmentSettings, TableEnvironment
from tests.table.conftest import rows_of

SEQUENCE = "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "options"),
    [("streaming", f"'number-of-rows' = '5', {SEQUENCE}"), ("batch", f"'number-of-rows' = '5', {SEQUENCE}")],
)
def test_table_with_more_rows_than_its_rate_ends(mode, options):
    t_env = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        f"CREATE TABLE made (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '2', {options})"
    )
    assert sorted(rows_of(t_env.execute_sql("SELECT n FROM made"))) == [(1,), (2,), (3,)]


def test_rows_become_due_at_the_rate_until_all_are_read(monkeypatch):
    seconds = 100.0
    monkeypatch.setattr(datagen.time, "time", lambda: 5_000.0 - seconds)  # somebody sets the wall clock back
    monkeypatch.setattr(datagen.time, "monotonic", lambda: seconds)
    splits = SourceSplits(RowGenerator((), (), 3, 1), 2)
    found, ended = [], []
    for second in range(3):
        seconds = 100.0 + second
        splits.discover(1000 * second)
        found.append([(part.start, part.end, part.is_last) for part in splits.take(0, 100)])
        ended.append(splits.newly_ended())
    assert found == [[(0, 1, False)], [(1, 2, False)], [(2, 3, True)]]
    assert ended == [[1], [], [0]]
    assert splits.state.ended
