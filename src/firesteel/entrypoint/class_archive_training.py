"""Makes the archive of the classes that Spark loads: a process of its own, started when that of a user has ended.

Java writes the classes that it has loaded when it ends, which takes ten seconds. So this process starts a Spark for it,
at the lowest priority, and has it do what batches do. Nobody waits for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from firesteel.entrypoint.spark_options import spark_master, spark_settings
from firesteel.spark.gateway import SparkGateway, archive_for, python_environment
from firesteel.spark.java import find_java

__all__ = ["make_archive", "start_making_archive"]

_LONGEST_S = 300
_END_S = 200.0
_NICENESS = 19


def start_making_archive() -> None:
    """Start the process, and do not wait for it."""
    with contextlib.suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=python_environment(),
            start_new_session=True,
        )


def make_archive() -> None:
    """Make the archive for the Java that is found here, unless there is one or another process makes it."""
    archive = archive_for(find_java())
    if archive is not None and archive.is_wanted:
        with archive.making() as path:
            if path is not None:
                _train(path)


def _train(path: Path) -> None:
    gateway = SparkGateway(spark_master({}), spark_settings({}), archive_to=path)
    try:
        _do_as_batches_do(gateway.context())
        if gateway.finish(_END_S) != 0:
            path.unlink(missing_ok=True)
    finally:
        gateway.close()


def _do_as_batches_do(context: Any) -> None:
    """Run what a `Pipeline` of two stages runs."""
    context.setJobGroup("training", "training", interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", "job-0")
    rows = context.parallelize(range(2), 2).mapPartitionsWithIndex(_rows).partitionBy(2, abs)
    rows = rows.mapPartitionsWithIndex(lambda index, rows: rows)
    rows.collect()
    rows.cleanShuffleDependencies()
    context.cancelJobGroup("training")


def _rows(index: int, rows: Any) -> list[tuple[int, tuple[int, int, bytes]]]:
    return [(target, (index, 0, b"")) for target in range(2)]


if __name__ == "__main__":
    os.nice(_NICENESS)
    signal.alarm(_LONGEST_S)  # It ends this process, and with it the JVM.
    make_archive()
