"""NaN is one value of rows: it is grouped, joined, sorted and retracted like other numbers."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import row_hashes
from firesteel.columns.row_keys import NAN, freeze, key_column, python_values
from firesteel.columns.rows import keys_of, rows_of
from firesteel.common import Row, RowKind, Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment
from firesteel.testing import run_local

FLOATS = [float("nan"), -float("nan"), 0.0, -0.0, 1.5, None, float("inf")]
NUMBERS = "(VALUES (1, 'NaN'), (2, 'NaN'), (3, '1.5'), (4, '0.0'), (5, CAST(NULL AS STRING))) AS v (k, x)"


def test_nan_equals_itself_also_after_pickling() -> None:
    copy = pickle.loads(pickle.dumps((NAN, 1.0)))
    assert copy == (NAN, 1.0)
    assert copy[0] is NAN
    assert float("nan") == NAN != 1.0
    assert hash(copy) == hash((NAN, 1.0))


def test_nan_is_the_greatest_number() -> None:
    values = [NAN, 2.0, math.inf, -math.inf, NAN]
    assert sorted(values) == [-math.inf, 2.0, math.inf, NAN, NAN]
    assert max(1.0, NAN) is NAN
    assert min(NAN, 1.0) == 1.0


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.list_(pa.float64()), pa.struct([("f", pa.float64())])])
def test_keys_hashes_and_columns_agree(kind: pa.DataType) -> None:
    wrap = {"list": lambda v: [v], "struct": lambda v: {"f": v}}.get(str(kind)[: str(kind).find("<")], lambda v: v)
    batch = ColumnBatch((pa.array([wrap(value) for value in FLOATS], kind),), len(FLOATS))
    classes = [0, 0, 1, 1, 2, 3, 4]
    keys, hashes = keys_of(batch, (0,), 128), row_hashes(batch, (0,)).tolist()
    for a, first in enumerate(classes):
        for b, second in enumerate(classes):
            assert (keys[a] == keys[b]) == (first == second)
            assert (hashes[a] == hashes[b]) == (first == second)
            assert (freeze(rows_of(batch)[a]) == freeze(rows_of(batch)[b])) == (first == second)
    if pa.types.is_floating(kind):
        assert len(key_column(batch.columns[0]).unique()) == 5


def test_values_without_nan_stay_as_they_are() -> None:
    assert python_values(pa.array([1.5, None])) == [1.5, None]
    assert python_values(pa.array([[1.5], None])) == [[1.5], None]


QUERIES = {
    "groups": ("SELECT x, COUNT(*) FROM v GROUP BY x", ["nan 2", "1.5 1", "0.0 1", "None 1"]),
    "distinct": ("SELECT DISTINCT x FROM v", ["nan", "1.5", "0.0", "None"]),
    "distinct aggregates": ("SELECT COUNT(DISTINCT x) FROM v", ["3"]),
    "joins": ("SELECT a.k, b.k FROM v a JOIN v b ON a.x = b.x", ["1 1", "1 2", "2 1", "2 2", "3 3", "4 4"]),
    "outer joins": ("SELECT a.k, b.k FROM v a LEFT JOIN v b ON a.x = b.x AND b.k > 2", [
        *("1 None", "2 None", "3 3", "4 4", "5 None")
    ]),
    "semi joins": ("SELECT k FROM v WHERE x IN (SELECT x FROM v WHERE k = 1)", ["1", "2"]),
    "intersections": ("SELECT x FROM v INTERSECT SELECT x FROM v WHERE k < 3", ["nan"]),
    "differences": ("SELECT x FROM v EXCEPT SELECT x FROM v WHERE k = 2", ["1.5", "0.0", "None"]),
    "top n": ("SELECT k, x FROM v ORDER BY x DESC, k LIMIT 3", ["1 nan", "2 nan", "3 1.5"]),
    "nested values": ("SELECT ARRAY[x], COUNT(*) FROM v WHERE k < 3 GROUP BY ARRAY[x]", ["[nan] 2"]),
    "comparisons": ("SELECT k FROM v WHERE x = x", ["3", "4"]),
}  # fmt: skip


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING])
@pytest.mark.parametrize("name", QUERIES)
def test_queries_over_nan(name: str, mode: RuntimeExecutionMode) -> None:
    sql, expected = QUERIES[name]
    env, t_env = environment(mode)
    t_env.execute_sql(f"CREATE TEMPORARY VIEW v AS SELECT k, CAST(x AS DOUBLE) AS x FROM {NUMBERS}")
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    assert folded(run_local(env).elements) == sorted(expected)


def environment(mode: RuntimeExecutionMode) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.set_runtime_mode(mode)
    batch = mode is RuntimeExecutionMode.BATCH
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    return env, StreamTableEnvironment.create(env, settings)


def folded(rows: Iterable[Row]) -> list[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        is_new = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        counts[" ".join(map(str, row))] += 1 if is_new else -1
    assert min(counts.values()) >= 0
    return sorted(counts.elements())


RETRACTING = {
    "top n": ("SELECT id, x FROM v ORDER BY x DESC, id LIMIT 2", ["2 1.5"]),
    "maximum": ("SELECT MAX(x), MIN(x) FROM v", ["1.5 1.5"]),
    "groups": ("SELECT x, COUNT(*) FROM v GROUP BY x", ["1.5 1"]),
    "joins": ("SELECT a.id, b.id FROM v a JOIN v b ON a.x = b.x", ["2 2"]),
    "distinct": ("SELECT COUNT(DISTINCT x) FROM v", ["1"]),
    "first value": ("SELECT LAST_VALUE(x) FROM v", ["1.5"]),
    "values in order": ("SELECT ARRAY_AGG(x ORDER BY id) FROM v", ["[1.5]"]),
}


@pytest.mark.parametrize("name", RETRACTING)
def test_rows_with_nan_are_retracted(name: str) -> None:
    sql, expected = RETRACTING[name]
    changes = [("+I", 1, math.nan), ("+I", 2, 1.5), ("+I", 3, math.nan), ("-D", 1, math.nan), ("-D", 3, -math.nan)]
    env, t_env = environment(RuntimeExecutionMode.STREAMING)
    schema = Schema.new_builder().column("id", DataTypes.INT().not_null()).column("x", DataTypes.DOUBLE()).build()
    rows = [Row.of_kind(RowKind.INSERT if kind == "+I" else RowKind.DELETE, *values) for kind, *values in changes]
    stream = env.from_collection(rows, Types.ROW_NAMED(["id", "x"], [Types.INT(), Types.DOUBLE()]))
    t_env.create_temporary_view("v", t_env.from_changelog_stream(stream, schema))
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    assert folded(run_local(env, batch_elements=2).elements) == expected
