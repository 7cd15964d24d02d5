"""The exchange between two stages, which sends rows to the partition of their lane.

`RDD.partitionBy` would use the Kryo serializer, which each task of each batch sets up anew in 2 ms. Bytes do not need
it.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.spark.rdds import pickled_rdd
from firesteel.task.protocol import Row

_CHUNK_BYTES = 1 << 20
"""Approximate size of the chunks in which rows for the same lane are passed to Spark."""

_LANE = struct.Struct("!q")


class Exchange:
    """A function from an RDD of `(lane, row)` to an RDD with one partition per lane.

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
        """Return the exchanged RDD."""
        context, jvm, any_class = self._context, self._context._jvm, self._any_class
        chunks = rows.mapPartitionsWithIndex(_chunks)
        # The chunks are bytes already; PySpark would pickle them once more.
        chunks._bypass_serializer = True
        pairs = jvm.PairwiseRDD(chunks._jrdd.rdd())
        # Spark's partitioner for keys that are numbers already: it takes them modulo the partitions, here the lane
        # itself.
        partitioner = jvm.PythonPartitioner(self._lanes, 0)
        shuffled = jvm.org.apache.spark.rdd.ShuffledRDD(pairs, partitioner, any_class, any_class, any_class)
        shuffled.setSerializer(self._serializer)
        values = jvm.PythonRDD.valueOfPair(jvm.org.apache.spark.api.java.JavaPairRDD(shuffled, any_class, any_class))
        return pickled_rdd(values, context)


def _serializer(jvm: Any) -> object:
    """Return Java's serializer, configured not to keep references to the last 100 written chunks."""
    configuration = jvm.org.apache.spark.SparkConf(False).set("spark.serializer.objectStreamReset", "1")
    return jvm.org.apache.spark.serializer.JavaSerializer(configuration)


def _chunks(_: int, rows: Iterable[tuple[int, Row]]) -> Iterator[bytes]:
    """Yield alternately the number of a lane and a list of its rows as bytes."""
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
