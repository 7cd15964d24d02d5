"""Empty RDDs whose partitions have preferred locations."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from firesteel.spark.rdds import pickled_rdd


def placed_partitions(context: Any, places: Sequence[str]) -> Any:
    """Return an RDD of empty partitions.

    Args:
        context: The SparkContext.
        places: The preferred location of each partition in Spark's notation: a host, or `executor_HOST_ID`; empty for
        none.
    """
    jvm, java = context._jvm, context._jsc.sc()
    to_seq, rows = jvm.org.apache.spark.api.python.PythonUtils.toSeq, jvm.java.util.ArrayList()
    for place in places:
        locations = jvm.java.util.ArrayList()
        if place:
            locations.add(place)
        rows.add(jvm.scala.Tuple2(pickle.dumps([]), to_seq(locations)))
    kind = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    return pickled_rdd(java.makeRDD(to_seq(rows), kind).toJavaRDD(), context)
