"""Pandas functions over whole rows: as arguments, as results and in aggregates."""

from __future__ import annotations

import pandas
import pytest

from firesteel.common import Row
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.expressions import col
from firesteel.table.udf import udaf, udf
from firesteel.testing import run_local

PAIR = DataTypes.ROW([DataTypes.FIELD("c", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.INT())])
ROWS = [(1, Row(2, 3)), (2, Row(1, 3)), (1, Row(5, 4))]


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def nested(env):
    kind = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", PAIR)])
    return StreamTableEnvironment.create(env).from_elements(ROWS, kind)


def rows(env, table):
    StreamTableEnvironment.create(env).to_changelog_stream(table).collect_async()
    return [tuple(row) for row in run_local(env).elements]


def test_a_row_is_a_dataframe(env, nested):
    @udf(result_type=PAIR, func_type="pandas")
    def swapped(pair):
        assert isinstance(pair, pandas.DataFrame)
        return pandas.DataFrame({"c": pair.d, "d": pair.c})

    assert rows(env, nested.select(swapped(col("b")).get("c"), col("a"))) == [(3, 1), (3, 2), (4, 1)]


def test_map_passes_rows_as_a_dataframe_with_the_fields_of_rows_in_them(env, nested):
    summed = udf(lambda x: pandas.concat([x.a, x.c + x.d], axis=1), result_type=PAIR, func_type="pandas")
    twice = udf(lambda x: x * 2, result_type=PAIR, func_type="pandas")
    assert rows(env, nested.map(summed).map(twice)) == [(2, 10), (4, 8), (2, 18)]


def test_an_aggregate_gets_the_rows_of_a_group_as_a_dataframe(env):
    kind = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.DOUBLE()), DataTypes.FIELD("b", DataTypes.INT())])
    numbers = StreamTableEnvironment.create(env).from_elements([(1, 2), (2, 1), (1, 5)], ["a", "b"])
    mean = udaf(lambda group: (group.b.mean(), group.a.max()), result_type=kind, func_type="pandas")
    assert set(rows(env, numbers.group_by(col("a")).aggregate(mean).select(col("*")))) >= {(1, 3.5, 1), (2, 1.0, 2)}


def test_columns_of_an_aggregate_that_are_named_like_a_key_get_other_names(env):
    numbers = StreamTableEnvironment.create(env).from_elements([(1, 2)], ["a", "b"])
    mean = udaf(
        lambda group: (1, 2), result_type=DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())] * 1), func_type="pandas"
    )
    grouped = numbers.group_by(col("a")).aggregate(mean).select(col("*"))
    assert grouped.get_schema().get_field_names() == ["a", "a0"]


@pytest.mark.parametrize(("bundle", "arrow", "lengths"), [(0, 0, [5]), (2, 0, [2, 2, 1]), (4, 3, [3, 2])])
def test_functions_are_called_for_as_many_rows_as_the_options_say(env, bundle, arrow, lengths):
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("python.fn-execution.bundle.size", str(bundle))
    t_env.get_config().set("python.fn-execution.arrow.batch.size", str(arrow))
    count = udf(lambda x: x * 0 + len(x), result_type=DataTypes.INT(), func_type="pandas")
    numbers = t_env.from_elements([(n,) for n in range(5)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))
    t_env.to_changelog_stream(numbers.select(count(col("a")))).collect_async()
    assert [row[0] for row in run_local(env).elements] == [length for length in lengths for _ in range(length)]
