"""Changes of a row stay in order through a union whose inputs differ in parallelism."""

from __future__ import annotations

from collections import Counter

import pytest

from firesteel.common import Configuration, RowKind
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local

KEYED = "SELECT k, COUNT(*) AS n FROM t WHERE k < 0 GROUP BY k"
COUNTS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
GLOBAL = f"SELECT MAX(k) AS k, SUM(n) AS n FROM ({COUNTS} UNION ALL {COUNTS.replace('k,', 'k - 60,')})"


def changes(query: str, parallelism: int) -> list[tuple[RowKind, tuple[object, ...]]]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(parallelism)
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_view("t", t_env.from_elements([(number,) for number in range(60)], ["k"]))
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return [(row.get_row_kind(), tuple(row)) for row in run_local(env, batch_elements=3).elements]


@pytest.mark.parametrize("query", [f"{KEYED} UNION ALL {GLOBAL}", f"{GLOBAL} UNION ALL {KEYED}"])
@pytest.mark.parametrize("outer", ["k, n", "n + 1 AS n"])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_no_row_is_retracted_before_it_is_there(query: str, outer: str, parallelism: int) -> None:
    counts: Counter[tuple[object, ...]] = Counter()
    found = changes(f"SELECT {outer} FROM ({query})", parallelism)
    for kind, row in found:
        counts[row] += 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
        assert counts[row] >= 0, (row, found)
    assert +counts == Counter([(59, 120) if outer == "k, n" else (121,)])
