"""The exchange between two stages: rows go to the partition of their lane.

`RDD.partitionBy` does the same with a serialiser that Spark chooses: Kryo, which each task of each batch would set up
anew, at 2 ms of a small batch for each. Bytes need nothing of it.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.task.protocol import Row

_CHUNK_BYTES = 1 << 20
"""Rows for the same lane are handed to Spark in pieces of about so much."""

_LANE = struct.Struct("!q")


class Exchange:
    """Makes an RDD with a partition per lane of an RDD of `(lane, row)`.

    Args:
        context: The SparkContext.
        lanes: Number of lanes.
    """

    def __init__(self, context: Any, lanes: int) -> None:
        self._context = context
        self._lanes = lanes
        self._any_class = context._jvm.scala.reflect.ClassTag.AnyRef()
        self._serializer = _serializer(context._jvm)

    def __call__(self, rows: Any) -> Any:
        """Return the RDD."""
        from pyspark.core.rdd import RDD
        from pyspark.serializers import BatchedSerializer, CPickleSerializer

        context, jvm, any_class = self._context, self._context._jvm, self._any_class
        chunks = rows.mapPartitionsWithIndex(_chunks)
        chunks._bypass_serializer = True
        pairs = jvm.PairwiseRDD(chunks._jrdd.rdd())
        partitioner = jvm.PythonPartitioner(self._lanes, 0)
        shuffled = jvm.org.apache.spark.rdd.ShuffledRDD(pairs, partitioner, any_class, any_class, any_class)
        shuffled.setSerializer(self._serializer)
        values = jvm.PythonRDD.valueOfPair(jvm.org.apache.spark.api.java.JavaPairRDD(shuffled, any_class, any_class))
        return RDD(values, context, BatchedSerializer(CPickleSerializer()))  # type: ignore[no-untyped-call]


def _serializer(jvm: Any) -> Any:
    """Java's own; it would hold on to the last 100 chunks that it has written, unless told otherwise."""
    configuration = jvm.org.apache.spark.SparkConf(False).set("spark.serializer.objectStreamReset", "1")
    return jvm.org.apache.spark.serializer.JavaSerializer(configuration)


def _chunks(_: int, rows: Iterable[tuple[int, Row]]) -> Iterator[bytes]:
    """Yield the number of a lane and a list of its rows as bytes, in turn."""
    waiting: dict[int, list[tuple[int, Row]]] = {}
    sizes: dict[int, int] = {}
    for keyed in rows:
        lane = keyed[0]
        waiting.setdefault(lane, []).append(keyed)
        sizes[lane] = sizes.get(lane, 0) + len(keyed[1][3])
        if sizes[lane] >= _CHUNK_BYTES:
            yield _LANE.pack(lane)
            yield pickle.dumps(waiting.pop(lane), protocol=5)
            del sizes[lane]
    for lane, kept in waiting.items():
        yield _LANE.pack(lane)
        yield pickle.dumps(kept, protocol=5)
