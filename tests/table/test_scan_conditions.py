"""Sources leave out rows that a filter does not need, as far as they can tell."""

from __future__ import annotations

import random
import sqlite3

import pyarrow as pa
import pyarrow.parquet
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import BigIntType, DateType, DecimalType, DoubleType, IntType, VarCharType
from firesteel.columns.rex import InputRef
from firesteel.columns.values import to_arrow
from firesteel.common.files.file_systems import LOCAL_FILES
from firesteel.connectors.formats.parquet.table import ParquetFormat
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.jdbc.conditions import SqlConditions
from firesteel.connectors.table_options import Options
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.rules import optimize
from firesteel.table.planner.rules.simplify import simplified
from tests.table.environments import environment, remaining
from tests.table.test_simplified_conditions import VALUES, condition_of, random_condition, random_rows, rows_of

GROUP_ROWS = 3


@pytest.fixture(scope="module")
def t_env():
    made = environment("batch")
    made.execute_sql(f"CREATE TABLE t ({', '.join(VALUES)}) WITH ('connector' = 'datagen')")
    return made


def columns_of(t_env):
    kind = t_env.from_path("t")._node.row_type
    return Columns(tuple(kind.names), tuple(kind.field_types()))


def write_parquet(path, columns, arrays, group_rows=GROUP_ROWS):
    table = pa.table(dict(zip(columns.names, arrays, strict=True)))
    pyarrow.parquet.write_table(table, path, row_group_size=group_rows)


def read_parquet(path, columns, condition):
    file_format = ParquetFormat(columns, Options({}, "parquet")).with_condition(condition, columns)
    batches = list(file_format.read_file(str(path), LOCAL_FILES))
    if not batches:
        return ColumnBatch(tuple(to_arrow([], kind) for kind in columns.types), 0)
    arrays = (pa.concat_arrays(parts) for parts in zip(*(batch.columns for batch in batches), strict=True))
    return ColumnBatch(tuple(arrays), sum(map(len, batches)))


def satisfying(batch, condition):
    chosen = pa.array(rows_of(batch, [condition]), pa.bool_())
    rows = zip(*(column.filter(chosen).to_pylist() for column in batch.columns), strict=True)
    return sorted(map(repr, rows))


@pytest.mark.parametrize(
    ("text", "groups"),
    {
        "a = 5": 1,
        "a > 6": 1,
        "a < 3 OR a > 6": 2,
        "a IN (1, 8)": 2,
        "a = 5 AND s LIKE 'x%'": 1,
        "a IS NULL": 1,
        "s > 'p1'": 3,
        "s LIKE 'x%'": 4,
        "a + 1 = 5": 4,
        "a = 100": 0,
    }.items(),
)
def test_row_groups_are_left_out_by_their_statistics(t_env, tmp_path, text, groups):
    columns = columns_of(t_env)
    values = {"a": [0, 1, 2, 3, 4, 5, 6, 7, 8, None, None, None], "s": [*"ppp", *["p2"] * 9]}
    kinds = dict(zip(columns.names, columns.types, strict=True))
    arrays = [to_arrow(values.get(name, [None] * 12), kind) for name, kind in kinds.items()]
    write_parquet(tmp_path / "t.parquet", columns, arrays)
    condition = conjunction(simplified(conjuncts(condition_of(t_env, text))))
    assert len(read_parquet(tmp_path / "t.parquet", columns, condition)) == groups * GROUP_ROWS


def random_conditions(t_env, choose, count):
    for _ in range(count):
        text = random_condition(choose)
        filters = [
            one
            for one in inputs_first([optimize(t_env.sql_query(f"SELECT * FROM t WHERE {text}")._node, False)])
            if isinstance(one, rel.Filter)
        ]
        for one in filters:
            yield text, one.condition


def test_no_row_is_left_out_that_satisfies_a_condition(t_env, tmp_path):
    choose, columns = random.Random(3), columns_of(t_env)
    arrays = list(map(to_arrow, random_rows(choose, 60), columns.types))
    write_parquet(tmp_path / "t.parquet", columns, arrays)
    everything = read_parquet(tmp_path / "t.parquet", columns, None)
    fewer = 0
    for text, condition in random_conditions(t_env, choose, 150):
        found = read_parquet(tmp_path / "t.parquet", columns, condition)
        fewer += len(found) < len(everything)
        assert satisfying(found, condition) == satisfying(everything, condition), text
    assert fewer > 30


