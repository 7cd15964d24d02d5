"""Large functions of a Spark job, which executors fetch once instead of with each task.

PySpark itself broadcasts large functions but never destroys those broadcasts, so each Spark job would leave a copy on
the driver's disk and in the memory of driver and executors.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from py4j.protocol import Py4JError

_MOST_BYTES_WITH_TASK = 512 << 10
"""Maximum size of a function sent with each task; below 1 MB, above which PySpark itself broadcasts."""

StageFunction = Callable[[int, Iterable[Any]], Iterator[Any]]
"""A function for `RDD.mapPartitionsWithIndex`."""


@dataclass(frozen=True, slots=True)
class _SharedStage:
    """A function that each worker reads from a broadcast."""

    pickled_stage: Any

    def __call__(self, lane: int, rows: Iterable[Any]) -> Iterator[Any]:
        stage: StageFunction = pickle.loads(self.pickled_stage.value)
        return stage(lane, rows)


class SharedStages:
    """A context manager that shares the functions of one Spark job and frees their broadcasts at the end.

    Args:
        context: The SparkContext.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._broadcasts: list[Any] = []

    def share(self, stage: StageFunction) -> StageFunction:
        """Return a small function with the same behaviour."""
        # By reference, as stages are of this package; PySpark's own pickler is slower, and copies what it cannot name.
        data = pickle.dumps(stage, protocol=pickle.HIGHEST_PROTOCOL)
        if len(data) <= _MOST_BYTES_WITH_TASK:
            return stage
        self._broadcasts.append(self._context.broadcast(data))
        return _SharedStage(self._broadcasts[-1])

    def __enter__(self) -> SharedStages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broadcast in self._broadcasts:
            with contextlib.suppress(Py4JError, OSError):  # If the JVM is gone, so are its broadcasts.
                broadcast.destroy()
