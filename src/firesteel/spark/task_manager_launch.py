"""The start of a TaskExecutor's process next to a Spark executor, from a Python worker of that executor."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.spark.task_manager_process import READY
from firesteel.spark.worker_output import LOG_FILE
from firesteel.task.state_seal import StateSeal


class TaskManagerStartError(Exception):
    """A TaskExecutor's process ended at once; the message goes through Spark to the JobManager."""


@dataclass(frozen=True)
class LaunchTaskManager:
    """A function for `SparkExecutors.run_on`.

    Attributes:
        executor_id: The executor on which it must run.
        options: The options of the TaskExecutor.
        secrets: The secret for its RPC, and after it those that are accepted, too.
        seal: Signs and verifies the state files of its slots.
    """

    executor_id: str
    options: dict[str, str]
    secrets: tuple[bytes, ...]
    seal: StateSeal

    def __call__(self, rows: Iterator[Any]) -> Iterator[str | None]:
        """Start the process and yield its process id; yield None first if this is another executor.

        Raises:
            TaskManagerStartError: the process ended before it was ready.
        """
        executor_id, executor_process = _executor()
        if executor_id != self.executor_id:
            yield None
            return
        yield self._start(executor_process)

    def _orders(self) -> dict[str, object]:
        allows = self.seal.allows_unverified
        accepted = [key.hex() for key in self.seal.accepted]
        seal = {"key": self.seal.key.hex(), "allows_unverified": allows, "accepted": accepted}
        return {"options": self.options, "secrets": [one.hex() for one in self.secrets], "seal": seal}

    def _start(self, executor_process: int) -> str:
        """Start the process in the executor's directory, next to Spark's logs, and send it the secret over a pipe."""
        with Path(LOG_FILE).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "firesteel.spark.task_manager_process", str(executor_process)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as orders:
            orders.write(json.dumps(self._orders()).encode())
        if process.stdout.readline() != READY:
            lines = Path(LOG_FILE).read_text(errors="replace").splitlines()
            raise TaskManagerStartError(f"the TaskExecutor did not start: {(lines or ['it wrote nothing'])[-1]}")
        return str(process.pid)


def _executor() -> tuple[str, int]:
    """Return the id and process id of the executor that is an ancestor of this Python worker.

    Raises:
        TaskManagerStartError: no ancestor is an executor.
    """
    process = os.getppid()
    while process > 1:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
        if "--executor-id" in words:
            return words[words.index("--executor-id") + 1], process
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    raise TaskManagerStartError("no ancestor of this Python worker is a Spark executor")
