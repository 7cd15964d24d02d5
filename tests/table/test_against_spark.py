"""Random queries over random tables have the same results as in Spark SQL, in both modes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from firesteel.entrypoint.spark_session import shared_gateway
from tests.seeds import steps
from tests.table.random_queries import COLUMNS, cases, environment_with, result_of

pytestmark = pytest.mark.spark


@pytest.fixture
def session():
    """A session that does not exchange the few rows of its tables in 200 partitions."""
    made = SparkSession(shared_gateway({}).context())
    made.conf.set("spark.sql.shuffle.partitions", 2)
    yield made
    made.conf.unset("spark.sql.shuffle.partitions")


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_random_queries_give_what_spark_sql_gives(mode, session):
    for tables, query in cases(f"spark {mode}", steps(4, 6)):
        for name, rows in tables.items():
            first, second, text = COLUMNS[name]
            frame = session.createDataFrame(rows, f"{first} INT, {second} INT, {text} STRING")
            frame.createOrReplaceTempView(name)
        expected = sorted((tuple(row) for row in session.sql(query).collect()), key=repr)
        assert result_of(environment_with(mode, tables), query) == expected, (query, tables)
