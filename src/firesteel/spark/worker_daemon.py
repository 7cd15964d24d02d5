"""Spark's daemon of Python workers, with the required modules preloaded, so that forked workers start quickly.

It is configured as `spark.python.daemon.module`. Workers share the memory that they do not change. Workers of STREAMING
jobs only pass rows on, so they need few modules. BATCH jobs run their operators in the workers, and name more in an
environment variable; Spark starts another daemon for other variables.
"""

from __future__ import annotations

import sys

from firesteel.spark.compiled_pyspark import prefer_compiled_pyspark

sys.path[:] = prefer_compiled_pyspark(sys.path)  # This must run before PySpark is imported.

import gc  # noqa: E402
import os  # noqa: E402

import pyspark.worker  # noqa: E402, F401 - for the workers
from pyspark.daemon import manager  # noqa: E402

import firesteel.spark.remote_slots  # noqa: E402
import firesteel.spark.small_batches  # noqa: E402, F401 - for the workers
from firesteel.task.preloading import FOR_WORKERS, import_modules  # noqa: E402

if __name__ == "__main__":
    import_modules(os.environ.get(FOR_WORKERS, "").split())
    gc.collect()
    gc.freeze()
    manager()
