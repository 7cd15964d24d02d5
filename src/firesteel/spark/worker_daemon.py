"""Spark's daemon of Python workers, with all loaded that workers need: a worker is ready when it is forked.

Set as `spark.python.daemon.module`. Memory that the workers do not change is shared among them.
"""

from __future__ import annotations

import gc

import pyspark.worker  # noqa: F401 - for the workers
from pyspark.daemon import manager

import firesteel.spark.batch_shim  # noqa: F401 - for the workers

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
