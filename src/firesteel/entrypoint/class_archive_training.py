"""Creation of the archive of classes that Spark loads, in a separate process that is started after a user's process.

Java writes the loaded classes when it exits, which takes ten seconds. So this process starts a Spark for that purpose
at the lowest priority, and runs the same operations as batches do. Nobody waits for it.
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
from firesteel.spark.gateway import SparkGateway, python_environment
from firesteel.spark.java import find_java
from firesteel.spark.java_command import archive_for

__all__ = ["make_archive", "start_making_archive"]

_LONGEST_S = 300
_END_S = 200.0
_NICENESS = 19


def start_making_archive() -> None:
    """Start the process without waiting for it."""
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
    """Create the archive for the installed Java, unless it exists or another process is creating it."""
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
    """Run the operations of a `Pipeline` with two stages."""
    context.setJobGroup("training", "training", interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", "job-0")
    rows = context.parallelize(range(2), 2).mapPartitionsWithIndex(_rows).partitionBy(2, abs)
    rows = rows.mapPartitionsWithIndex(lambda index, rows: rows)
    rows.collect()
    rows.cleanShuffleDependencies()
    context.cancelJobGroup("training")


def _rows(index: int, rows: object) -> list[tuple[int, tuple[int, int, bytes]]]:
    return [(target, (index, 0, b"")) for target in range(2)]


if __name__ == "__main__":
    os.nice(_NICENESS)
    signal.alarm(_LONGEST_S)  # ends this process and its JVM
    make_archive()
