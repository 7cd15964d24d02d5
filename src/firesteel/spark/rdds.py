"""Calls of PySpark whose functions have no types."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext


def pickled_rdd(java_rdd: Any, context: SparkContext) -> RDD[Any]:
    """Return the RDD of pickled batches of values that Java has."""
    from pyspark import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    return RDD(java_rdd, context, BatchedSerializer(CPickleSerializer()))  # type: ignore[no-untyped-call]


def call_site(context: SparkContext) -> AbstractContextManager[object]:
    """Let the jobs of a block have one call site, which saves Java a stack walk for each."""
    from pyspark.traceback_utils import SCCallSiteSync

    site: AbstractContextManager[object] = SCCallSiteSync(context)  # type: ignore[no-untyped-call]
    return site
