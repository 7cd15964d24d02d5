"""The options of a cluster that its jobs run with.

A job graph is stored, sent back to clients and shown by the REST API. So of the cluster's options it records only those
of `RECORDED`, which have no secrets. Those of `INHERITED` are passed beside the graph to whatever runs the job.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["INHERITED", "RECORDED", "options_of_job", "recorded_options"]

RECORDED = ("execution.checkpointing.", "state.")
"""Prefixes of the options that a job without them records in its graph."""

INHERITED = (
    "fs.",
    "s3.",
    "s3a.",
    "presto.s3.",
    "io.tmp.dirs",
    "task.",
    "taskmanager.memory.managed.",
    "taskmanager.numberOfTaskSlots",
)
"""Prefixes of the options that a job runs with but does not record: access to files, temporary files, cancellation."""


def recorded_options(cluster: Mapping[str, str]) -> dict[str, str]:
    """Return the cluster's options that its jobs record, if they do not set their own."""
    return _starting_with(RECORDED, cluster)


def options_of_job(job: Mapping[str, str], cluster: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a job runs with; its own take precedence.

    Args:
        job: The options in the job graph.
        cluster: The options of the cluster.

    Example:
        >>> options_of_job({"parallelism.default": "2"}, {"s3.endpoint": "https://store", "rest.port": "8081"})
        {'s3.endpoint': 'https://store', 'parallelism.default': '2'}
    """
    return _starting_with(RECORDED + INHERITED, cluster) | dict(job)


def _starting_with(prefixes: tuple[str, ...], options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.startswith(prefixes)}