def test_a_column_that_a_file_has_as_another_type_excludes_nothing(t_env, tmp_path):
    columns = columns_of(t_env)
    pyarrow.parquet.write_table(pa.table({"a": pa.array([2**32 + 1], pa.int64())}), tmp_path / "t.parquet")
    condition = condition_of(t_env, "a < 3 AND s = 'p'")
    assert len(read_parquet(tmp_path / "t.parquet", columns, condition)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "a > 2 AND s = 'p'": (('("a" > ? AND "s" = ?)', (2, "p")), ('("a" > ? AND "s" = ?)', (2, "p"))),
        "s > 'p'": (None, None),
        "m > 1": (None, ('"m" > ?', ("1.00",))),
        "x >= DATE '2024-02-29'": (None, ('"x" >= ?', ("2024-02-29",))),
        "a IN (1, 2) OR x IS NULL": (('("a" IN (?, ?) OR "x" IS NULL)', (1, 2)),) * 2,
        "a = 1 OR UPPER(s) = 'P'": (None, None),
        "a = c": (None, None),
    }.items(),
)
def test_databases_get_the_conditions_that_they_compute_as_we_do(t_env, text, expected):
    condition = conjunction(simplified(conjuncts(condition_of(t_env, text))))
    names = tuple(f'"{name}"' for name in columns_of(t_env).names)
    for dialect, wanted in zip(("sqlite", "postgresql"), expected, strict=True):
        found = SqlConditions(dialect, names).of(condition)
        assert (None if found is None else (found.text, found.parameters)) == (
            wanted and (wanted[0], tuple(map(type_of_parameter(found), wanted[1], found.parameters)))
        )


def type_of_parameter(found):
    return lambda text, value: value if str(value) == str(text) else text


def test_sqlite_gives_all_rows_that_satisfy_a_condition(t_env, tmp_path):
    choose, columns = random.Random(4), columns_of(t_env)
    values = [[None if one != one else one for one in column] for column in random_rows(choose, 60)]  # as SQLite has it
    batch = ColumnBatch(tuple(map(to_arrow, values, columns.types)), 60)
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute(f"CREATE TABLE t (row_number INT, {', '.join(VALUES)})")
        for number, row in enumerate(zip(*values, strict=True)):
            plain = [one if isinstance(one, int | float | str | None) else str(one) for one in row]
            database.execute(f"INSERT INTO t VALUES ({', '.join('?' * (len(row) + 1))})", [number, *plain])
        fewer = 0
        for text, condition in random_conditions(t_env, choose, 150):
            found = SqlConditions("sqlite", columns.names).of(condition)
            if found is None:
                continue
            numbers = [n for (n,) in database.execute(f"SELECT row_number FROM t WHERE {found.text}", found.parameters)]
            fewer += len(numbers) < 60
            wanted = [number for number, holds in enumerate(rows_of(batch, [condition])) if holds]
            assert set(wanted) <= set(numbers), text
    assert fewer > 30


def test_a_query_asks_its_sources_for_fewer_rows(tmp_path):
    t_env = environment("batch")
    pyarrow.parquet.write_table(
        pa.table({"k": list(range(100)), "v": [f"v{i}" for i in range(100)]}), tmp_path / "t.parquet", row_group_size=10
    )
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("CREATE TABLE names (k INTEGER, name TEXT)")
        database.executemany("INSERT INTO names VALUES (?, ?)", [(i, f"n{i}") for i in range(100)])
    t_env.execute_sql(
        f"CREATE TABLE t (k BIGINT, v STRING) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / 't.parquet'}', "
        "'format' = 'parquet')"
    )
    t_env.execute_sql(
        f"CREATE TABLE names (k BIGINT, name STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{tmp_path}/db', "
        "'table-name' = 'names')"
    )
    query = "SELECT t.v, n.name FROM t JOIN names AS n ON t.k = n.k WHERE t.k > 96 AND t.k < 99"
    text = t_env.explain_sql(query)
    for table in ("t", "names"):
        assert f"table=[[default_catalog, default_database, {table}, filter=[and(>(k, 96), <(k, 99))]]]" in text
    assert sorted(remaining(t_env.sql_query(query))) == [("v97", "n97"), ("v98", "n98")]


def test_conditions_on_computed_columns_and_metadata_stay_above_the_scan(tmp_path):
    t_env = environment("batch")
    t_env.execute_sql(
        "CREATE TABLE t (k BIGINT, f STRING NOT NULL METADATA FROM 'file.name', d AS k * 2) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'parquet')"
    )
    assert "filter=" not in t_env.explain_sql("SELECT * FROM t WHERE f = 'x' AND d > 3")


def test_texts_are_only_compared_for_equality_in_a_database():
    kinds = (IntType(), BigIntType(), DoubleType(), DecimalType(8, 2), DateType(), VarCharType(10))
    assert [SqlConditions("unknown", ("c",)).of(InputRef(0, kind)) for kind in kinds] == [None] * len(kinds)
