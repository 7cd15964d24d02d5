"""Submission of jobs: to a cluster inside this process, or to the cluster of a JobManager."""

from firesteel.client.execution import check, collect, execute, execute_async
from firesteel.client.job_client import EmbeddedJobClient
from firesteel.client.progress import set_progress_reporter
from firesteel.client.progress_reporter import ProgressReporter, Restart

__all__ = [
    "EmbeddedJobClient",
    "ProgressReporter",
    "Restart",
    "check",
    "collect",
    "execute",
    "execute_async",
    "set_progress_reporter",
]
