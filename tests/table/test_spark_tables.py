"""Tables and streams of Spark's DataFrames, and back, in one Spark session."""

import datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.errors import TableException

pytestmark = pytest.mark.spark

SCHEMA = (
    "id BIGINT, price DECIMAL(10, 2), at TIMESTAMP, wall TIMESTAMP_NTZ, day DATE, tags ARRAY<STRING>, "
    "counts MAP<STRING, INT>, place STRUCT<city: STRING, zip: INT>"
)


@pytest.fixture(scope="module")
def spark():
    return SparkSession(shared_gateway({}).context())


def test_dataframes_become_tables_and_streams_and_back(spark):
    at = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=datetime.UTC)
    wall = datetime.datetime(2024, 5, 1, 14, 30)
    rows = [
        (1, Decimal("1.50"), at, wall, datetime.date(2024, 5, 1), ["x", None], {"a": 1}, ("Rome", 118)),
        (2, None, None, None, None, None, None, None),
    ]
    source = spark.createDataFrame(rows, SCHEMA)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_spark(source)
    assert table.get_schema().get_field_data_types()[:2] == [DataTypes.BIGINT(), DataTypes.DECIMAL(10, 2)]
    made = table.to_spark(spark)
    assert made.schema.simpleString() == source.schema.simpleString()
    assert made.orderBy("id").collect() == source.orderBy("id").collect()
    stream = env.from_spark(source)
    back = stream.to_spark(spark, SCHEMA)
    assert back.orderBy("id").collect() == source.orderBy("id").collect()
    with pytest.raises(TableException, match="TIME"):
        t_env.sql_query("SELECT TIME '12:00:00' AS t").to_spark(spark)
