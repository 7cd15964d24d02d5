"""Data that the process of the client writes for the sources of a job, and removes when the job has ended."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from firesteel.graph.job_graph import JobGraph

_pending: dict[StagedData, Callable[[], bool] | None] = {}
"""The data of jobs, and for jobs of another process a function that returns whether they have ended."""


class StagedData:
    """The staged data of the sources of a job.

    Args:
        job_graph: The job. The attribute `staging` of a source, if it has one, has the methods `write` and `remove`.
    """

    def __init__(self, job_graph: JobGraph) -> None:
        sources = [getattr(vertex.chain[0].operator, "source", None) for vertex in job_graph.vertices if vertex.chain]
        found = [getattr(source, "staging", None) for source in sources]
        self._staged = [staging for staging in found if staging is not None]
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._staged)

    def write(self) -> None:
        """Write the data, which is removed at the end of this process unless `remove_after` is called."""
        # A job on a cluster ends without telling this process: what it leaves is removed with the next submission.
        _remove(is_at_exit=False)
        if not self:
            return
        _pending[self] = None
        try:
            for staging in self._staged:
                staging.write()
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the data; further calls only wait until that is done."""
        with self._lock:
            _pending.pop(self, None)
            while self._staged:
                self._staged.pop().remove()

    def remove_in_background(self) -> None:
        """Remove the data in a thread, for callers on an event loop."""
        threading.Thread(target=self.remove, name="staged-data").start()

    def remove_after(self, has_ended: Callable[[], bool]) -> None:
        """Keep the data until a job in another process has ended, also after the end of this process.

        Args:
            has_ended: Returns whether the job has ended; called before the next job and when this process exits.
        """
        _pending[self] = has_ended


def _remove(is_at_exit: bool) -> None:
    """Remove the data of jobs that have ended, or that end with this process."""
    for data, has_ended in list(_pending.items()):
        if is_at_exit if has_ended is None else has_ended():
            data.remove()


# Registered on import, so that it runs after the handler that ends the jobs of this process.
atexit.register(_remove, is_at_exit=True)
