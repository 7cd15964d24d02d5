"""`DataFrame.mapInArrow` without pandas.

PySpark's own method makes the function a pandas UDF first and so asks for pandas, which nothing here uses. This makes
the same plan node from an Arrow UDF.
"""

from __future__ import annotations

from typing import Any

from pyspark.util import PythonEvalType

from firesteel.spark.shim import SCHEMA_DDL


def map_in_arrow(frame: Any, function: Any) -> Any:
    """The frame of what `function` makes of the Arrow batches of each partition: rows between stages."""
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import UserDefinedFunction

    udf = UserDefinedFunction(
        function, returnType=SCHEMA_DDL, name="stage", evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = udf(*[frame[name] for name in frame.columns])
    return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
