"""BATCH mode inside Spark's Python workers: the operators run in the worker and live for one task.

Spark retries failed tasks. That is right after the loss of a worker, but wrong after an error in user code, which Flink
would not call again without a restart strategy. So errors of user code are recorded in a file, and retries fail with
the recorded error.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.trust.restricted_pickle import load_plain
from firesteel.coordinator.batch_leftovers import failure_note
from firesteel.operators.chain.operator_errors import USER_ERRORS, failure_of
from firesteel.spark.shim import SlotFailedError
from firesteel.spark.worker_output import shown
from firesteel.task.job_place import remote_store
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.python_environment import fetch_artifacts, python_environment
from firesteel.task.slot_tasks import SlotTasks


@dataclass(frozen=True, slots=True)
class LocalSlots:
    """The execution of a stage in this worker; each slot has its own lane, so that Spark retries it alone.

    Functions print to the two paths of `output`.
    """

    job: bytes
    attempt: int
    configuration: dict[str, str]
    output: tuple[str, ...]

    def __call__(self, requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
        """Run the stage and yield its rows; an error carries the failure of the operator."""
        ((slot, request),) = requests.items()
        directory = Path(request.checkpoint)
        noted = failure_note(directory, self.attempt, request.stage, slot)
        buffers = (row[1:] for row in rows)
        if noted.exists():
            raise SlotFailedError(load_plain(noted.read_bytes(), "a failure"))
        try:
            remote = remote_store(self.configuration, directory)
            if remote is not None:
                fetch_artifacts(self.configuration, remote, directory)
            is_shared = remote is None
            with (
                shown(self.output),
                python_environment(self.configuration, directory),
                closing(
                    SlotTasks(
                        self.job, self.configuration, slot, self.attempt, None, directory=directory, is_shared=is_shared
                    )
                ) as tasks,
            ):
                yield from tasks.run_stage(request.stage, request.at, (), pickle.loads(request.plan), buffers)
        except USER_ERRORS as error:
            failure = failure_of(error)
            noted.parent.mkdir(parents=True, exist_ok=True)
            noted.write_bytes(pickle.dumps(failure))
            raise SlotFailedError(failure) from error
