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
from socket import socket  # noqa: E402

import pyspark.daemon  # noqa: E402
import pyspark.worker  # noqa: E402 - for the workers

import firesteel.spark.remote_slots  # noqa: E402
import firesteel.spark.small_batches  # noqa: E402, F401 - for the workers
from firesteel.task.preloading import FOR_WORKERS, import_modules  # noqa: E402


def _with_private_socket() -> None:
    """Run the daemon with a Unix socket to which only this user can connect; workers keep the umask of the user.

    Whoever connects runs code in a worker, as Spark asks for no secret over Unix sockets. On executors the socket is in
    the directory for temporary files, with the permissions that the umask leaves.
    """
    umask, run = os.umask(0o077), pyspark.daemon.worker

    def worker(sock: socket, authenticated: bool) -> int:
        os.umask(umask)
        return run(sock, authenticated)

    pyspark.daemon.worker = worker
    pyspark.daemon.manager()


if __name__ == "__main__":
    import_modules(os.environ.get(FOR_WORKERS, "").split())
    gc.collect()
    gc.freeze()
    _with_private_socket()
