"""Tables of Spark's DataFrames, and results as DataFrames; the data passes through the client as Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.spark_types import NoSparkTypeError, spark_type
from firesteel.columns.type_text import quoted
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import TableException
from firesteel.common.types import Row
from firesteel.table.environment.materialized_rows import materialized
from firesteel.table.environment.pandas_conversion import arrow_scan
from firesteel.table.planner.rel.rel import StreamScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_scan(dataframe: DataFrame) -> StreamScan:
    """Return the node that reads a DataFrame, which is fetched now.

    Raises:
        TypeError: it is no DataFrame, or a column has a type that SQL has not.
    """
    if not hasattr(dataframe, "toArrow"):
        raise TypeError(f"Unsupported type, expected a DataFrame of Spark 4 or later, got {type(dataframe)}")
    return arrow_scan(dataframe.toArrow(), None, "from_spark")


def to_spark(rows: Iterable[Row], row_type: t.RowType, spark_session: SparkSession) -> DataFrame:
    """Return the final rows of a changelog as a Spark DataFrame.

    Args:
        rows: Rows with kinds.
        row_type: Names and types of the columns.
        spark_session: The session that creates the DataFrame.

    Raises:
        TableException: Spark has no type for a column.
    """
    types = row_type.field_types()
    try:
        named = [f"{quoted(name)} {spark_type(kind)}" for name, kind in zip(row_type.names, types, strict=True)]
    except NoSparkTypeError as error:
        text = f"to_spark() does not support columns of type {error}; cast them, for example to STRING"
        raise TableException(text) from None
    left = materialized(rows)
    arrays = [to_arrow([row[index] for row in left], kind) for index, kind in enumerate(types)]
    return spark_session.createDataFrame(pa.Table.from_arrays(arrays, names=list(row_type.names)), ", ".join(named))
