"""Spark's daemon of Python workers, with all required modules preloaded, so that forked workers start quickly.

It is configured as `spark.python.daemon.module`. Workers share the memory that they do not change.
"""

from __future__ import annotations

import sys

from firesteel.spark.compiled_pyspark import prefer_compiled_pyspark

sys.path[:] = prefer_compiled_pyspark(sys.path)  # This must run before PySpark is imported.

import gc  # noqa: E402

import pyspark.worker  # noqa: E402, F401 - for the workers
from pyspark.daemon import manager  # noqa: E402

import firesteel.spark.batch_shim  # noqa: E402, F401 - for the workers

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
