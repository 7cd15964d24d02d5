"""Spark's daemon of Python workers, with all loaded that workers need: a worker is ready when it is forked.

Set as `spark.python.daemon.module`. Memory that the workers do not change is shared among them.
"""

from __future__ import annotations

import sys

from firesteel.spark.compiled_pyspark import prefer_compiled_pyspark

sys.path[:] = prefer_compiled_pyspark(sys.path)  # Before anything of PySpark is imported.

import gc  # noqa: E402

import pyspark.worker  # noqa: E402, F401 - for the workers
from pyspark.daemon import manager  # noqa: E402

import firesteel.spark.batch_shim  # noqa: E402, F401 - for the workers

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
