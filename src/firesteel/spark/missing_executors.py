"""The message on executors that Spark does not start."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from firesteel.spark.java_options import last_error

__all__ = ["missing_executors"]

_REASONS = (
    "no worker has room for them (spark.executor.memory, spark.executor.cores), or they end at once "
    "(spark.executor.extraJavaOptions), of which the logs of Spark's workers tell"
)


def missing_executors(awaited: int, running: int, application_id: str) -> str:
    """Return what to say when Spark has not started executors for a while.

    A driver does not hear of executors that end before they connect. Their output is on the host of the worker, which
    is this one with `local-cluster` and often with a small standalone cluster.

    Args:
        awaited: The number of executors that are requested and have not started.
        running: The number of those that run.
        application_id: Of Spark.
    """
    text = f"Spark has not started {awaited} of {awaited + running} requested executors yet"
    ended = _outputs(application_id)[: -awaited - running]  # Spark starts one anew for each that ends.
    if ended:
        reason = last_error(ended[0].read_text(errors="replace").splitlines())
        return f"{text}; the first one ended with: {reason} ({ended[0]})"
    return f"{text}: {_REASONS}"


def _outputs(application_id: str) -> list[Path]:
    """Return the files with the standard error of the executors that were started on this host, in order."""
    package = importlib.util.find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME"), *(package.submodule_search_locations or () if package is not None else ())]
    work = [Path(directory) for directory in (os.environ.get("SPARK_WORKER_DIR"),) if directory]
    work += [Path(home) / "work" for home in homes if home]
    found = [file for directory in work for file in directory.glob(f"{application_id}/*/stderr")]
    return sorted((file for file in found if file.parent.name.isdigit()), key=lambda file: int(file.parent.name))
